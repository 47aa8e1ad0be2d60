"""What ages: quiet topics, records of the future, limits that change while the broker runs."""

import time

from tests.e2e.case import case, expect, expect_equal
from tests.support import kafka_tools
from tests.support.connection import Connection
from tests.support.kafka_codec import batch

_QUICK = {"log.retention.check.interval.ms": 300, "log.initial.task.delay.ms": 100}


def _write(connection, topic_id, times, size=1000):
    for number, at in enumerate(times):
        answer = connection.produce(topic_id, 0, batch([(b"k%d" % number, b"v" * size)], timestamp=at))
        expect_equal(answer["ErrorCode"], 0, f"batch {number}")


def _start(connection, name):
    answer = connection.call("ListOffsets", 9, {"ReplicaId": -1, "Topics": [
        {"Name": name, "Partitions": [{"PartitionIndex": 0, "Timestamp": -2}]}]})
    return answer["Topics"][0]["Partitions"][0]["Offset"]


def _wait_for_start(connection, name, wanted, seconds=15):
    end = time.monotonic() + seconds
    while _start(connection, name) != wanted:
        expect(time.monotonic() < end, f"{name}: the log starts at {_start(connection, name)}, not at {wanted}")
        time.sleep(0.05)


@case()
def by_time(context):
    """A topic that nobody writes to any more loses what is too old, its last segment too; a record of the future
    keeps its segment; a topic without the limit keeps all."""
    broker = context.own(_QUICK)
    now = int(time.time() * 1000)
    with Connection(broker.port) as connection:
        for name, configs, times in (
                ("quiet", {"retention.ms": 2000}, [now] * 5),
                ("future", {"retention.ms": 2000}, [now, now + 3_000_000]),
                ("kept", {"retention.ms": -1}, [now - 100_000_000])):
            _write(connection, connection.create_topic(name, 1, configs), times)
        _wait_for_start(connection, "quiet", 5)
        expect_equal(_start(connection, "future"), 0, "a record of the future")
        expect_equal(_start(connection, "kept"), 0, "no limit")
        # It goes on behind what is gone.
        topic_id = connection.call("Metadata", 12, {"Topics": [{"TopicId": b"\0" * 16, "Name": "quiet"}]}
                                   )["Topics"][0]["TopicId"]
        answer = connection.produce(topic_id, 0, batch([(b"k", b"v")], timestamp=now + 3_000_000))
        expect_equal(answer["BaseOffset"], 5, "written after it")
    (folder,) = broker.partition_dirs("quiet")
    expect_equal([path.name for path in folder.glob("*.log")], [f"{5:020}.log"], "files left")


@case()
def limits_change(context):
    """retention.bytes is lowered while the broker runs: whole segments go until it holds, and their files after
    file.delete.delay.ms."""
    broker = context.own(_QUICK)
    now = int(time.time() * 1000)
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic("shrinking", 1, {"segment.bytes": 1 << 20, "file.delete.delay.ms": 1000})
        _write(connection, topic_id, [now] * 40, size=100_000)
        (folder,) = broker.partition_dirs("shrinking")
        expect_equal(len(list(folder.glob("*.log"))), 4, "segments of ten batches each")
        kafka_tools.run("kafka-configs", "--bootstrap-server", broker.bootstrap, "--alter", "--entity-type",
                        "topics", "--entity-name", "shrinking", "--add-config", "retention.bytes=2000000")
        _wait_for_start(connection, "shrinking", 20)
        end = time.monotonic() + 10
        while list(folder.glob("*.deleted")):
            expect(time.monotonic() < end, "the files stay")
            time.sleep(0.05)
        expect_equal(len(list(folder.glob("*.log"))), 2, "segments left")
