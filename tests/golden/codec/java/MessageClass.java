import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.Schema;

/** One of Kafka's generated message classes, with its JSON converter. */
final class MessageClass {
    private final String name;
    private final Class<?> type;
    private final Method toJson;

    MessageClass(String name, String className) throws ReflectiveOperationException {
        this.name = name;
        this.type = Class.forName(className);
        this.toJson = Class.forName(className + "JsonConverter")
            .getMethod("write", type, short.class, boolean.class);
    }

    String name() {
        return name;
    }

    short lowest() throws ReflectiveOperationException {
        return type.getField("LOWEST_SUPPORTED_VERSION").getShort(null);
    }

    short highest() throws ReflectiveOperationException {
        return type.getField("HIGHEST_SUPPORTED_VERSION").getShort(null);
    }

    void checkVersions(short lo, short hi) throws ReflectiveOperationException {
        if (lowest() != lo || highest() != hi) {
            throw new IllegalStateException(
                name + ": class has versions " + lowest() + "-" + highest());
        }
    }

    Schema schema(short version) throws ReflectiveOperationException {
        return (Schema) type.getField("SCHEMA_" + version).get(null);
    }

    Message make() throws ReflectiveOperationException {
        return (Message) type.getConstructor().newInstance();
    }

    Message read(ByteBuffer from, short version) throws ReflectiveOperationException {
        Message message = make();
        message.read(new ByteBufferAccessor(from), version);
        return message;
    }

    /** Records appear as their size alone, as "recordsSizeInBytes". */
    String json(Message message, short version) throws ReflectiveOperationException {
        return ((JsonNode) toJson.invoke(null, message, version, false)).toString();
    }

    static byte[] bytes(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException("size() promised " + buffer.remaining() + " more");
        }
        return buffer.array();
    }
}
