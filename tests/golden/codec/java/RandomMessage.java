import java.lang.reflect.Field;
import java.lang.reflect.ParameterizedType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/**
 * A seeded random message of one version. Which fields there are, and which may be null, is read
 * from the schema constants of Kafka's class, never from ours.
 */
final class RandomMessage {
    private static final Map<Class<?>, Map<String, Field>> FIELDS = new HashMap<>();
    private static final int MOST_ITEMS = 3;

    private final MessageClass message;
    private final short version;
    private final RandomValue random;

    RandomMessage(MessageClass message, short version, int seed) {
        this.message = message;
        this.version = version;
        this.random = new RandomValue(message.name(), version, seed);
    }

    Message make() throws ReflectiveOperationException {
        Message made = message.make();
        fill(made, message.schema(version));
        return made;
    }

    /** Adds fields that no schema knows, in some seeds, to the message and to structs in it. */
    void addUnknownTags(Message made) throws ReflectiveOperationException {
        if (random.wantsUnknownTags()) {
            addTags(made, message.schema(version));
        }
    }

    private void fill(Object struct, Schema schema) throws ReflectiveOperationException {
        for (BoundField bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields tagged) {
                for (var field : tagged.fields().values()) {
                    set(struct, field.name, field.type);
                }
            } else {
                set(struct, bound.def.name, bound.def.type);
            }
        }
    }

    private void set(Object struct, String name, Type type) throws ReflectiveOperationException {
        Field field = field(struct.getClass(), name);
        boolean nullable = type.isNullable();
        RandomValue.Choice choice = random.choice(nullable, holds(type));
        boolean nullDefault = !nullable && field.get(struct) == null;
        if (choice == RandomValue.Choice.DEFAULT && nullDefault) {
            choice = RandomValue.Choice.EMPTY;
        }
        switch (choice) {
            case DEFAULT -> {
                // As the constructor left it; but a struct's own fields still get their turn.
                if (type instanceof Schema schema && field.get(struct) != null
                        && random.descends()) {
                    fill(field.get(struct), schema);
                }
            }
            case NULL -> field.set(struct, null);
            case EMPTY -> field.set(struct, value(field, type, 0));
            case FULL -> field.set(struct, value(field, type, random.count(MOST_ITEMS)));
        }
    }

    private static boolean holds(Type type) {
        return type instanceof Schema
            || type.isArray() && type.arrayElementType().orElseThrow() instanceof Schema;
    }

    private Object value(Field field, Type type, int items) throws ReflectiveOperationException {
        if (type.isArray()) {
            return array(field, type.arrayElementType().orElseThrow(), items);
        }
        if (type instanceof Schema schema) {
            Object struct = field.getType().getConstructor().newInstance();
            fill(struct, schema);
            return struct;
        }
        return random.value(type, field.getType(), items == 0);
    }

    private Object array(Field field, Type element, int items)
            throws ReflectiveOperationException {
        boolean plainList = field.getType() == List.class;
        ParameterizedType generic = (ParameterizedType) (plainList
            ? field.getGenericType() : field.getType().getGenericSuperclass());
        Class<?> itemClass = (Class<?>) generic.getActualTypeArguments()[0];
        @SuppressWarnings("unchecked")
        Collection<Object> made = (Collection<Object>) (plainList
            ? new ArrayList<>() : field.getType().getConstructor().newInstance());
        for (int i = 0; i < items; i++) {
            Object item;
            if (element instanceof Schema schema) {
                item = itemClass.getConstructor().newInstance();
                fill(item, schema);
            } else {
                item = random.value(element, itemClass, false);
            }
            if (!made.add(item)) {
                throw new IllegalStateException(field + " refuses an item");
            }
        }
        return made;
    }

    private void addTags(Object struct, Schema schema) throws ReflectiveOperationException {
        for (BoundField bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields tagged) {
                for (var field : tagged.fields().values()) {
                    descend(struct, field.name, field.type);
                }
                addTagsHere((Message) struct);
            } else {
                descend(struct, bound.def.name, bound.def.type);
            }
        }
    }

    private void descend(Object struct, String name, Type type)
            throws ReflectiveOperationException {
        Object value = field(struct.getClass(), name).get(struct);
        if (value == null) {
            return;
        }
        if (type instanceof Schema schema) {
            addTags(value, schema);
        } else if (type.isArray() && type.arrayElementType().orElseThrow() instanceof Schema item) {
            for (Object one : (Collection<?>) value) {
                addTags(one, item);
            }
        }
    }

    private void addTagsHere(Message struct) {
        int tag = 0;
        for (int i = random.count(MOST_ITEMS); i > 0; i--) {
            // Beyond every tag that Kafka has given out so far; they must ascend.
            tag += random.tagStep();
            byte[] bytes = random.bytes(i % 2 == 0);
            struct.unknownTaggedFields().add(new RawTaggedField(tag, bytes));
        }
    }

    private static Field field(Class<?> type, String name) {
        Map<String, Field> fields = FIELDS.computeIfAbsent(type, RandomMessage::fields);
        Field found = fields.get(flat(name));
        if (found == null) {
            throw new IllegalStateException(type.getName() + " has no field for " + name);
        }
        return found;
    }

    private static Map<String, Field> fields(Class<?> type) {
        Map<String, Field> found = new HashMap<>();
        for (Field field : type.getDeclaredFields()) {
            field.setAccessible(true);
            found.put(flat(field.getName()), field);
        }
        return found;
    }

    /** Schema constants say max_wait_ms where the class says maxWaitMs. */
    private static String flat(String name) {
        return name.replace("_", "").toLowerCase(Locale.ROOT);
    }
}
