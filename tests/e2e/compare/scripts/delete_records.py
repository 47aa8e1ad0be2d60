"""DeleteRecords: every version, up to the high watermark, what readers see after it, everything that is refused."""

from tests.e2e.compare.session import fetch_body, produce_body
from tests.support.kafka_codec import batch


def run(s):
    ids = {name: s.topic(name, partitions, configs) for name, partitions, configs in (
        ("deleting", 2, None), ("deleting-compacted", 1, {"cleanup.policy": "compact"}),
        ("deleting-both", 1, {"cleanup.policy": "compact,delete"}))}
    for name, topic_id in ids.items():
        for number in range(10):
            records = batch([(b"k%d" % number, b"v"), (b"l%d" % number, b"w")], timestamp=s.now + number)
            s.main.call("Produce", 13, produce_body([(topic_id, [(0, records)])]))

    def delete(label, version, *rows, on="deleting"):
        """rows: (partition, offset)"""
        s.call(f"{label} v{version}", "DeleteRecords", version, {"TimeoutMs": 10000, "Topics": [
            {"Name": on, "Partitions": [{"PartitionIndex": partition, "Offset": offset}
                                        for partition, offset in rows]}]})

    def look(label):
        for time in (-1, -2, -3, -4, s.now, s.now + 4):
            answer = s.main.call("ListOffsets", 9, {"ReplicaId": -1, "Topics": [
                {"Name": "deleting", "Partitions": [{"PartitionIndex": 0, "Timestamp": time}]}]})
            found = answer["Topics"][0]["Partitions"][0]
            if found["Timestamp"] > 0:
                found["Timestamp"] -= s.now
            s.record(f"{label}: offset at {time if time < 0 else time - s.now}", "ListOffsets", 9, answer)
        for offset in range(21):
            s.call(f"{label}: fetch at {offset}", "Fetch", 17,
                   fetch_body([(ids["deleting"], [(0, offset, {})])]))

    s.patient("the topic of offsets", "FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": ["g"]},
              lambda answer: answer["Coordinators"][0]["ErrorCode"])
    for version in range(3):
        delete("to 0", version, (0, 0))
        delete("to 1", version, (0, 1 + 2 * version))
        delete("back", version, (0, 0))
        delete("beyond the end", version, (0, 21))
        delete("negative", version, (0, -2))
        delete("no such partition", version, (2, 1))
        delete("no such partition", version, (-1, 1))
        delete("no such topic", version, (0, 1), on="no-such-topic")
        delete("invalid topic", version, (0, 1), on="a b")
        delete("internal topic", version, (0, 1), on="__consumer_offsets")
        delete("empty partition", version, (1, 0), (1, -1))
        delete("compacted", version, (0, 1), on="deleting-compacted")
        delete("compacted, all", version, (0, -1), on="deleting-compacted")
        delete("compacted and deleted", version, (0, 1 + version), on="deleting-both")
        delete("twice", version, (0, 1), (0, 5 + version))
        s.call(f"nothing v{version}", "DeleteRecords", version, {"TimeoutMs": 1000, "Topics": []})
        s.call(f"no partitions v{version}", "DeleteRecords", version, {
            "TimeoutMs": 1000, "Topics": [{"Name": "deleting", "Partitions": []}]})
        s.call(f"a topic twice v{version}", "DeleteRecords", version, {"TimeoutMs": 1000, "Topics": [
            {"Name": "deleting", "Partitions": [{"PartitionIndex": 0, "Offset": 8}]},
            {"Name": "deleting", "Partitions": [{"PartitionIndex": 1, "Offset": 0}]}]})
    look("inside a batch")
    session = s.main.call("Fetch", 17, fetch_body([(ids["deleting"], [(0, 20, {})])], epoch=0))["SessionId"]
    delete("with a session", 2, (0, 12))
    s.call("session", "Fetch", 17, fetch_body([], session=session, epoch=1))
    s.call("session again", "Fetch", 17, fetch_body([], session=session, epoch=2))
    s.main.send("Fetch", 17, fetch_body([(ids["deleting"], [(0, 20, {})])], max_wait=60000))
    other = s.connect()
    s.call("while a reader waits", "DeleteRecords", 2, {"TimeoutMs": 1000, "Topics": [
        {"Name": "deleting", "Partitions": [{"PartitionIndex": 0, "Offset": 14}]}]}, on=other)
    other.call("Produce", 13, produce_body([(ids["deleting"], [(0, batch([(b"k", b"v")], timestamp=s.now))])]))
    s.record("the waiting reader", "Fetch", 17, s.main.receive())
    delete("to the end", 2, (0, -1))
    look("all deleted")
    s.call("producers", "DescribeProducers", 0, {"Topics": [{"Name": "deleting", "PartitionIndexes": [0]}]})
    s.call("epoch", "OffsetForLeaderEpoch", 4, {"ReplicaId": -1, "Topics": [{"Topic": "deleting", "Partitions": [
        {"Partition": 0, "CurrentLeaderEpoch": -1, "LeaderEpoch": 0}]}]})
    s.main.call("Produce", 13, produce_body([(ids["deleting"], [(0, batch([(b"k", b"v")], timestamp=s.now))])]))
    look("written after it")
