// The Java client of the end-to-end tests: runs the jobs it reads from standard input, one JSON object
// a line, and prints one JSON object a job. The other clients understand the same jobs; `stream`
// is this one's alone. Compiles against every kafka-clients from 0.11 to 4.4.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class JavaClient {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long LIMIT_MS = 60_000;
    private static final Method POLL = pollMethod();
    private static final boolean POLL_TAKES_DURATION = POLL.getParameterTypes()[0] == Duration.class;

    private final String bootstrap;

    private JavaClient(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] args) throws Exception {
        JavaClient client = new JavaClient(args[0]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode job = JSON.readTree(line);
            String op = job.get("op").asText();
            long done = switch (op) {
                case "create" -> client.create(job);
                case "write" -> client.write(job);
                case "read" -> client.read(job);
                case "stream" -> client.stream(job, lines);
                default -> throw new IllegalArgumentException("unknown op " + op);
            };
            System.out.println(JSON.createObjectNode().put("op", op).put("done", done));
            System.out.flush();
        }
    }

    private long create(JsonNode job) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        try (AdminClient admin = AdminClient.create(settings)) {
            NewTopic topic = new NewTopic(job.get("topic").asText(), job.get("partitions").asInt(), (short) 1);
            admin.createTopics(List.of(topic)).all().get();
        }
        return 0;
    }

    private KafkaProducer<byte[], byte[]> producer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(more);
        settings.put("bootstrap.servers", bootstrap);
        settings.put("key.serializer", ByteArraySerializer.class);
        settings.put("value.serializer", ByteArraySerializer.class);
        return new KafkaProducer<>(settings);
    }

    static ProducerRecord<byte[], byte[]> record(JsonNode job, String line) throws IOException {
        JsonNode r = JSON.readTree(line);
        var record = new ProducerRecord<>(job.get("topic").asText(), r.get("p").asInt(),
            r.get("t").asLong(), bytes(r.get("k")), bytes(r.get("v")));
        for (JsonNode header : r.get("h")) {
            record.headers().add(header.get(0).asText(), bytes(header.get(1)));
        }
        return record;
    }

    private long write(JsonNode job) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (var producer = producer(Map.of("compression.type", job.get("codec").asText()));
             var lines = Files.lines(Path.of(job.get("file").asText()))) {
            for (String line : (Iterable<String>) lines::iterator) {
                sent.add(producer.send(record(job, line)));
            }
            producer.flush();
            for (var future : sent) {
                future.get();
            }
        }
        return sent.size();
    }

    // Takes `count` records in a group, commits exactly those and leaves. Then waits extra_ms for a
    // record too many and counts it too.
    private long read(JsonNode job) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", job.get("group").asText());
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("key.deserializer", ByteArrayDeserializer.class);
        settings.put("value.deserializer", ByteArrayDeserializer.class);
        List<String> topics = new ArrayList<>();
        job.get("topics").forEach(topic -> topics.add(topic.asText()));
        int count = job.get("count").asInt();
        int taken = 0;
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        try (var consumer = new KafkaConsumer<byte[], byte[]>(settings);
             BufferedWriter out = Files.newBufferedWriter(Path.of(job.get("file").asText()))) {
            consumer.subscribe(topics);
            long end = System.currentTimeMillis() + LIMIT_MS;
            while (taken < count) {
                if (System.currentTimeMillis() > end) {
                    throw new IllegalStateException("only " + taken + " of " + count + " records");
                }
                for (ConsumerRecord<byte[], byte[]> record : poll(consumer, 200)) {
                    if (taken < count) {
                        taken++;
                        out.write(dump(record));
                        next.put(new TopicPartition(record.topic(), record.partition()),
                            new OffsetAndMetadata(record.offset() + 1));
                    }
                }
            }
            consumer.commitSync(next);
            int extraMs = job.path("extra_ms").asInt(0);
            if (extraMs > 0) {
                taken += poll(consumer, extraMs).count();
            }
        }
        return taken;
    }

    // poll(Duration) came with 2.0, poll(long) left with 4.0.
    private static Method pollMethod() {
        try {
            return KafkaConsumer.class.getMethod("poll", Duration.class);
        } catch (NoSuchMethodException old) {
            try {
                return KafkaConsumer.class.getMethod("poll", long.class);
            } catch (NoSuchMethodException impossible) {
                throw new IllegalStateException(impossible);
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer, long ms)
        throws Exception {
        Object limit = POLL_TAKES_DURATION ? (Object) Duration.ofMillis(ms) : (Object) ms;
        return (ConsumerRecords<byte[], byte[]>) POLL.invoke(consumer, limit);
    }

    // Sends numbered records with the idempotent producer until standard input says stop. Each
    // acknowledgement becomes a line "number partition offset", written before the next one is awaited.
    private long stream(JsonNode job, BufferedReader commands) throws Exception {
        String topic = job.get("topic").asText();
        long sent = 0;
        try (var producer = producer(Map.of("acks", "all", "enable.idempotence", "true", "linger.ms", "1",
                 "delivery.timeout.ms", "60000", "request.timeout.ms", "3000", "retry.backoff.ms", "20",
                 "reconnect.backoff.ms", "20", "reconnect.backoff.max.ms", "100"));
             BufferedWriter log = Files.newBufferedWriter(Path.of(job.get("file").asText()))) {
            System.out.println("{\"streaming\":true}");
            System.out.flush();
            while (!commands.ready()) {
                long number = sent++;
                byte[] value = Long.toString(number).getBytes(StandardCharsets.UTF_8);
                producer.send(new ProducerRecord<>(topic, (int) (number % 2), null, value), (at, error) -> {
                    acknowledged(log, number, at, error);
                });
                if (number % 50 == 49) {
                    Thread.sleep(5);
                }
            }
            producer.flush();
        }
        return sent;
    }

    private static void acknowledged(BufferedWriter log, long number, RecordMetadata at, Exception error) {
        try {
            synchronized (log) {
                log.write(error == null ? number + " " + at.partition() + " " + at.offset() + "\n"
                    : number + " failed " + error.getClass().getSimpleName() + "\n");
                log.flush();
            }
        } catch (IOException broken) {
            throw new UncheckedIOException(broken);
        }
    }

    static String dump(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode line = JSON.createObjectNode();
        line.put("topic", record.topic()).put("p", record.partition()).put("o", record.offset());
        line.put("k", hex(record.key())).put("v", hex(record.value()));
        ArrayNode headers = line.putArray("h");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(hex(header.value()));
        }
        line.put("t", record.timestamp());
        return line + "\n";
    }

    private static byte[] bytes(JsonNode hex) {
        return hex.isNull() ? null : HexFormat.of().parseHex(hex.asText());
    }

    private static String hex(byte[] data) {
        return data == null ? null : HexFormat.of().formatHex(data);
    }
}
