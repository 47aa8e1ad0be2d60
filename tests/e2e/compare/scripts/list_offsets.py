"""ListOffsets: every version, the special timestamps, lookups by time, unknown partitions, epochs."""

from tests.e2e.compare.session import produce_body
from tests.support.kafka_codec import batch, record


def run(s):
    topic = s.topic("offsets", 2)
    s.topic("offsets-empty", 1)
    times = (0, 100, 50, 300)
    for time in times:
        records = batch([record(n, None, b"v", timestamp_delta=n * 10) for n in range(3)],
                        timestamp=s.now + time, max_timestamp=s.now + time + 20)
        s.main.call("Produce", 13, produce_body([(topic, [(0, records)])]))

    def ask(label, version, time, name="offsets", partition=0, **more):
        answer = s.main.call("ListOffsets", version, {"ReplicaId": -1, "Topics": [
            {"Name": name, "Partitions": [{"PartitionIndex": partition, "Timestamp": time, **more}]}]})
        found = answer["Topics"][0]["Partitions"][0]
        if found["Timestamp"] > 0:  # relative to the script's clock, for a readable difference
            found["Timestamp"] -= s.now
        s.record(label, "ListOffsets", version, answer)

    for version in range(1, 12):
        for time in (-1, -2, -3, -4, -5, -6, -7):
            ask(f"time {time} v{version}", version, time)
        ask(f"time of the first v{version}", version, s.now)
        ask(f"unknown topic v{version}", version, -1, "no-such-topic")
        ask(f"unknown partition v{version}", version, -1, partition=5)
    for time in (-1000, 1, 5, 10, 20, 21, 99, 100, 101, 119, 120, 121, 299, 300, 320, 321, 5000):
        ask(f"now {time:+}", 7, s.now + time)
    for time in (-1, -2, -3, -4, -5, s.now):
        ask(f"empty at {time if time < 0 else 'now'}", 9, time, "offsets-empty")
        ask(f"empty partition at {time if time < 0 else 'now'}", 9, time, partition=1)
    for epoch in (-1, 0, 1, 77):
        ask(f"leader epoch {epoch}", 7, -1, CurrentLeaderEpoch=epoch)
    s.call("read committed", "ListOffsets", 7, {"ReplicaId": -1, "IsolationLevel": 1, "Topics": [
        {"Name": "offsets", "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}]}]})
    s.call("partition twice", "ListOffsets", 7, {"ReplicaId": -1, "Topics": [
        {"Name": "offsets", "Partitions": [{"PartitionIndex": 0, "Timestamp": -1},
                                           {"PartitionIndex": 0, "Timestamp": -2}]}]})
    s.call("nothing", "ListOffsets", 7, {"ReplicaId": -1, "Topics": []})
