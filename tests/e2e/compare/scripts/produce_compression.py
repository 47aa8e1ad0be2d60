"""Produce to topics with a codec of their own: what is stored, in what size, and what is refused."""

from tests.e2e.compare.scripts.produce_records import _stored
from tests.e2e.compare.session import produce_body
from tests.support.compression import CODECS, snappy_block
from tests.support.kafka_codec import batch, record

_TYPES = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
_TEXT = b"some text that a codec can make smaller, some text that a codec can make smaller; "


def run(s):
    for kind in _TYPES:
        _all_into(s, kind)
    _levels(s)
    _sizes(s)
    _append_time(s)
    _raw_snappy(s)
    _idempotent(s)


def _produce(s, label, topic, records, version=11):
    return s.call(label, "Produce", version, produce_body([(topic, [(0, records)])]))


def _all_into(s, kind):
    topic = f"into-{kind}"
    s.topic(topic, 1, {"compression.type": kind})
    for codec in CODECS:
        records = [(b"k%d" % number, _TEXT + b"%d" % number) for number in range(40)]
        _produce(s, f"{codec} into {kind}", topic, batch(records, codec=codec, timestamp=s.now))
        nulls = [(None, None), (b"", b""), (b"k", None, 0, (("h", None), ("", b""))), (None, _TEXT * 1000)]
        _produce(s, f"{codec} nulls into {kind}", topic, batch(nulls, codec=codec, timestamp=s.now))
        odd = [record(3, b"a", b"b", timestamp_delta=2), record(3, b"c", b"d", timestamp_delta=-1)]
        if codec != "none" or kind not in ("producer", "uncompressed"):
            _produce(s, f"{codec} odd offsets into {kind}", topic,
                     batch(odd, codec=codec, timestamp=s.now, last_delta=1))
        _produce(s, f"{codec} unset largest into {kind}", topic,
                 batch(records[:2], codec=codec, timestamp=s.now, max_timestamp=-1))
        _produce(s, f"{codec} marked log append time into {kind}", topic,
                 batch([record(0, b"a", b"b", timestamp_delta=9), record(1, b"c", b"d")], codec=codec,
                       timestamp=s.now, attributes=0x08))
    _stored(s, f"stored in {kind}", topic)


def _levels(s):
    for kind, key, levels in (("gzip", "compression.gzip.level", (1, 9, -1)), ("lz4", "compression.lz4.level", (1, 17)),
                              ("zstd", "compression.zstd.level", (-5, 19))):
        for level in levels:
            topic = f"level-{kind}-{level}"
            s.topic(topic, 1, {"compression.type": kind, key: level})
            _produce(s, f"{kind} level {level}", topic, batch([(None, _TEXT * 20)], timestamp=s.now))
            _stored(s, f"stored at {kind} level {level}", topic)


def _sizes(s):
    """max.message.bytes holds before and after."""
    large = batch([(None, b"z" * 1000)], timestamp=s.now)
    small = batch([(None, b"z" * 1000)], codec="gzip", timestamp=s.now)
    s.topic("sizes-plain", 1, {"compression.type": "uncompressed", "max.message.bytes": 500})
    _produce(s, "fits compressed, not plain", "sizes-plain", small)
    _produce(s, "does not fit plain", "sizes-plain", large)
    s.topic("sizes-packed", 1, {"compression.type": "gzip", "max.message.bytes": 500})
    _produce(s, "does not fit before it is compressed", "sizes-packed", large)
    _produce(s, "fits compressed", "sizes-packed", small)
    exact = len(large)
    for less in (0, 1):
        s.topic(f"sizes-exact-{less}", 1, {"compression.type": "uncompressed", "max.message.bytes": exact - less})
        _produce(s, f"{less} less than exact", f"sizes-exact-{less}", small)
    s.topic("sizes-keys", 1, {"compression.type": "uncompressed", "max.message.bytes": 500,
                              "cleanup.policy": "compact"})
    _produce(s, "too large and without key", "sizes-keys", small)


def _append_time(s):
    for kind in ("gzip", "uncompressed", "producer"):
        topic = f"append-time-{kind}"
        s.topic(topic, 1, {"compression.type": kind, "message.timestamp.type": "LogAppendTime"})
        for codec in ("none", "gzip", "zstd"):
            answer = _produce(s, f"append time, {codec} into {kind}", topic,
                              batch([(b"k", _TEXT), (b"l", _TEXT)], codec=codec, timestamp=s.now - 5))
            time = answer["Responses"][0]["PartitionResponses"][0]["LogAppendTimeMs"]
            s.note(f"append time given, {codec} into {kind}", time > s.now)
        _produce(s, f"marked by the client into {kind}", topic,
                 batch([(b"k", b"v"), (b"k", b"v")], attributes=0x08, timestamp=s.now))


def _raw_snappy(s):
    """Clients that are not Java send one block without framing."""
    records = record(0, b"k", _TEXT) + record(1, None, _TEXT)
    for kind in ("producer", "snappy", "lz4"):
        s.topic(f"raw-snappy-{kind}", 1, {"compression.type": kind})
        _produce(s, f"raw snappy into {kind}", f"raw-snappy-{kind}",
                 batch([b"", b""], codec="snappy", payload=snappy_block(records), timestamp=s.now))
        _stored(s, f"stored raw snappy in {kind}", f"raw-snappy-{kind}")
    # Broken inside a right CRC.
    s.topic("broken", 1)
    for codec in CODECS[1:]:
        for label, payload in (("garbage", b"\x42" * 60), ("nothing", b"")):
            _produce(s, f"{codec} that is {label}", "broken",
                     batch([b""], codec=codec, payload=payload, timestamp=s.now))
    _stored(s, "stored of the broken", "broken")


def _idempotent(s):
    """A duplicate is found also where the batch is written anew."""
    s.topic("anew", 1, {"compression.type": "zstd"})
    producer = s.patient("producer", "InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 60000},
                         lambda answer: answer["ErrorCode"])["ProducerId"]
    for label, sequence, count in (("first", 0, 3), ("second", 3, 2), ("first again", 0, 3), ("gap", 9, 1)):
        _produce(s, f"{label} of a producer", "anew",
                 batch([(b"k", _TEXT)] * count, producer_id=producer, producer_epoch=0, sequence=sequence,
                       codec="lz4", timestamp=s.now))
