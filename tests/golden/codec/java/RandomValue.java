import java.nio.ByteBuffer;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.internal.MemoryRecords;

/** Choices and values of one seed. The first seeds are extremes, the others mix everything. */
final class RandomValue {
    enum Choice { DEFAULT, NULL, EMPTY, FULL }

    private static final String[] TEXTS = {
        "a", "topic-1", "with space", "quote \" back \\ slash /", "line\nfeed\ttab\r\u0001\u007f",
        "caf\u00e9 \u00df \u4e2d\u6587", "\ud83d\ude00 astral", "null", "\u2028\u2029",
    };

    private static final int EXTREMES = 7;

    private final Random random;
    private final int seed;

    RandomValue(String name, short version, int seed) {
        this.seed = seed;
        this.random = new Random(name.hashCode() * 1_000_003L + version * 8191L + seed);
    }

    /** `holder`: a struct or an array of structs; several extremes must reach what is in it. */
    Choice choice(boolean nullable, boolean holder) {
        switch (seed) {
            case 0: return Choice.DEFAULT;
            case 1: return Choice.FULL;
            case 2: return nullable && !holder ? Choice.NULL : Choice.FULL;
            case 3: return holder ? Choice.FULL : Choice.EMPTY;
            case 4: return holder ? Choice.FULL : Choice.DEFAULT;
            case 5: return nullable ? Choice.NULL : Choice.FULL;
            case 6: return Choice.EMPTY;
            default:
        }
        int turn = random.nextInt(10);
        if (turn == 0 && nullable) {
            return Choice.NULL;
        }
        return turn <= 2 ? Choice.DEFAULT : turn == 3 ? Choice.EMPTY : Choice.FULL;
    }

    /** Whether the fields of a struct that was left as it is are chosen too. */
    boolean descends() {
        return seed != 0 && random.nextBoolean();
    }

    boolean wantsUnknownTags() {
        return seed == 1 || seed % 3 == 2;
    }

    int count(int most) {
        return seed < EXTREMES ? 1 + random.nextInt(2) : random.nextInt(most + 1);
    }

    int tagStep() {
        int[] steps = {100, 127, 128, 16_384, 1 << 28};
        return 100 + random.nextInt(steps[random.nextInt(steps.length)]);
    }

    byte[] bytes(boolean empty) {
        int length = empty ? 0 : random.nextInt(12) == 0 ? 120 + random.nextInt(200)
            : 1 + random.nextInt(9);
        byte[] made = new byte[length];
        random.nextBytes(made);
        return made;
    }

    Object value(Type type, Class<?> javaType, boolean zero) {
        if (javaType == String.class) {
            return zero ? "" : text();
        }
        if (javaType == byte[].class) {
            return bytes(zero);
        }
        if (javaType == ByteBuffer.class) {
            return ByteBuffer.wrap(bytes(zero));
        }
        if (javaType == Uuid.class) {
            return zero ? Uuid.ZERO_UUID : new Uuid(random.nextLong(), random.nextLong());
        }
        if (type.toString().contains("RECORDS")) {
            return MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(zero)));
        }
        if (javaType == boolean.class || javaType == Boolean.class) {
            return !zero && random.nextInt(4) != 0;
        }
        if (javaType == double.class || javaType == Double.class) {
            return zero ? 0.0 : real();
        }
        return integer(type, zero);
    }

    private String text() {
        if (random.nextInt(15) == 0) {
            return TEXTS[random.nextInt(TEXTS.length)].repeat(100 + random.nextInt(50));
        }
        return TEXTS[random.nextInt(TEXTS.length)] + (random.nextBoolean() ? random.nextInt() : "");
    }

    private double real() {
        double[] extremes = {1, -1.5, 0.1, 1e300, 5e-324, Double.MAX_VALUE, 1 / 3.0};
        return random.nextBoolean() ? extremes[random.nextInt(extremes.length)]
            : random.nextGaussian() * 1e6;
    }

    private Object integer(Type type, boolean zero) {
        if (type == Type.INT8) {
            return (byte) within(Byte.MIN_VALUE, Byte.MAX_VALUE, zero);
        }
        if (type == Type.INT16) {
            return (short) within(Short.MIN_VALUE, Short.MAX_VALUE, zero);
        }
        if (type == Type.UINT16) {
            return (int) within(0, 0xffff, zero);
        }
        if (type == Type.INT32) {
            return (int) within(Integer.MIN_VALUE, Integer.MAX_VALUE, zero);
        }
        if (type == Type.UNSIGNED_INT32) {
            return within(0, 0xffff_ffffL, zero);
        }
        if (type == Type.INT64) {
            return within(Long.MIN_VALUE, Long.MAX_VALUE, zero);
        }
        throw new IllegalStateException("no values for type " + type);
    }

    private long within(long lowest, long highest, boolean zero) {
        if (zero) {
            return 0;
        }
        switch (random.nextInt(5)) {
            case 0: return lowest;
            case 1: return highest;
            case 2: return Math.max(lowest, -1);
            case 3: return 1 + random.nextInt(100);
            default:
        }
        long range = highest - lowest + 1;
        return range == 0 ? random.nextLong() : lowest + Math.floorMod(random.nextLong(), range);
    }
}
