// The Spring Kafka client of the end-to-end tests: template, admin and listener container behind the jobs
// that the other clients understand.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;

public class SpringClient {
    private static final long LIMIT_S = 60;

    private final String bootstrap;

    private SpringClient(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] args) throws Exception {
        SpringClient client = new SpringClient(args[0]);
        ObjectMapper json = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode job = json.readTree(line);
            String op = job.get("op").asText();
            long done = switch (op) {
                case "create" -> client.create(job);
                case "write" -> client.write(job);
                case "read" -> client.read(job);
                default -> throw new IllegalArgumentException("unknown op " + op);
            };
            System.out.println(json.createObjectNode().put("op", op).put("done", done));
            System.out.flush();
        }
        System.exit(0);
    }

    private long create(JsonNode job) {
        KafkaAdmin admin = new KafkaAdmin(Map.of("bootstrap.servers", bootstrap));
        admin.createOrModifyTopics(
            new NewTopic(job.get("topic").asText(), job.get("partitions").asInt(), (short) 1));
        return 0;
    }

    private long write(JsonNode job) throws Exception {
        var factory = new DefaultKafkaProducerFactory<byte[], byte[]>(Map.of(
            "bootstrap.servers", bootstrap, "compression.type", job.get("codec").asText(),
            "key.serializer", ByteArraySerializer.class, "value.serializer", ByteArraySerializer.class));
        List<CompletableFuture<?>> sent = new ArrayList<>();
        var template = new KafkaTemplate<>(factory);
        for (String line : Files.readAllLines(Path.of(job.get("file").asText()))) {
            sent.add(template.send(JavaClient.record(job, line)));
        }
        template.flush();
        CompletableFuture.allOf(sent.toArray(CompletableFuture[]::new)).get(LIMIT_S, TimeUnit.SECONDS);
        factory.destroy();
        return sent.size();
    }

    // The container commits after each record and stops after the last wanted one. With extra_ms another
    // container of the group then counts what it finds too many.
    private long read(JsonNode job) throws Exception {
        long taken;
        try (Writer out = Files.newBufferedWriter(Path.of(job.get("file").asText()))) {
            taken = listen(job, job.get("count").asLong(), LIMIT_S * 1000, out);
        }
        if (taken < job.get("count").asLong()) {
            throw new IllegalStateException("only " + taken + " records");
        }
        long extraMs = job.path("extra_ms").asLong(0);
        return taken + (extraMs > 0 ? listen(job, 1, extraMs, Writer.nullWriter()) : 0);
    }

    private long listen(JsonNode job, long count, long limitMs, Writer out) throws Exception {
        String[] topics = new ObjectMapper().convertValue(job.get("topics"), String[].class);
        ContainerProperties properties = new ContainerProperties(topics);
        properties.setGroupId(job.get("group").asText());
        properties.setAckMode(ContainerProperties.AckMode.RECORD);
        properties.setStopImmediate(true);
        AtomicLong taken = new AtomicLong();
        CountDownLatch full = new CountDownLatch(1);
        var factory = new DefaultKafkaConsumerFactory<byte[], byte[]>(Map.of(
            "bootstrap.servers", bootstrap, "auto.offset.reset", "earliest", "enable.auto.commit", false,
            "key.deserializer", ByteArrayDeserializer.class,
            "value.deserializer", ByteArrayDeserializer.class));
        var container = new KafkaMessageListenerContainer<>(factory, properties);
        container.setupMessageListener((MessageListener<byte[], byte[]>) record -> {
            try {
                out.write(JavaClient.dump(record));
            } catch (IOException broken) {
                throw new UncheckedIOException(broken);
            }
            if (taken.incrementAndGet() == count) {
                container.stop(full::countDown);
            }
        });
        container.start();
        if (!full.await(limitMs, TimeUnit.MILLISECONDS)) {
            container.stop();
        }
        return taken.get();
    }
}
