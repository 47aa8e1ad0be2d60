"""Produce: batches that must be refused, codecs, limits of a topic's configuration."""

from tests.e2e.compare.session import fetch_body, produce_body
from tests.support.kafka_codec import batch, record

_HOUR = 3_600_000


_STEPS = 56


def run(s):
    # A partition for each step, so that what one broker took does not show in the next steps.
    s.topic("bad", _STEPS)
    pair = [(b"key", b"value")]
    steps = []

    def produce(label, records, version=9, topic="bad"):
        partition = len(steps) if topic == "bad" else 0
        if topic == "bad":
            steps.append(label)
        s.call(label, "Produce", version, produce_body([(topic, [(partition, records)])]))

    produce("good", batch(pair, timestamp=s.now))
    produce("wrong crc", batch(pair, crc=1))
    for magic in (0, 1, 3, -1):
        produce(f"magic {magic}", batch(pair, magic=magic))
    produce("count too high", batch(pair, count=2))
    produce("count too low", batch(pair * 2, count=1))
    produce("count zero", batch([]))
    produce("negative count", batch(pair, count=-1))
    produce("last delta wrong", batch(pair * 2, last_delta=5))
    produce("negative last delta", batch(pair, last_delta=-1))
    produce("length too large", batch(pair, length=5000))
    produce("length too small", batch(pair, length=20))
    produce("negative length", batch(pair, length=-1))
    produce("half a batch", batch(pair)[:40])
    produce("trailing bytes", batch(pair) + b"\0\0\0")
    produce("no records", b"")
    for size in (17, 61, 100, 1000):
        produce(f"{size} bytes of ones", b"\xff" * size)
        produce(f"{size} bytes of zeros", b"\0" * size)
    # Null records are left out: Apache Kafka 4.4.0 does not answer them at all.
    produce("two batches", batch(pair) + batch(pair))
    produce("two batches whose offsets overlap", batch(pair * 2) + batch(pair * 2, base_offset=1))
    produce("very many headers", batch([record(0, b"k", b"v", headers=[("h", b"x")] * 20_000)]))
    produce("a huge header", batch([record(0, b"k", b"v", headers=[("n" * 40_000, b"x" * 400_000)])]))
    produce("the year 9999", batch(pair, timestamp=253_402_300_799_000))
    produce("base offset not zero", batch(pair, base_offset=17))
    produce("leader epoch set", batch(pair, leader_epoch=9))
    produce("control batch", batch(pair, attributes=0x20))
    produce("transactional without a producer", batch(pair, attributes=0x10))
    produce("log append time from a client", batch(pair, attributes=0x08))
    produce("unknown attribute bit", batch(pair, attributes=0x80))
    produce("unknown codec", batch(pair, attributes=0x07))
    produce("wrong offset delta", batch([record(1, b"k", b"v")]))
    produce("record longer than the batch", batch([b"\x7e" + b"\0" * 6]))
    produce("header without a name", batch([b"\x10\0\0\0\x01\x01\x02\x01\x01"]))
    produce("no timestamp", batch(pair, timestamp=-1))
    produce("future timestamp", batch(pair, timestamp=s.now + 4 * _HOUR))
    produce("old timestamp", batch(pair, timestamp=1000))
    produce("maximal timestamp wrong", batch(pair, timestamp=s.now, max_timestamp=s.now + 5))
    produce("gzip", batch(pair * 3, codec="gzip", timestamp=s.now))
    produce("gzip that is none", batch(pair, attributes=1))
    produce("zstd v7", batch(pair, codec="zstd", timestamp=s.now), 7)
    produce("zstd v6", batch(pair, codec="zstd", timestamp=s.now), 6)
    produce("zstd v3", batch(pair, codec="zstd", timestamp=s.now), 3)
    s.topic("bad-small", 1, {"max.message.bytes": 200})
    produce("small enough", batch([(None, b"x" * 100)]), topic="bad-small")
    produce("too large", batch([(None, b"x" * 200)]), topic="bad-small")
    s.topic("bad-compact", 1, {"cleanup.policy": "compact"})
    produce("key for compaction", batch(pair), topic="bad-compact")
    produce("no key for compaction", batch([(b"k", b"v"), (None, b"v")]), topic="bad-compact")
    s.topic("bad-append-time", 1, {"message.timestamp.type": "LogAppendTime"})
    answer = s.call("append time", "Produce", 9,
                    produce_body([("bad-append-time", [(0, batch(pair, timestamp=s.now))])]))
    s.note("append time given", answer["Responses"][0]["PartitionResponses"][0]["LogAppendTimeMs"] > s.now)
    for partition, label in enumerate(steps):
        s.call(f"stored of: {label}", "Fetch", 12, fetch_body([("bad", [(partition, 0, {})])]))
    for name in ("bad-small", "bad-compact"):
        s.call(f"stored in {name}", "Fetch", 12, fetch_body([(name, [(0, 0, {})])]))
