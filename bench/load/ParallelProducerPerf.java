import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.tools.ProducerPerformance;

/**
 * Apache Kafka's producer-perf-test several times at once in one JVM, each with a producer of its own.
 * A JVM per producer would spend the machine on starting JVMs. Arguments: the number of producers,
 * then the tool's own; every run prints its own lines.
 */
public final class ParallelProducerPerf {
    public static void main(String[] args) throws Exception {
        int producers = Integer.parseInt(args[0]);
        String[] toolArguments = Arrays.copyOfRange(args, 1, args.length);
        AtomicReference<Throwable> problem = new AtomicReference<>();
        Thread[] threads = new Thread[producers];
        for (int i = 0; i < producers; i++) {
            threads[i] = new Thread(() -> {
                try {
                    ProducerPerformance.main(toolArguments);
                } catch (Throwable thrown) {
                    problem.set(thrown);
                }
            });
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        if (problem.get() != null) throw new IllegalStateException(problem.get());
    }
}
