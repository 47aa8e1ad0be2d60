"""A topic that is deleted and made again under its name: ids, sessions, leader epochs, offsets, producers."""

import time

from tests.e2e.compare.session import fetch_body, produce_body
from tests.support.kafka_codec import batch

_UNKNOWN = {3, 100}


def run(s):
    old = s.topic("again", 2)
    for number in range(3):
        records = batch([(b"k%d" % number, b"v")], timestamp=s.now, producer_id=500, producer_epoch=1,
                        sequence=number)
        s.main.call("Produce", 13, produce_body([(old, [(0, records)])]))
    session = s.main.call("Fetch", 17, fetch_body([(old, [(0, 0, {})])], epoch=0))["SessionId"]
    named = s.connect()
    named_session = named.call("Fetch", 12, fetch_body([("again", [(0, 0, {})])], epoch=0))["SessionId"]
    _look(s, "before", old)
    s.call("delete", "DeleteTopics", 5, {"TopicNames": ["again"], "TimeoutMs": 10000})
    _wait_until_gone(s, old)
    _look(s, "deleted", old)
    new = s.topic("again", 2)
    s.note("another id", new != old)
    s.call("session of the old id", "Fetch", 17, fetch_body([], session=session, epoch=1))
    s.call("session by name", "Fetch", 12, fetch_body([], session=named_session, epoch=1), on=named)
    _look(s, "again, by the old id", old)
    _look(s, "again", new)
    s.call("produce by the old id", "Produce", 13, produce_body([(old, [(0, batch([(b"k", b"v")]))])]))
    # Nothing is known of the producer: any sequence may begin.
    records = batch([(b"k", b"v")], timestamp=s.now, producer_id=500, producer_epoch=1, sequence=7)
    s.call("the producer goes on", "Produce", 13, produce_body([(new, [(0, records)])]))
    _look(s, "written", new)


def _look(s, label, topic_id):
    for time_asked in (-1, -2, -3, s.now):
        answer = s.main.call("ListOffsets", 9, {"ReplicaId": -1, "Topics": [
            {"Name": "again", "Partitions": [{"PartitionIndex": 0, "Timestamp": time_asked}]}]})
        found = answer["Topics"][0]["Partitions"][0]
        if found["Timestamp"] > 0:
            found["Timestamp"] -= s.now
        s.record(f"{label}: offset at {min(time_asked, 0)}", "ListOffsets", 9, answer)
    for epoch in (-1, 0, 1):
        s.call(f"{label}: end of epoch {epoch}", "OffsetForLeaderEpoch", 4, {"ReplicaId": -1, "Topics": [
            {"Topic": "again", "Partitions": [
                {"Partition": 0, "CurrentLeaderEpoch": -1, "LeaderEpoch": epoch}]}]})
        s.call(f"{label}: fetch in epoch {epoch}", "Fetch", 17, fetch_body([(topic_id, [
            (0, 0, {"CurrentLeaderEpoch": epoch})])]))
    for offset in (0, 1, 5):
        s.call(f"{label}: fetch at {offset}", "Fetch", 17, fetch_body([(topic_id, [(0, offset, {})])]))
    s.call(f"{label}: producers", "DescribeProducers", 0, {"Topics": [
        {"Name": "again", "PartitionIndexes": [1]}]})


def _wait_until_gone(s, topic_id):
    """The partition's owner hears of it a moment after the client."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        answer = s.main.call("Fetch", 17, fetch_body([(topic_id, [(0, 0, {})])]))
        listed = s.main.call("ListOffsets", 9, {"ReplicaId": -1, "Topics": [
            {"Name": "again", "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}]}]})
        if (answer["Responses"][0]["Partitions"][0]["ErrorCode"] in _UNKNOWN
                and listed["Topics"][0]["Partitions"][0]["ErrorCode"] in _UNKNOWN):
            return
        time.sleep(0.05)
