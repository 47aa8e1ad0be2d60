"""OffsetForLeaderEpoch: every version, known, older and newer epochs, unknown partitions."""

from tests.e2e.compare.session import produce_body
from tests.support.kafka_codec import batch


def run(s):
    topic = s.topic("epochs", 2)
    for _ in range(3):
        s.main.call("Produce", 13, produce_body([(topic, [(0, batch([(b"k", b"v")] * 2))])]))

    def ask(label, version, epoch, partition=0, current=-1, name="epochs"):
        s.call(label, "OffsetForLeaderEpoch", version, {"ReplicaId": -1, "Topics": [
            {"Topic": name, "Partitions": [{"Partition": partition, "LeaderEpoch": epoch,
                                            "CurrentLeaderEpoch": current}]}]}, fit=True)

    for version in (2, 3, 4):
        for epoch in (0, -1, -3, 1, 5):
            ask(f"epoch {epoch} v{version}", version, epoch)
            ask(f"epoch {epoch} of an empty partition v{version}", version, epoch, 1)
        for current in (0, 1, 9):
            ask(f"current epoch {current} v{version}", version, 0, current=current)
        ask(f"unknown partition v{version}", version, 0, 7)
        ask(f"unknown topic v{version}", version, 0, name="no-such-topic")
