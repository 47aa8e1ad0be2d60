import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.protocol.Message;

/**
 * Kafka's side of the codec oracle: one run for all messages.
 *
 * CodecOracle MESSAGES SEEDS WRITTEN FOREIGN READ
 *   MESSAGES  lines "name class lowest highest": what to make
 *   SEEDS     random messages per version
 *   WRITTEN   made here: name, version, seed, bytes, bytes without unknown tagged fields, JSON
 *   FOREIGN   lines that begin with name, version, seed, bytes: made by the other side
 *   READ      answers to FOREIGN, line by line: name, version, seed, bytes written again, JSON;
 *             or "error: ..." in place of the bytes
 * Columns are separated by tabs, bytes are hexadecimal.
 */
public final class CodecOracle {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws Exception {
        Map<String, MessageClass> messages = readMessages(Path.of(arguments[0]));
        int seeds = Integer.parseInt(arguments[1]);
        write(messages, seeds, Path.of(arguments[2]));
        read(messages, Path.of(arguments[3]), Path.of(arguments[4]));
    }

    private static Map<String, MessageClass> readMessages(Path path) throws Exception {
        Map<String, MessageClass> found = new LinkedHashMap<>();
        for (String line : Files.readAllLines(path)) {
            String[] columns = line.split("\t");
            MessageClass message = new MessageClass(columns[0], columns[1]);
            message.checkVersions(Short.parseShort(columns[2]), Short.parseShort(columns[3]));
            found.put(message.name(), message);
        }
        return found;
    }

    private static void write(Map<String, MessageClass> messages, int seeds, Path path)
            throws Exception {
        try (PrintWriter out = open(path)) {
            for (MessageClass message : messages.values()) {
                for (int version = message.lowest(); version <= message.highest(); version++) {
                    for (int seed = 0; seed < seeds; seed++) {
                        writeOne(message, (short) version, seed, out);
                    }
                }
            }
        }
    }

    private static void writeOne(MessageClass message, short version, int seed, PrintWriter out)
            throws Exception {
        try {
            RandomMessage random = new RandomMessage(message, version, seed);
            Message made = random.make();
            String canonical = HEX.formatHex(MessageClass.bytes(made, version));
            // Before the unknown tags: a tagged struct that has one counts as not at its default.
            String json = message.json(made, version);
            random.addUnknownTags(made);
            String bytes = HEX.formatHex(MessageClass.bytes(made, version));
            out.println(String.join("\t", message.name(), Integer.toString(version),
                Integer.toString(seed), bytes, canonical, json));
        } catch (Exception error) {
            throw new IllegalStateException(
                message.name() + " version " + version + " seed " + seed, error);
        }
    }

    private static void read(Map<String, MessageClass> messages, Path from, Path to)
            throws IOException {
        try (BufferedReader in = Files.newBufferedReader(from); PrintWriter out = open(to)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] columns = line.split("\t");
                String head = String.join("\t", columns[0], columns[1], columns[2]);
                out.println(head + "\t" + readOne(messages.get(columns[0]),
                    Short.parseShort(columns[1]), HEX.parseHex(columns[3])));
            }
        }
    }

    private static String readOne(MessageClass message, short version, byte[] bytes) {
        try {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            Message read = message.read(buffer, version);
            if (buffer.hasRemaining()) {
                return "error: " + buffer.remaining() + " bytes left over\t";
            }
            return HEX.formatHex(MessageClass.bytes(read, version)) + "\t"
                + message.json(read, version);
        } catch (Exception error) {
            Throwable cause = error.getCause() == null ? error : error.getCause();
            return "error: " + cause.toString().replaceAll("\\s+", " ") + "\t";
        }
    }

    private static PrintWriter open(Path path) throws IOException {
        return new PrintWriter(Files.newBufferedWriter(path, StandardCharsets.UTF_8));
    }
}
