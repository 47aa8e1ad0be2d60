"""Produce: every version, every acks, several topics and partitions, unknown ones, and what was stored."""

from tests.e2e.compare.session import fetch_body, produce_body
from tests.support import kafka_codec as codec
from tests.support.kafka_codec import batch


def run(s):
    topic = s.topic("produce", 2)
    other = s.topic("produce-other", 1)
    for version in range(3, 14):
        key = topic if version >= 13 else "produce"
        s.call(f"one batch v{version}", "Produce", version,
               produce_body([(key, [(0, batch([(b"k", b"v%d" % version)], timestamp=s.now))])]))
    s.call("acks 1", "Produce", 9, produce_body([("produce", [(1, batch([(None, b"one")]))])], acks=1))
    s.main.send("Produce", 9, produce_body([("produce", [(1, batch([(None, b"zero")]))])], acks=0),
                answered=False)
    s.call("after acks 0", "Produce", 13,
           produce_body([(topic, [(1, batch([(None, b"after")]))])]))
    s.call("stored", "Fetch", 13, fetch_body([(topic, [(1, 0, {})])]))
    several = batch([(b"a", b"1"), (None, b"2"), (b"c", None), (b"", b"")], timestamp=s.now)
    s.call("two topics", "Produce", 12, produce_body(
        [("produce", [(0, several), (1, several)]), ("produce-other", [(0, several)])]))
    s.call("two topics by id", "Produce", 13, produce_body(
        [(topic, [(0, several), (1, several)]), (other, [(0, several)])]))
    s.call("all stored", "Fetch", 12, fetch_body(
        [("produce", [(0, 0, {}), (1, 0, {})]), ("produce-other", [(0, 0, {})])]))
    good = batch([(b"k", b"v")])
    for version in (3, 7, 9, 12):
        s.call(f"unknown topic v{version}", "Produce", version,
               produce_body([("no-such-topic", [(0, good)]), ("produce", [(0, good)])]))
    s.call("unknown partition", "Produce", 9, produce_body([("produce", [(7, good), (0, good)])]))
    s.call("negative partition", "Produce", 9, produce_body([("produce", [(-1, good)])]))
    s.call("unknown topic id", "Produce", 13,
           produce_body([(b"\x11" * 16, [(0, good)]), (topic, [(0, good)])]))
    s.call("zero topic id", "Produce", 13, produce_body([(codec.ZERO_UUID, [(0, good)])]))
    s.call("invalid topic name", "Produce", 9, produce_body([("a b", [(0, good)])]))
    for acks in (2, -2, 32767):
        s.call(f"acks {acks}", "Produce", 9, produce_body([("produce", [(0, good)])], acks=acks))
    s.call("nothing", "Produce", 9, produce_body([]))
    s.call("no partitions", "Produce", 9, produce_body([("produce", [])]))
    s.call("ends", "ListOffsets", 7, {"ReplicaId": -1, "Topics": [{"Name": "produce", "Partitions": [
        {"PartitionIndex": partition, "Timestamp": -1} for partition in (0, 1)]}]})
