"""One, two and three shards: any client connected to any shard reaches any partition."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

from tests.e2e import records
from tests.e2e.case import Skip, case, expect, expect_equal
from tests.support import clients, kafka_codec, kafka_tools, processes
from tests.support.connection import Connection, batches

_CONNECTIONS = 12
_TOPICS, _PARTITIONS = 3, 2
_SESSION_NOT_FOUND, _INVALID_SESSION_EPOCH = 70, 71


@case(smoke=True, brokers=("pelton",))
def one(context):
    _any_connection_any_partition(context, 1)


@case(smoke=True, brokers=("pelton",))
def two(context):
    _any_connection_any_partition(context, 2)


@case(smoke=True, brokers=("pelton",))
def three(context):
    _any_connection_any_partition(context, 3)


def _any_connection_any_partition(context, shards):
    """12 connections, spread by the kernel, each write to every partition of three topics and read what
    all others wrote; groups on every connection; then a real client; then the same after kill -9."""
    broker = context.own({"pelton.shards": shards})
    expect_equal(len(_shard_threads(broker)), shards, "shard threads")
    connections = [Connection(broker.port) for _ in range(_CONNECTIONS)]
    topics = [connections[n].create_topic(context.topic("shards"), _PARTITIONS) for n in range(_TOPICS)]
    for topic in topics:
        for number, connection in enumerate(connections):
            for partition in range(_PARTITIONS):
                answer = connection.produce(topic, partition, kafka_codec.batch([(b"k", bytes([number]))]))
                expect_equal((answer["ErrorCode"], answer["BaseOffset"]), (0, number), "produced")
    _expect_all_read(connections, topics)
    for number, connection in enumerate(connections):
        _expect_group(connection, f"group-{number}", topics[0])
    for connection in connections:
        connection.close()
    _expect_client(context, broker)
    broker.kill9()
    broker.start()
    connections = [Connection(broker.port) for _ in range(_CONNECTIONS)]
    _expect_all_read(connections, topics)
    for connection in connections:
        connection.close()


def _expect_all_read(connections, topics):
    for topic in topics:
        for connection in connections:
            for partition in range(_PARTITIONS):
                answer = connection.fetch(topic, partition, 0)
                expect_equal(batches(answer["Records"]), [(n, 1) for n in range(_CONNECTIONS)], "read")


def _expect_group(connection, group, topic_id):
    """A simple commit and fetch of offsets, for a coordinator that lives on some shard."""
    def find():
        return connection.call("FindCoordinator", 4, {"CoordinatorKeys": [group]})["Coordinators"][0]["ErrorCode"]

    def commit():
        answer = connection.call("OffsetCommit", 10, {
            "GroupId": group, "GenerationIdOrMemberEpoch": -1, "Topics": [
                {"TopicId": topic_id, "Partitions": [{"PartitionIndex": 1, "CommittedOffset": 5}]}]})
        return answer["Topics"][0]["Partitions"][0]["ErrorCode"]

    expect_equal(_settled(find), 0, "find coordinator")
    expect_equal(_settled(commit), 0, "commit")
    answer = connection.call("OffsetFetch", 10, {"Groups": [
        {"GroupId": group, "Topics": [{"TopicId": topic_id, "PartitionIndexes": [0, 1]}]}]})
    offsets = [p["CommittedOffset"] for p in answer["Groups"][0]["Topics"][0]["Partitions"]]
    expect_equal(offsets, [-1, 5], "committed offsets")


def _settled(ask):
    """The error code once it is none of: coordinator loading, not available, elsewhere."""
    for _ in range(200):
        error = ask()
        if error not in (14, 15, 16):
            break
        time.sleep(0.02)
    return error


def _expect_client(context, broker):
    """A stock client: write with a codec, read in a group."""
    folder, topic = context.folder("shards"), context.topic("stock")
    written = records.make(topic)
    jobs = [{"op": "create", "topic": topic, "partitions": 2},
            {"op": "write", "topic": topic, "codec": "lz4",
             "file": str(records.save(folder / "in", written))},
            {"op": "read", "topics": [topic], "group": topic, "count": len(written), "extra_ms": 200,
             "file": str(folder / "out")}]
    client = clients.ALL["confluent"]
    expect_equal(client.run(broker.bootstrap, jobs), [0, len(written), len(written)], "jobs")
    records.expect_same(records.load(folder / "out"), written, topic, client, client)


def _shard_threads(broker):
    """Thread ids of the shards, which are named shard-N."""
    found = {}
    for task in os.listdir(f"/proc/{broker.pid}/task"):
        with open(f"/proc/{broker.pid}/task/{task}/comm") as name:
            if re.fullmatch(r"shard-\d+\n", text := name.read()):
                found[text.strip()] = int(task)
    return found


@case(brokers=("pelton",))
def no_locks_under_load(context):
    """Under producers and consumers no shard thread makes a futex or epoll call."""
    if not shutil.which("strace"):
        raise Skip("strace is not installed")
    broker = context.own({"pelton.shards": 2})
    topic, folder = context.topic("strace"), context.folder("strace")
    kafka_tools.run("kafka-topics", "--bootstrap-server", broker.bootstrap, "--create", "--topic", topic,
                    "--partitions", 4)
    load = [kafka_tools.start("kafka-producer-perf-test", "--bootstrap-server", broker.bootstrap,
                              "--topic", topic, "--num-records", 100_000_000, "--record-size", 512,
                              "--throughput", 10000),
            kafka_tools.start("kafka-console-consumer", "--bootstrap-server", broker.bootstrap, "--topic",
                              topic, "--group", topic, stdout=subprocess.DEVNULL)]
    time.sleep(4)
    threads = _shard_threads(broker)
    trace = folder / "trace"
    # Without -f each -p attaches one thread alone.
    command = ["strace", "-o", trace]
    for thread in threads.values():
        command += ["-p", thread]
    tracer = processes.spawn(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(4)
    tracer.send_signal(signal.SIGINT)
    _, errors = tracer.communicate(timeout=10)
    for child in load:
        child.kill()
        child.communicate()
    calls = re.findall(r"^(?:\d+ +)?(\w+)\(", trace.read_text(errors="replace"), re.M)
    if not calls and b"ptrace" in errors:
        raise Skip(f"strace may not attach: {errors[-200:]}")
    counts = {name: calls.count(name) for name in sorted(set(calls))}
    expect(sum(counts.values()) > 100, f"too few calls seen for a load: {counts}, {errors[-300:]}")
    bad = {name: count for name, count in counts.items() if "futex" in name or "epoll" in name}
    expect(not bad, f"{bad} among {counts}")


@case(smoke=True, brokers=("pelton",))
def fetch_sessions(context):
    """A fetch session counts in the whole broker: connections on any shard go on with it, and end it."""
    broker = context.own({"pelton.shards": 3})
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(Connection(broker.port)) for _ in range(_CONNECTIONS)]
        topic_id = connections[0].create_topic(context.topic("sessions"))

        def fetch(connection, session, epoch, offset=None):
            topics = [] if offset is None else [{"TopicId": topic_id, "Partitions": [
                {"Partition": 0, "FetchOffset": offset, "PartitionMaxBytes": 1 << 20}]}]
            answer = connection.call("Fetch", 17, {"MaxWaitMs": 0, "MinBytes": 0, "SessionId": session,
                                                   "SessionEpoch": epoch, "MaxBytes": 1 << 20, "Topics": topics})
            return answer["ErrorCode"], answer["SessionId"]

        def expect_gone(session):
            for connection in connections:
                expect_equal(fetch(connection, session, epoch), (_SESSION_NOT_FOUND, 0), "after its end")

        for ends_with in (-1, 0):  # the end alone, and a new session in its place
            error, session = fetch(connections[0], 0, 0, offset=0)
            expect(error == 0 and session != 0, f"no session: {error}")
            epoch = 1
            for connection in connections * 2:
                expect_equal(fetch(connection, session, epoch), (0, session), f"epoch {epoch}")
                epoch += 1
            expect_equal(fetch(connections[1], session, epoch + 7), (_INVALID_SESSION_EPOCH, 0), "another epoch")
            for connection in connections[::-1]:
                expect_equal(fetch(connection, session, epoch), (0, session), f"epoch {epoch}")
                epoch += 1
            for connection in connections:
                expect_equal(fetch(connection, session, ends_with, offset=0)[0], 0, "the end")
            expect_gone(session)
