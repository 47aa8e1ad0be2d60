// Record batches through Apache Kafka's own classes.
//   GoldenBatches write DIR      writes the files of tests/golden/batches
//   GoldenBatches read FILE...   reads batches, checks their CRC and prints every record
// tests/unit/proto/batch_golden_test.cc makes the same records by the same rules.

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;

public final class GoldenBatches {
    private static final long TIMESTAMP = 1_700_000_000_000L;
    private static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static byte[] key(int i) {
        return i % 5 == 0 ? null : bytes("key-" + i);
    }

    static byte[] value(int i) {
        if (i % 7 == 3) return null;
        StringBuilder text = new StringBuilder();
        int length = i * i % 997;
        for (int n = 0; text.length() < length; n++) text.append("value ").append(i).append('.').append(n).append(' ');
        text.setLength(length);
        return bytes(text.toString());
    }

    static Header[] headers(int i) {
        Header[] headers = new Header[i % 3];
        for (int n = 0; n < headers.length; n++)
            headers[n] = new RecordHeader("h" + n, (i + n) % 2 == 0 ? null : bytes("header " + i));
        return headers;
    }

    static long timestamp(int i) {
        return TIMESTAMP + i * 7L - i % 4 * 20L;
    }

    static MemoryRecords batch(String codec, int count, long baseOffset, TimestampType type, long producerId,
                               short epoch, int sequence, boolean transactional, int leaderEpoch) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(64), RecordBatch.MAGIC_VALUE_V2,
            Compression.of(codec).build(), type, baseOffset, TIMESTAMP + 5, producerId, epoch, sequence,
            transactional, leaderEpoch);
        for (int i = 0; i < count; i++) builder.append(timestamp(i), key(i), value(i), headers(i));
        return builder.build();
    }

    static void write(Path file, MemoryRecords records) throws Exception {
        ByteBuffer buffer = records.buffer().duplicate();
        byte[] content = new byte[buffer.remaining()];
        buffer.get(content);
        Files.write(file, content);
    }

    static void writeAll(Path directory) throws Exception {
        for (String codec : CODECS) {
            write(directory.resolve(codec + "-small.bin"),
                batch(codec, 12, 0, TimestampType.CREATE_TIME, -1L, (short) -1, -1, false, -1));
            if (!codec.equals("none"))
                write(directory.resolve(codec + "-large.bin"),
                    batch(codec, 200, 0, TimestampType.CREATE_TIME, -1L, (short) -1, -1, false, -1));
        }
        write(directory.resolve("transactional.bin"),
            batch("none", 3, 1234567890123L, TimestampType.CREATE_TIME, 4242L, (short) 7, 2147483646, true, 31));
        write(directory.resolve("log-append-time.bin"),
            batch("none", 3, 77, TimestampType.LOG_APPEND_TIME, -1L, (short) -1, -1, false, 2));
        write(directory.resolve("commit.bin"), MemoryRecords.withEndTransactionMarker(99, TIMESTAMP, 5, 4242L,
            (short) 7, new EndTransactionMarker(ControlRecordType.COMMIT, 13)));
        write(directory.resolve("abort.bin"), MemoryRecords.withEndTransactionMarker(100, TIMESTAMP, 5, 4242L,
            (short) 7, new EndTransactionMarker(ControlRecordType.ABORT, 13)));
    }

    static String text(ByteBuffer buffer) {
        return buffer == null ? "null" : StandardCharsets.UTF_8.decode(buffer.duplicate()).toString();
    }

    static void read(Path file) throws Exception {
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(Files.readAllBytes(file))).batches()) {
            batch.ensureValid();
            System.out.println(batch);
            for (Record record : batch) {
                record.ensureValid();
                System.out.print(record.offset() + " " + record.timestamp() + " " + text(record.key()) + " "
                    + text(record.value()));
                for (Header header : record.headers())
                    System.out.print(" " + header.key() + "="
                        + (header.value() == null ? "null" : new String(header.value(), StandardCharsets.UTF_8)));
                System.out.println();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 2 && arguments[0].equals("write")) {
            writeAll(Path.of(arguments[1]));
        } else if (arguments.length >= 2 && arguments[0].equals("read")) {
            for (int i = 1; i < arguments.length; i++) read(Path.of(arguments[i]));
        } else {
            System.err.println("usage: GoldenBatches write DIR | read FILE...");
            System.exit(2);
        }
    }
}
