"""Produce: what a broker checks of single records, in plain and in compressed batches, and the record errors
that name them."""

from tests.e2e.compare.session import fetch_body, produce_body
from tests.support.kafka_codec import batch, read_batch, record, signed_varint

_HOUR = 3_600_000
# What a record says of its own length may be wrong.
_PLAIN_AND_PACKED = ("none", "gzip", "snappy", "lz4", "zstd")


def run(s):
    for codec in _PLAIN_AND_PACKED:
        _keys(s, codec)
        _times(s, codec)
        _structure(s, codec)
    _old_versions(s)


def _produce(s, label, topic, records, version=11, partition=0):
    return s.call(label, "Produce", version, produce_body([(topic, [(partition, records)])]))


def _keys(s, codec):
    topic = f"records-keys-{codec}"
    s.topic(topic, 1, {"cleanup.policy": "compact"})
    pair, keyless = (b"k", b"v"), (None, b"v")

    def produce(label, *records, **more):
        _produce(s, f"{codec}: {label}", topic, batch(list(records), codec=codec, timestamp=s.now, **more))

    produce("all keys", pair, pair)
    produce("no key at all", keyless)
    produce("first without key", keyless, pair)
    produce("second and fourth without key", pair, keyless, pair, keyless)
    produce("empty key", (b"", b"v"))
    produce("tombstone", (b"k", None))
    produce("many without keys", *[keyless] * 12)
    s.topic(topic + "-both", 1, {"cleanup.policy": "compact,delete"})
    _produce(s, f"{codec}: compact and delete", topic + "-both",
             batch([pair, keyless], codec=codec, timestamp=s.now))
    _stored(s, f"{codec}: keys stored", topic)


def _times(s, codec):
    topic = f"records-times-{codec}"
    s.topic(topic, 1, {"message.timestamp.before.max.ms": 10 * _HOUR, "message.timestamp.after.max.ms": 5 * _HOUR})

    def produce(label, *offsets, base=s.now, **more):
        records = [record(number, b"k", b"v", timestamp_delta=offset) for number, offset in enumerate(offsets)]
        _produce(s, f"{codec}: {label}", topic, batch(records, codec=codec, timestamp=base, **more))

    produce("now", 0, 1, 2)
    produce("too early", -11 * _HOUR)
    produce("too late", 7 * _HOUR)
    produce("one too early", 0, -11 * _HOUR, 1)
    produce("one too late, one too early", 7 * _HOUR, 0, -11 * _HOUR)
    produce("early enough", -8 * _HOUR)
    produce("late enough", 5 * _HOUR)
    produce("without time", 0, 0, base=-1)
    produce("one without time", 0, -s.now - 1, max_timestamp=s.now)
    produce("negative time", 0, base=-2)
    produce("most negative time", 0, base=-2**63)
    produce("largest time", 0, base=2**63 - 1)
    produce("time that wraps", 2**62, base=2**63 - 1)
    produce("largest timestamp unset", 5, 3, max_timestamp=-1)
    produce("largest timestamp too small", 5, 3, max_timestamp=s.now)
    produce("largest timestamp too large", 5, 3, max_timestamp=s.now + 10)
    produce("marked log append time", 5, 3, attributes=0x08, max_timestamp=s.now)
    produce("marked log append time, none given", 5, 3, attributes=0x08, max_timestamp=-1)
    produce("marked log append time, too early", 5, attributes=0x08, max_timestamp=s.now - 11 * _HOUR)
    produce("unknown attributes and a wrong largest timestamp", 5, attributes=0x80, max_timestamp=-1)
    _stored(s, f"{codec}: times stored", topic)
    s.topic(topic + "-keys", 1, {"cleanup.policy": "compact", "message.timestamp.after.max.ms": 5 * _HOUR})
    mixed = [record(0, None, b"v"), record(1, b"k", b"v", timestamp_delta=7 * _HOUR), record(2, b"k", b"v")]
    _produce(s, f"{codec}: key and time", topic + "-keys", batch(mixed, codec=codec, timestamp=s.now))


def _structure(s, codec):
    # A partition for each step, so that what one broker took does not show in the next steps.
    topic = f"records-structure-{codec}"
    s.topic(topic, 24)
    good = record(0, b"k", b"v", headers=(("h", b"x"), ("h", None)))
    body = good[1:]
    labels = []

    def produce(label, *records, **more):
        _produce(s, f"{codec}: {label}", topic, batch(list(records), codec=codec, timestamp=s.now, **more),
                 partition=len(labels))
        labels.append(label)

    def resized(change):
        return signed_varint(len(body) + change) + body

    produce("headers", good)
    produce("record too short", resized(-1))
    produce("record too long", resized(1))
    produce("record empty", b"\0")
    produce("record of negative length", signed_varint(-1) + body)
    produce("record of huge length", signed_varint(2**31 - 1) + body)
    produce("more counted than there", good, count=2, last_delta=1)
    produce("fewer counted than there", good, record(1, None, b"v"), count=1, last_delta=0)
    produce("bytes behind the last", good + b"\0\0\0")
    produce("key longer than the record", _body(key_length=40))
    produce("value longer than the record", _body(value_length=40))
    produce("negative lengths are null", _body(key_length=-5, value_length=-7, content=b""))
    produce("header count negative", _body(header_count=-1))
    produce("header count huge", _body(header_count=2**31 - 1))
    produce("header without a key", _body(headers=signed_varint(-1) + signed_varint(-1), header_count=1))
    produce("header key too long", _body(headers=signed_varint(50) + b"x", header_count=1))
    produce("varint too long", b"\xff\xff\xff\xff\xff\xff" + body)
    produce("attributes set", signed_varint(len(body)) + b"\x07" + body[1:])
    produce("offsets repeat", record(0, None, b"a"), record(0, None, b"b"))
    produce("offsets with a hole", record(0, None, b"a"), record(5, None, b"b"))
    produce("offset negative", record(-1, None, b"a"))
    for partition, label in enumerate(labels):
        _stored(s, f"{codec}: stored of: {label}", topic, partition)


def _body(key_length=1, value_length=1, content=None, header_count=0, headers=b""):
    """A record whose lengths lie."""
    key, value = (b"k", b"v") if content is None else (content, content)
    body = b"\0\0\0" + signed_varint(key_length) + key + signed_varint(value_length) + value
    body += signed_varint(header_count) + headers
    return signed_varint(len(body)) + body


def _old_versions(s):
    """Record errors came with version 8."""
    s.topic("records-old", 1, {"cleanup.policy": "compact"})
    for version in range(3, 13):
        _produce(s, f"keyless v{version}", "records-old", batch([(None, b"v")], timestamp=s.now), version)


def _stored(s, label, topic, partition=0):
    """What the log holds, decoded: compressors may differ in their bytes."""
    answer = s.main.call("Fetch", 12, fetch_body([(topic, [(partition, 0, {})])]))
    data, position, batches = answer["Responses"][0]["Partitions"][0]["Records"] or b"", 0, []
    while position + 61 <= len(data):
        one = read_batch(data, position)
        position = one.pop("end")
        batches.append(one)
    s.note(label, batches)
