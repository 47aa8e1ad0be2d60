"""Idempotent producers: sequences, duplicates, epochs, gaps, the wrap of the sequence."""

from tests.e2e.compare.session import fetch_body, produce_body
from tests.support.kafka_codec import batch


def run(s):
    s.topic("idempotent", 2)

    def init(label):
        return s.patient(label, "InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 60000},
                         lambda answer: answer["ErrorCode"])["ProducerId"]

    def produce(label, producer, epoch, sequence, count=1, partition=0, text=b"v"):
        records = batch([(None, text)] * count, producer_id=producer, producer_epoch=epoch,
                        sequence=sequence, timestamp=s.now)
        s.call(label, "Produce", 9, produce_body([("idempotent", [(partition, records)])]))

    one, two = init("first id"), init("second id")
    for sequence in range(0, 12, 2):
        produce(f"sequence {sequence}", one, 0, sequence, 2)
    for sequence in (10, 8, 4, 2):
        produce(f"duplicate of {sequence}", one, 0, sequence, 2)
    produce("duplicate beyond the cache", one, 0, 0, 2)
    produce("part of a duplicate", one, 0, 10, 1)
    produce("overlapping", one, 0, 11, 2)
    produce("gap", one, 0, 14)
    produce("next", one, 0, 12)
    produce("other partition starts anywhere", one, 0, 5, partition=1)
    produce("other producer, not at zero", two, 0, 3)
    produce("other producer, at zero", two, 0, 0)
    produce("negative sequence", two, 0, -1)
    produce("newer epoch, not at zero", one, 1, 13)
    produce("newer epoch, at zero", one, 1, 0)
    produce("older epoch", one, 0, 13)
    produce("negative epoch", one, -1, 1)
    produce("never given out", 1 << 40, 0, 0)
    wrap = init("id for the wrap")
    produce("up to the end", wrap, 0, 2**31 - 3, 2, partition=1)
    produce("across the end", wrap, 0, 2**31 - 1, 3, partition=1)
    produce("after the wrap", wrap, 0, 2, 1, partition=1)
    produce("duplicate across the end", wrap, 0, 2**31 - 1, 3, partition=1)
    produce("zero is a duplicate no more", wrap, 0, 0, 1, partition=1)
    mixed = batch([(None, b"a")], producer_id=two, producer_epoch=0, sequence=1) + \
        batch([(None, b"b")], producer_id=two, producer_epoch=0, sequence=2)
    s.call("two batches of a producer", "Produce", 9, produce_body([("idempotent", [(0, mixed)])]))
    s.call("ends", "ListOffsets", 7, {"ReplicaId": -1, "Topics": [{"Name": "idempotent", "Partitions": [
        {"PartitionIndex": partition, "Timestamp": -1} for partition in (0, 1)]}]})
    answer = s.main.call("Fetch", 12, fetch_body([("idempotent", [(0, 0, {}), (1, 0, {})])]))
    s.note("bytes stored", [len(p["Records"]) for p in answer["Responses"][0]["Partitions"]])
