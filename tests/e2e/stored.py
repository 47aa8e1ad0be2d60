"""What the broker stored, read from its segment files: the client's word is not asked."""

import struct

from tests.e2e.case import expect, expect_equal
from tests.support.client import CODECS

_HEADER = 61


def batches(broker, topic, partition):
    """(records, codec, whether timestamps are the broker's) of each batch of a partition."""
    found = []
    for segment in sorted((broker.data_dir / f"{topic}-{partition}").glob("*.log")):
        data, position = segment.read_bytes(), 0
        while position + _HEADER <= len(data):
            size, = struct.unpack_from(">i", data, position + 8)
            if size == 0:  # preallocated
                break
            attributes, = struct.unpack_from(">h", data, position + 21)
            count, = struct.unpack_from(">i", data, position + 57)
            found.append((count, CODECS[attributes & 7]))
            position += 12 + size
    return found


def expect_stored(broker, topic, written, codec):
    """Each partition holds as many records as were written, in batches of the codec. A client may leave
    a batch uncompressed that compression would not make smaller."""
    used = set()
    for partition in sorted({r["p"] for r in written}):
        stored = batches(broker, topic, partition)
        expect_equal(sum(count for count, _ in stored), sum(r["p"] == partition for r in written),
                     f"records in {topic}-{partition}")
        used |= {name for _, name in stored}
    expect(used <= {codec, "none"} and codec in used, f"{topic}: batches of {used}, wanted {codec}")
