"""Transactions as the log knows them: hand-made segments with open, committed and aborted transactions, asked by
Fetch, ListOffsets and DescribeProducers; transactional batches and markers without a coordinator."""

import random
import time

from tests.e2e.compare.session import fetch_body
from tests.support.hand_made import ABORT, COMMIT, CONTROL, TRANSACTIONAL, Log
from tests.support.kafka_codec import batch


def _plain(now):
    log = Log(now)
    log.data(10, count=2)
    log.data()
    log.data(11)
    log.data(12, transactional=False)
    log.marker(10, ABORT)                      # 5
    log.data(10, count=3, codec="gzip")
    log.marker(11, COMMIT, coordinator_epoch=3)
    log.data(13, epoch=5)                       # 10
    log.marker(13, ABORT, epoch=6)
    log.marker(14, COMMIT)                     # of a transaction that is not in this partition
    log.marker(10, COMMIT)
    log.data(15)                                # 14: stays open
    log.data()
    log.data(11)
    log.data()
    log.marker(11, ABORT, coordinator_epoch=4)
    log.data(12, transactional=False)           # 19
    return log


def _spread(now):
    """Transactions that begin and end in different segments."""
    log, chance = Log(now), random.Random(11)
    open_producers = set()
    for number in range(240):
        if number % 50 == 49:
            log.roll()
        producer = 20 + chance.randrange(6)
        if producer in open_producers and chance.random() < 0.4:
            log.marker(producer, chance.choice((ABORT, ABORT, COMMIT)))
            open_producers.discard(producer)
        elif chance.random() < 0.2:
            log.data(value=b"w" * chance.randrange(200))
        else:
            log.data(producer, count=chance.randrange(1, 4), value=b"x" * chance.randrange(100))
            open_producers.add(producer)
    for producer in sorted(open_producers - {22}):
        log.marker(producer, ABORT)
    return log


def _ended(now):
    log = Log(now)
    for number in range(30):
        log.data(30 + number % 3)
        log.marker(30 + number % 3, number % 2)
    return log


def run(s):
    logs = {"txn-plain": _plain(s.now), "txn-spread": _spread(s.now), "txn-ended": _ended(s.now)}
    ids = {name: s.topic(name, configs={"index.interval.bytes": "300"}) for name in logs}
    s.plant({(name, 0): log.segments for name, log in logs.items()})
    for name, log in logs.items():
        _fetch(s, name, ids[name], log)
        _list_offsets(s, name)
        _describe(s, name)
    _versions(s, ids["txn-plain"])
    _produce(s, ids["txn-plain"])
    _markers(s)
    _describe(s, "txn-plain", "at the end")


def _fetch(s, name, topic_id, log):
    offsets = range(log.next + 2) if log.next < 100 else range(0, log.next + 2, 7)
    for offset in offsets:
        for isolation in (0, 1):
            for most in (1 << 20, 500):
                body = fetch_body([(topic_id, [(0, offset, {"PartitionMaxBytes": most})])], isolation=isolation)
                s.call(f"{name} at {offset}, isolation {isolation}, {most} bytes", "Fetch", 17, body)


def _list_offsets(s, name):
    for version in range(2, 12):
        for isolation in (0, 1):
            for at in (-1, -2, -3, -4, -5, s.now, s.now + 12, s.now + 16, s.now + 1000):
                label = at if at < 0 else f"now+{at - s.now}"
                answer = s.main.call("ListOffsets", version, {
                    "ReplicaId": -1, "IsolationLevel": isolation, "Topics": [
                        {"Name": name, "Partitions": [{"PartitionIndex": 0, "Timestamp": at}]}]})
                found = answer["Topics"][0]["Partitions"][0]
                if found["Timestamp"] > 0:  # relative to the script's clock
                    found["Timestamp"] -= s.now
                if at == -1 and found.get("LeaderEpoch", -1) > 0:
                    found["LeaderEpoch"] = 0  # Apache Kafka's leader steps down for a stop
                s.record(f"{name} {label}, isolation {isolation} v{version}", "ListOffsets", version, answer)


def _describe(s, name, when=""):
    answer = s.main.call("DescribeProducers", 0, {"Topics": [{"Name": name, "PartitionIndexes": [0]}]})
    for producer in answer["Topics"][0]["Partitions"][0]["ActiveProducers"]:
        producer["LastTimestamp"] -= s.now
    answer["Topics"][0]["Partitions"][0]["ActiveProducers"].sort(key=lambda one: one["ProducerId"])
    s.record(f"producers of {name} {when}", "DescribeProducers", 0, answer)


def _versions(s, topic_id):
    for version in range(4, 19):
        key = topic_id if version >= 13 else "txn-plain"
        for isolation in (0, 1):
            for offset in (0, 14, 99):
                s.call(f"fetch v{version}, isolation {isolation}, at {offset}", "Fetch", version,
                       fetch_body([(key, [(0, offset, {})])], isolation=isolation), fit=True)
    s.call("describe producers: errors", "DescribeProducers", 0, {"Topics": [
        {"Name": "txn-plain", "PartitionIndexes": [1, -1]}, {"Name": "no-such-topic", "PartitionIndexes": [0, 1]},
        {"Name": "bad name", "PartitionIndexes": [0]}, {"Name": "txn-ended", "PartitionIndexes": []}]})
    s.call("describe producers: nothing", "DescribeProducers", 0, {"Topics": []})


def _produce(s, topic_id):
    """Without a coordinator that knows of the partition only an ongoing transaction may go on."""

    def produce(label, version, transactional_id, records):
        topic = {"TopicId": topic_id} if version >= 13 else {"Name": "txn-plain"}
        s.call(label, "Produce", version, {
            "TransactionalId": transactional_id, "Acks": -1, "TimeoutMs": 10000, "TopicData": [
                {**topic, "PartitionData": [{"Index": 0, "Records": records}]}]})

    def records(producer, epoch, sequence, attributes=TRANSACTIONAL):
        return batch([(b"k", b"v")], timestamp=s.now + 50, producer_id=producer, producer_epoch=epoch,
                     sequence=sequence, attributes=attributes)

    produce("ongoing", 13, "t-15", records(15, 0, 1))
    produce("ongoing, older version", 9, "t-15", records(15, 0, 2))
    produce("ongoing, repeated", 13, "t-15", records(15, 0, 2))
    produce("ongoing, gap", 13, "t-15", records(15, 0, 9))
    produce("ongoing, stale epoch", 13, "t-15", records(13, 5, 1))
    produce("ongoing, not transactional", 13, None, records(15, 0, 3, attributes=0))
    produce("no transactional id", 13, None, records(15, 0, 3))
    produce("a control batch", 13, "t-15", records(15, 0, 3, TRANSACTIONAL | CONTROL))
    _wait_for_coordinator(s, topic_id, records(99, 0, 0))
    for version in (9, 11, 12, 13):
        produce(f"not begun v{version}", version, "t-99", records(99, 0, 0))
        produce(f"newer epoch v{version}", version, "t-15", records(15, 1, 0))
        produce(f"ended v{version}", version, "t-10", records(10, 0, 5))


def _wait_for_coordinator(s, topic_id, records):
    """Apache Kafka's comes to life when it is first asked for, and says "not enough replicas" until then."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        s.main.call("FindCoordinator", 4, {"KeyType": 1, "CoordinatorKeys": ["t-99"]})
        answer = s.main.call("Produce", 13, {
            "TransactionalId": "t-99", "Acks": -1, "TimeoutMs": 10000, "TopicData": [
                {"TopicId": topic_id, "PartitionData": [{"Index": 0, "Records": records}]}]})
        if answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"] != 19:
            return
        time.sleep(0.1)


def _markers(s):
    for version in (1, 2):
        s.call(f"no markers v{version}", "WriteTxnMarkers", version, {"Markers": []})
        s.call(f"marker v{version}", "WriteTxnMarkers", version, {"Markers": [
            {"ProducerId": 15, "ProducerEpoch": 0, "TransactionResult": False, "CoordinatorEpoch": 1, "Topics": [
                {"Name": "no-such-topic", "PartitionIndexes": [0, 3]}]}]}, fit=True)
