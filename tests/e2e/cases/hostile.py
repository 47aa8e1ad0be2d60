"""Clients that mean no good, and a stop while others work."""

import os
import random
import resource
import socket
import struct
import threading
import time

from tests.e2e.case import case, expect, expect_equal
from tests.support import kafka_codec, kafka_tools, wire
from tests.support.connection import Connection

_SOCKETS = 5000
_MIB = 1 << 20


@case(smoke=True, brokers=("pelton",))
def announced_frames(context):
    """5,000 sockets announce 100 MiB each and send nothing more: memory stays bounded, others are served,
    and the descriptors come back. (Apache Kafka allocates what is announced.)"""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * _SOCKETS), hard))
    broker = context.own()
    before = broker.rss_bytes()
    open_before = _descriptors(broker)
    sockets = []
    try:
        for _ in range(_SOCKETS):
            connection = wire.connect(broker.port)
            connection.sendall(struct.pack(">i", 100 * _MIB))
            sockets.append(connection)
        _expect_memory(broker, before, 64)
        # Some go on as if they meant it.
        for connection in sockets[:200]:
            connection.settimeout(5)
            try:
                connection.sendall(struct.pack(">hhi", 0, 9, 1) + bytes(64 * 1024))
            except OSError:
                pass  # the broker may stop reading or close
        _expect_memory(broker, before, 64 + 32)
        _expect_served(context, broker)
    finally:
        for connection in sockets:
            connection.close()
    end = time.monotonic() + 10
    while _descriptors(broker) > open_before + 20:
        expect(time.monotonic() < end, f"{_descriptors(broker)} descriptors, {open_before} before")
        time.sleep(0.05)
    _expect_served(context, broker)


def _descriptors(broker):
    return len(os.listdir(f"/proc/{broker.pid}/fd"))


def _expect_memory(broker, before, limit_mib):
    time.sleep(0.3)
    grown = (broker.rss_bytes() - before) / _MIB
    expect(grown < limit_mib, f"resident memory grew by {grown:.0f} MiB")


def _expect_served(context, broker):
    started = time.monotonic()
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic(context.topic("served"))
        answer = connection.produce(topic_id, 0, kafka_codec.batch([(b"k", b"v")]))
        expect_equal(answer["ErrorCode"], 0, "produce beside hostile clients")
    expect(time.monotonic() - started < 5, f"served after {time.monotonic() - started:.1f} s")


@case(smoke=True)
def unsupported_api_versions(context):
    """ApiVersions v99 gets the v0 answer with error 35, and the connection goes on."""
    broker = context.shared()
    with wire.connect(broker.port) as connection:
        body = b"\x02a\x02b\x00"  # what a flexible v99 could look like
        connection.sendall(wire.request(wire.API_VERSIONS, 99, 5, b"\x00" + body))
        correlation, answer = kafka_codec.decode_response("ApiVersions", 0, wire.receive(connection))
        expect_equal((correlation, answer["ErrorCode"]), (5, 35), "answer to v99")
        listed = {row["ApiKey"]: (row["MinVersion"], row["MaxVersion"]) for row in answer["ApiKeys"]}
        expect_equal(list(listed), [18], "keys in the answer to v99")
        expect_equal(listed[18][0], 0, "ApiVersions from")
        connection.sendall(kafka_codec.encode_request("ApiVersions", 3, 6, {
            "ClientSoftwareName": "e2e", "ClientSoftwareVersion": "1"}))
        correlation, answer = kafka_codec.decode_response("ApiVersions", 3, wire.receive(connection))
        expect_equal((correlation, answer["ErrorCode"]), (6, 0), "answer to v3 after v99")
        expect_equal(wire.metadata_brokers(connection), 1, "brokers")


@case(smoke=True)
def broken_frames(context):
    """Each of these closes the connection and nothing else: unknown key, unsupported version, negative and
    too large sizes, a body that ends early, a body with absurd counts."""
    broker = context.shared()
    frames = {
        "unknown key": wire.request(999, 0, 1),
        "dead key": wire.request(4, 0, 1),
        "unsupported version": wire.request(wire.METADATA, 77, 1),
        "negative version": wire.request(wire.METADATA, -1, 1),
        "negative size": struct.pack(">i", -5),
        "size 2^31-1": struct.pack(">i", 2**31 - 1),
        "above socket.request.max.bytes": struct.pack(">i", 104857601),
        "no header": struct.pack(">i", 3) + b"abc",
        "empty frame": struct.pack(">i", 0),
        "truncated body": wire.request(wire.METADATA, 1, 1, struct.pack(">i", 1)),
        "array of 2^31-1 topics": wire.request(wire.METADATA, 1, 1, struct.pack(">i", 2**31 - 1)),
        "string longer than the frame": wire.request(wire.METADATA, 1, 1, struct.pack(">ih", 1, 3000)),
        "client id longer than the frame": struct.pack(">ihhih", 12, 3, 1, 1, 900) + b"ab",
    }
    for what, frame in frames.items():
        with wire.connect(broker.port) as connection:
            connection.sendall(frame)
            expect(wire.closed_by_peer(connection), f"{what}: the connection stays open")
    with wire.connect(broker.port) as connection:
        expect_equal(wire.metadata_brokers(connection), 1, "brokers afterwards")


@case(smoke=True)
def pieces_and_pipelines(context):
    """Requests byte by byte, and 300 at once: answered in order."""
    broker = context.shared()
    with Connection(broker.port) as connection:
        frame = kafka_codec.encode_request("Metadata", 9, 1, {"Topics": []})
        for position in range(len(frame)):
            connection.socket.sendall(frame[position:position + 1])
        kafka_codec.decode_response("Metadata", 9, wire.receive(connection.socket))
        topic_id = connection.create_topic(context.topic("pipeline"), 2)
        for number in range(100):
            records_bytes = kafka_codec.batch([(None, b"x" * (number * 50))])
            connection.send("Produce", 13, {"Acks": -1, "TimeoutMs": 10000, "TopicData": [
                {"TopicId": topic_id, "PartitionData": [{"Index": number % 2, "Records": records_bytes}]}]})
            connection.send("Metadata", 12, {"Topics": []})
            connection.send("ListOffsets", 7, {"ReplicaId": -1, "Topics": [
                {"Name": "none", "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}]}]})
        for number in range(100):
            answer = connection.receive()["Responses"][0]["PartitionResponses"][0]
            expect_equal((answer["ErrorCode"], answer["BaseOffset"]), (0, number // 2), "produced")
            expect_equal(len(connection.receive()["Brokers"]), 1, "brokers")
            expect_equal(connection.receive()["Topics"][0]["Partitions"][0]["ErrorCode"], 3, "error")


@case(smoke=True)
def stop_under_load(context):
    """SIGTERM while producers write and consumers wait: exits in time (5 s for Pelton); after
    a restart the log goes to where ListOffsets says and can be read to its end."""
    broker, topic = context.own(), context.topic("stop")
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic(topic)
        idle_id = connection.create_topic(context.topic("idle"))
    load = kafka_tools.start("kafka-producer-perf-test", "--bootstrap-server", broker.bootstrap, "--topic",
                             topic, "--num-records", 100_000_000, "--record-size", 512,
                             "--throughput", 20000)
    waiting = []
    for _ in range(50):
        connection = Connection(broker.port)
        connection.send("Fetch", 17, {
            "MaxWaitMs": 60000, "MinBytes": 1, "SessionEpoch": -1, "Topics": [
                {"TopicId": idle_id, "Partitions": [{"Partition": 0, "FetchOffset": 0,
                                                     "PartitionMaxBytes": 1 << 20}]}]})
        waiting.append(connection)
    limit = time.monotonic() + 40
    while _end(broker, topic) < 5000:
        expect(time.monotonic() < limit, f"{_end(broker, topic)} records after 40 s of load")
        time.sleep(0.1)
    broker.stop()
    load.kill()
    load.communicate()
    for connection in waiting:
        connection.close()
    expect((broker.data_dir / ".kafka_cleanshutdown").exists(), "no clean-shutdown marker")
    broker.start()
    end = _end(broker, topic)
    expect(end >= 5000, f"{end} records after the restart")
    with Connection(broker.port) as connection:
        found = connection.fetch(topic_id, 0, end - 1)
        expect_equal((found["ErrorCode"], found["HighWatermark"]), (0, end), "the last record")


def _end(broker, topic):
    """The end offset of partition 0."""
    with Connection(broker.port) as connection:
        answer = connection.call("ListOffsets", 7, {"ReplicaId": -1, "Topics": [
            {"Name": topic, "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}]}]})
        return answer["Topics"][0]["Partitions"][0]["Offset"]


@case(smoke=True, brokers=("pelton",))
def clients_that_leave_waiting(context):
    """Clients that ask for a fetch of 24 days and go (closed, reset, half closed): their descriptors come
    back, and who closed its half only gets its answer."""
    broker = context.own()
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic(context.topic("left"), 4)
    before = _descriptors(broker)
    for number in range(60):
        connection = _waiting_forever(broker, topic_id)
        if number % 2 == 0:  # a reset
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    with _waiting_forever(broker, topic_id) as connection:
        connection.socket.shutdown(socket.SHUT_WR)
        expect_equal(connection.receive()["ErrorCode"], 0, "answer after a half close")
        expect(wire.closed_by_peer(connection.socket), "half closed and answered: stays open")
    end = time.monotonic() + 10
    while _descriptors(broker) > before + 5:
        expect(time.monotonic() < end, f"{_descriptors(broker)} descriptors, {before} before")
        time.sleep(0.05)


def _waiting_forever(broker, topic_id):
    connection = Connection(broker.port)
    connection.send("Fetch", 17, {
        "MaxWaitMs": 2**31 - 1, "MinBytes": 2**31 - 1, "SessionEpoch": -1, "Topics": [
            {"TopicId": topic_id, "Partitions": [
                {"Partition": partition, "FetchOffset": 0, "PartitionMaxBytes": 1 << 20}
                for partition in range(4)]}]})
    return connection


@case(brokers=("pelton",))
def group_requests_in_pipelines(context):
    """Group requests of many groups, thus for other shards, and requests answered at once, pipelined and
    often cut off: answers are told apart from requests that are still away."""
    broker = context.own({"pelton.shards": 2})
    with Connection(broker.port) as connection:
        connection.call("FindCoordinator", 4, {"CoordinatorKeys": ["g0"]})
    end = time.monotonic() + 5
    threads = [threading.Thread(target=_pipeline_groups, args=(broker, seed, end)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(broker.alive(), "the broker has ended")
    wire.wait_for_metadata(broker.port, 30, broker.alive)


def _pipeline_groups(broker, seed, end):
    draw = random.Random(seed)
    while time.monotonic() < end and broker.alive():
        try:
            with Connection(broker.port, timeout=2) as connection:
                for _ in range(draw.randint(1, 30)):
                    _send_any_group_request(connection, draw)
                connection.socket.settimeout(0.02)
                while connection.unanswered and draw.random() < 0.7:
                    connection.receive()
                if draw.random() < 0.6:
                    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                 struct.pack("ii", 1, 0))
        except OSError:
            pass  # no answer yet, or the broker closed


def _send_any_group_request(connection, draw):
    group = f"g{draw.randrange(6)}"
    kind = draw.randrange(6)
    if kind == 0:
        connection.send("JoinGroup", draw.choice([2, 4, 9]), {
            "GroupId": group, "SessionTimeoutMs": 6000, "RebalanceTimeoutMs": draw.choice([-1, 0, 50, 9999]),
            "ProtocolType": "consumer", "GroupInstanceId": draw.choice([None, "s1"]),
            "Protocols": [{"Name": "range", "Metadata": b"x" * draw.choice([0, 5000])}]}, fit=True)
    elif kind == 1:
        connection.send("SyncGroup", 5, {"GroupId": group, "GenerationId": 1, "MemberId": "m",
                                         "ProtocolType": "consumer", "ProtocolName": "range"})
    elif kind == 2:
        connection.send("OffsetCommit", 8, {"GroupId": group, "GenerationIdOrMemberEpoch": -1, "Topics": [
            {"Name": "t", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 5}]}]})
    elif kind == 3:
        connection.send("OffsetFetch", 7, {"GroupId": group, "Topics": None, "RequireStable": False})
    elif kind == 4:
        connection.send("DescribeGroups", 5, {"Groups": [group]})
    else:
        connection.send("LeaveGroup", 5, {"GroupId": group, "Members": [
            {"MemberId": "", "GroupInstanceId": "s1"}]})


@case(smoke=True, brokers=("pelton",))
def many_small_things(context):
    """250,000 protocols in a JoinGroup, 120,000 assignments in a CreateTopics: others are served meanwhile."""
    broker = context.own()
    with Connection(broker.port) as connection:
        connection.call("FindCoordinator", 4, {"CoordinatorKeys": ["g"]})
    count = 250_000
    names = b"".join(struct.pack(">h6si", 6, b"%06d" % number, 0) for number in range(count))
    join = (struct.pack(">h1siihh8si", 1, b"g", 30000, 60000, 0, 8, b"consumer", count) + names)
    count = 120_000
    assignments = b"".join(struct.pack(">iii", number, 1, 1) for number in range(count))
    create = (struct.pack(">ih5sihi", 1, 5, b"wider", -1, -1, count) + assignments +
              struct.pack(">iib", 0, 5000, 0))
    for what, frame in {"protocols": wire.request(11, 3, 1, join),
                        "assignments": wire.request(19, 2, 1, create)}.items():
        with wire.connect(broker.port, timeout=20) as connection:
            connection.sendall(frame)
            started = time.monotonic()
            _expect_served(context, broker)
            wire.receive(connection)
            expect(time.monotonic() - started < 8, f"{what}: {time.monotonic() - started:.1f} s")
