"""Who comes to the wrong door, and names that are none (reliability checks B5, B6, B10, B11)."""

import contextlib
import os
import random
import re
import resource
import socket
import struct
import time
import urllib.request

from tests.e2e.case import case, expect, expect_equal
from tests.support import kafka_codec, processes, wire
from tests.support.connection import Connection

_MIB = 1 << 20
_TLS_HELLO = bytes.fromhex("16030100a5010000a10303") + bytes(32) + bytes.fromhex("20") + bytes(32) + bytes(60)


def _measured(context, overrides=None):
    return context.own({"pelton.metrics.listener": f"127.0.0.1:{processes.free_port()}"} | (overrides or {}))


def _page(broker):
    address = f"http://{broker.overrides['pelton.metrics.listener']}/metrics"
    with urllib.request.urlopen(address, timeout=10) as answer:
        return answer.read()


# ---------------------------------------------------------------- B6: other protocols


@case(smoke=True, brokers=("pelton",))
def other_protocols(context):
    """HTTP, TLS, SSH and random bytes on the Kafka port: closed, some lines at a limited rate in the log, not one
    for each; Kafka on the metrics' port: refused."""
    broker = _measured(context)
    draw = random.Random(7)
    hellos = {"HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "TLS": _TLS_HELLO,
              "SSH": b"SSH-2.0-OpenSSH_9.2p1\r\n", "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}
    hellos |= {f"random {number}": bytes([255 - number % 100]) + draw.randbytes(draw.randint(40, 3000))
               for number in range(200)}
    for what, hello in hellos.items():
        with wire.connect(broker.port) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(hello)
            expect(wire.closed_by_peer(connection), f"{what}: the connection stays open")
    lines = [line for line in broker.log_file.read_text().splitlines() if "Closing the connection" in line]
    expect(1 <= len(lines) < len(hellos) / 4, f"{len(lines)} lines for {len(hellos)} strangers")
    port = int(broker.overrides["pelton.metrics.listener"].rpartition(":")[2])
    with wire.connect(port) as connection:
        connection.sendall(wire.request(wire.METADATA, 1, 7, struct.pack(">i", 0)) + b"\r\n\r\n")
        answer = connection.recv(12)
        expect_equal(answer, b"HTTP/1.1 400", "Kafka's bytes on the metrics' port")
    with wire.connect(broker.port) as connection:
        expect_equal(wire.metadata_brokers(connection), 1, "brokers afterwards")


# ---------------------------------------------------------------- B5: very many slow ones


@case(brokers=("pelton",))
def slow_crowd(context):
    """5,000 clients that send one byte of a request now and then, and others that stop in the middle of a TLS
    hello: all are closed at the deadlines, and a good client is served all the time."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 12_000), hard))
    count = 5_000 if hard >= 12_000 else hard // 4
    broker = _measured(context, {"pelton.connection.setup.timeout.ms": 3_000,
                                 "pelton.request.receive.timeout.ms": 3_000})
    frame = wire.request(wire.METADATA, 1, 7, struct.pack(">i", 0))
    crowd, slowest = [], 0.0
    before = broker.rss_bytes()
    try:
        with Connection(broker.port) as good:
            for number in range(count):
                crowd.append(wire.connect(broker.port))
                with contextlib.suppress(OSError):
                    crowd[-1].sendall(_TLS_HELLO[:3] if number % 5 == 0 else frame[:1])
            grown = (broker.rss_bytes() - before) / _MIB
            expect(grown < 64, f"resident memory grew by {grown:.0f} MiB")
            end = time.monotonic() + 30
            position = 1
            while True:
                started = time.monotonic()
                good.call("Metadata", 12, {"Topics": []})
                slowest = max(slowest, time.monotonic() - started)
                closed = re.search(rb'pelton_connections_closed_total\{shard="0",reason="setup_timeout"\} (\d+)\n'
                                   rb'(?:.*\n)*?pelton_connections_closed_total\{shard="1",reason="setup_timeout"\} (\d+)',
                                   _page(broker))
                if sum(map(int, closed.groups())) == count:
                    break
                expect(time.monotonic() < end, f"{closed.groups()} of {count} were closed")
                for connection in crowd[1:5]:
                    with contextlib.suppress(OSError):
                        connection.sendall(frame[position:position + 1][:len(frame) - 1 - position])
                position += 1
                time.sleep(0.1)
            expect(slowest < 2, f"a good client waited {slowest:.1f} s")
    finally:
        for connection in crowd:
            connection.close()


# ---------------------------------------------------------------- B10: names


_TOPICS = ["", ".", "..", "/", "a/b", "a\\b", "a\0b", "a b", "\u00e9t\u00e9", "\x1b[31m", "a\nb", "x" * 250, "../etc", "%n"]


@case(smoke=True, brokers=("pelton",))
def names_that_are_none(context):
    """Topic names that are no file names: refused, and nothing appears in the data directory; a name that differs
    from another only by dot and underscore is refused too."""
    broker = context.own()
    before = set(os.listdir(broker.data_dir))
    with Connection(broker.port) as connection:
        for name in _TOPICS:
            answer = connection.call("CreateTopics", 7, {"timeoutMs": 5000, "Topics": [
                {"Name": name, "NumPartitions": 1, "ReplicationFactor": 1}]})
            expect_equal(answer["Topics"][0]["ErrorCode"], 17, f"creating {name!r}")
            answer = connection.call("Metadata", 9, {"Topics": [{"Name": name}], "AllowAutoTopicCreation": True})
            expect(answer["Topics"][0]["ErrorCode"] in (3, 17), f"metadata of {name!r}: {answer['Topics'][0]}")
        connection.create_topic("a.b")
        answer = connection.call("CreateTopics", 7, {"timeoutMs": 5000, "Topics": [
            {"Name": "a_b", "NumPartitions": 1, "ReplicationFactor": 1}]})
        expect_equal(answer["Topics"][0]["ErrorCode"], 17, "a_b beside a.b")
    new = {name for name in os.listdir(broker.data_dir) if not name.startswith(".")} - before
    expect_equal(new, {"a.b-0"}, "what is new in the data directory")


@case(smoke=True, brokers=("pelton",))
def names_in_logs_and_metrics(context):
    """Client ids, group ids and members with control bytes, escape sequences and 32 KiB: no such byte reaches the
    log or the metrics page."""
    broker = _measured(context)
    for number, name in enumerate(["\x1b[2J\x07", "a\nE fake line", "\r\0\x7f", "\u202egnirts", "g" * 32_000]):
        with Connection(broker.port, client_id=name) as connection:
            connection.call("Metadata", 12, {"Topics": []})
            _commit(connection, name, number)
            # What is logged: a request that breaks the protocol.
            connection.socket.sendall(wire.request(999, 0, 1, client_id=name))
            expect(wire.closed_by_peer(connection.socket), "an unknown request is answered")
        time.sleep(1.1)  # one line a second
    for what, data in (("log", broker.log_file.read_bytes()), ("metrics", _page(broker))):
        bad = {byte for byte in data if byte < 0x20 and byte != 0x0A or byte >= 0x7F}
        expect_equal(bad, set(), f"control and other bytes in the {what}")
        expect(b"\nE fake line" not in data, f"a line of a client's in the {what}")
    expect(b"kafka_consumergroup_lag" in _page(broker), "no lag")


def _commit(connection, group, offset):
    end = time.monotonic() + 20
    while True:
        connection.call("FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": [group]})
        answer = connection.call("OffsetCommit", 8, {
            "GroupId": group, "GenerationIdOrMemberEpoch": -1, "MemberId": "", "Topics": [
                {"Name": "t", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": offset,
                                              "CommittedMetadata": ""}]}]})
        code = answer["Topics"][0]["Partitions"][0]["ErrorCode"]
        if code not in (14, 15, 16) or time.monotonic() > end:
            return code
        time.sleep(0.05)


# ---------------------------------------------------------------- B11: very many names


def _many_names(context, count, groups):
    broker = _measured(context, {"pelton.groups.max.bytes": 16 * _MIB, "log.flush.interval.messages": 10_000_000,
                                 "offsets.topic.num.partitions": 4})
    with Connection(broker.port) as connection:
        connection.create_topic("t")
        for number in range(2_000):  # what serving needs is there from now on
            _pipeline(connection, [_metadata_frame(number)])
        before = broker.rss_bytes()
        for first in range(0, count, 500):
            _pipeline(connection, [_metadata_frame(first + number) for number in range(500)])
        grown = (broker.rss_bytes() - before) / _MIB
        expect(grown < 8, f"{count} client ids took {grown:.1f} MiB")
        _commit(connection, "first", 0)
        before = broker.rss_bytes()
        codes = {}
        for first in range(0, groups, 250):
            frames = [kafka_codec.encode_request("OffsetCommit", 8, 1, {
                "GroupId": f"group-{first + number:09}", "GenerationIdOrMemberEpoch": -1, "MemberId": "", "Topics": [
                    {"Name": "t", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1,
                                                  "CommittedMetadata": "m" * 100}]}]}) for number in range(250)]
            for answer in _pipeline(connection, frames):
                _, body = kafka_codec.decode_response("OffsetCommit", 8, answer)
                code = body["Topics"][0]["Partitions"][0]["ErrorCode"]
                codes[code] = codes.get(code, 0) + 1
        grown = (broker.rss_bytes() - before) / _MIB
        page = _page(broker)
        context.note(f"{count} client ids, {groups} groups: {codes}, +{grown:.0f} MiB, a metrics page of "
                     f"{len(page) / _MIB:.1f} MiB")
        expect(set(codes) != {0}, f"all of {groups} groups were taken")
        expect(grown < 128, f"{groups} groups took {grown:.0f} MiB")
        series = page.count(b"kafka_consumergroup_lag{")
        expect(series <= 2 * 20_000, f"{series} series of lag")
        for number in range(count // 100):  # producers, each with an id of its own
            connection.send("InitProducerId", 4, {"TransactionalId": None, "TransactionTimeoutMs": 60000,
                                                  "ProducerId": -1, "ProducerEpoch": -1})
            expect_equal(connection.receive()["ErrorCode"], 0, "InitProducerId")
        expect_equal(connection.call("Metadata", 12, {"Topics": []})["ControllerId"], 1, "served afterwards")


def _metadata_frame(number):
    return kafka_codec.encode_request("Metadata", 12, 1, {"Topics": []}, f"client-{number:012}")


def _pipeline(connection, frames):
    connection.socket.sendall(b"".join(frames))
    return [wire.receive(connection.socket) for _ in frames]


@case(brokers=("pelton",))
def many_names(context):
    """20,000 client ids leave nothing behind; groups beyond pelton.groups.max.bytes are refused; the metrics page has
    a bound."""
    _many_names(context, 20_000, 60_000)


@case(long=True, brokers=("pelton",))
def a_million_names(context):
    """The same with a million client ids and 200,000 groups."""
    _many_names(context, 1_000_000, 200_000)
