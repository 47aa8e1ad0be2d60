"""Produce: what concerns the whole request: acks, timeouts, the same partition twice, producers of transactions,
sizes, and connections that end."""

import time

from tests.e2e.compare.session import fetch_body, produce_body
from tests.support import kafka_codec, wire
from tests.support.kafka_codec import batch

_GOOD = [(b"k", b"v")]


def run(s):
    _acks(s)
    _timeouts(s)
    _twice(s)
    _ids(s)
    _sizes(s)
    _transactional(s)
    _order(s)


def _ends(s, label, topic, partitions=1):
    s.call(label, "ListOffsets", 7, {"ReplicaId": -1, "Topics": [{"Name": topic, "Partitions": [
        {"PartitionIndex": partition, "Timestamp": -1} for partition in range(partitions)]}]})


def _end(s, topic):
    answer = s.main.call("ListOffsets", 7, {"ReplicaId": -1, "Topics": [{"Name": topic, "Partitions": [
        {"PartitionIndex": 0, "Timestamp": -1}]}]})
    return answer["Topics"][0]["Partitions"][0]["Offset"]


def _acks(s):
    topic_id = s.topic("requests-acks", 2)
    good, bad = batch(_GOOD, timestamp=s.now), batch(_GOOD, crc=7)
    for acks in (2, -2, 127, -32768, 32767):
        for version in (3, 9, 13):
            key = topic_id if version >= 13 else "requests-acks"
            s.call(f"acks {acks} v{version}", "Produce", version, produce_body([(key, [(0, good)])], acks=acks))
        s.call(f"acks {acks}, not all right", "Produce", 9, produce_body(
            [("requests-acks", [(0, good), (1, bad), (9, good)]), ("requests-none", [(0, good)])], acks=acks))
    s.call("acks 5, no batch", "Produce", 9, produce_body([("requests-acks", [(0, b""), (1, good[:30])])], acks=5))
    # Nothing answers acks=0; an error ends the connection, after what was asked before.
    for label, body in (("unknown topic", [("requests-none", [(0, good)])]),
                        ("bad crc", [("requests-acks", [(0, good), (1, bad)])]),
                        ("no batch", [("requests-acks", [(0, b"")])]),
                        ("all right", [("requests-acks", [(0, good)])])):
        with wire.connect(s.broker.port) as connection:
            connection.sendall(kafka_codec.encode_request("Metadata", 9, 1, {"Topics": []}))
            connection.sendall(kafka_codec.encode_request("Produce", 9, 2, produce_body(body, acks=0)))
            wire.receive(connection)
            if label == "all right":
                connection.sendall(kafka_codec.encode_request("Metadata", 9, 3, {"Topics": []}))
                s.note("acks 0 goes on", len(wire.receive(connection)) > 0)
            else:
                s.note(f"acks 0, {label}: closed", wire.closed_by_peer(connection))
    # Nothing says when they are committed.
    limit = time.monotonic() + 10
    while time.monotonic() < limit and _end(s, "requests-acks") < 2:
        time.sleep(0.05)
    _ends(s, "ends after acks", "requests-acks", 2)


def _timeouts(s):
    s.topic("requests-timeouts", 1)
    for timeout in (0, 1, -1, -2**31, 2**31 - 1):
        s.call(f"timeout {timeout}", "Produce", 9,
               produce_body([("requests-timeouts", [(0, batch(_GOOD, timestamp=s.now))])], TimeoutMs=timeout))


def _twice(s):
    topic_id = s.topic("requests-twice", 3)
    one, two = (batch([(None, text)], timestamp=s.now) for text in (b"one", b"two"))
    bad = batch(_GOOD, crc=7)

    def twice(label, body, version=9):
        s.call(label, "Produce", version, produce_body(body))
        _ends(s, f"ends after {label}", "requests-twice", 3)

    twice("a partition twice", [("requests-twice", [(0, one), (0, two)])])
    twice("a topic twice", [("requests-twice", [(0, one)]), ("requests-twice", [(1, one)])])
    twice("a topic twice with a partition", [("requests-twice", [(0, one), (1, one)]), ("requests-twice", [(1, two)])])
    twice("a partition thrice, others between", [("requests-twice", [(2, one), (0, one), (2, two), (1, one), (2, one)])])
    twice("a bad batch, then a good one", [("requests-twice", [(0, bad), (0, two)])])
    twice("partitions out of order", [("requests-twice", [(2, one), (0, one), (1, one)])])
    twice("unknown ones twice", [("requests-none", [(0, one), (0, two)]), ("requests-none", [(0, one)])])
    twice("by id", [(topic_id, [(0, one)]), (topic_id, [(0, two), (2, one)])], 13)
    s.call("what stayed", "Fetch", 12, fetch_body([("requests-twice", [(p, 0, {}) for p in range(3)])]))


def _ids(s):
    topic_id = s.topic("requests-ids", 1)
    good = batch(_GOOD, timestamp=s.now)
    s.call("several unknown ids", "Produce", 13, produce_body(
        [(b"\x21" * 16, [(0, good), (1, good)]), (topic_id, [(0, good), (5, good)]), (b"\x22" * 16, [(0, b"")])]))
    s.call("no id", "Produce", 13, produce_body([(kafka_codec.ZERO_UUID, [(0, good)])]))
    s.call("acks 3 and an unknown id", "Produce", 13, produce_body([(b"\x21" * 16, [(0, good)])], acks=3))


def _sizes(s):
    record = batch([(None, b"x" * 300)], timestamp=s.now)
    for less in (0, 1):
        s.topic(f"requests-size-{less}", 1, {"max.message.bytes": len(record) - less})
        s.call(f"{less} less than the size", "Produce", 9, produce_body([(f"requests-size-{less}", [(0, record)])]))
    s.topic("requests-size-bad", 1, {"max.message.bytes": 100})
    for label, data in (("and a bad crc", batch([(None, b"x" * 300)], crc=1)),
                        ("and a base offset", batch([(None, b"x" * 300)], base_offset=3)),
                        ("and a control batch", batch([(None, b"x" * 300)], attributes=0x20)),
                        ("and zstd in an old version", batch([(None, b"x" * 300)], attributes=4))):
        s.call(f"too large {label}", "Produce", 5, produce_body([("requests-size-bad", [(0, data)])]))
    s.topic("requests-segment", 1, {"segment.bytes": 1 << 20, "max.message.bytes": 2 << 20})
    large = batch([(None, b"y" * (1 << 20))], timestamp=s.now)
    s.call("larger than a segment", "Produce", 9, produce_body([("requests-segment", [(0, large)])]))
    s.call("after it", "Produce", 9, produce_body([("requests-segment", [(0, record)])]))
    s.topic("requests-max", 1, {"max.message.bytes": 0})
    s.call("nothing is small enough", "Produce", 9, produce_body([("requests-max", [(0, batch(_GOOD))])]))


def _transactional(s):
    s.topic("requests-txn", 3)

    def part(producer, epoch, sequence=0, attributes=0x10):
        return batch(_GOOD, producer_id=producer, producer_epoch=epoch, sequence=sequence, attributes=attributes,
                     timestamp=s.now)

    for version in (3, 9, 12):
        s.call(f"no transactional id v{version}", "Produce", version, produce_body(
            [("requests-txn", [(0, part(5, 0)), (1, batch(_GOOD))])]))
        s.call(f"two producers v{version}", "Produce", version, produce_body(
            [("requests-txn", [(0, part(5, 0)), (1, part(6, 0))])], TransactionalId="t"))
        s.call(f"two epochs v{version}", "Produce", version, produce_body(
            [("requests-txn", [(0, part(5, 0)), (1, part(5, 1)), (7, part(5, 1))])], TransactionalId="t"))
    s.call("two producers and neither id", "Produce", 9, produce_body(
        [("requests-txn", [(0, part(5, 0)), (1, part(6, 0))])]))
    s.call("two producers, acks 7", "Produce", 9, produce_body(
        [("requests-txn", [(0, part(5, 0)), (1, part(6, 0))])], TransactionalId="t", acks=7))
    s.call("an id without a transaction", "Produce", 9, produce_body(
        [("requests-txn", [(0, batch(_GOOD))])], TransactionalId="t"))
    s.call("two producers outside of transactions", "Produce", 9, produce_body(
        [("requests-txn", [(1, part(50, 0, attributes=0)), (2, part(60, 0, attributes=0))])], TransactionalId="t"))
    _ends(s, "ends after transactions", "requests-txn", 3)


def _order(s):
    """Batches of one connection stay in order, whatever the broker has to do for each."""
    producer = s.patient("producer of many", "InitProducerId", 4,
                         {"TransactionalId": None, "TransactionTimeoutMs": 60000},
                         lambda answer: answer["ErrorCode"])["ProducerId"]
    for kind in ("producer", "gzip"):
        topic = f"requests-order-{kind}"
        s.topic(topic, 1, {"compression.type": kind})
        connection = s.connect()
        texts = [b"a", b"some words of a text " * 3000, b"b", b"others " * 20000, b"c", b"d" * 60000]
        for number in range(24):
            body = batch([(None, texts[number % len(texts)])], producer_id=producer, producer_epoch=0,
                         sequence=number, codec=("none", "gzip", "lz4", "zstd")[number % 4], timestamp=s.now)
            connection.send("Produce", 9, produce_body([(topic, [(0, body)])]))
        for number in range(24):
            answer = connection.receive()
            s.record(f"{number} in order into {kind}", "Produce", 9, answer)
