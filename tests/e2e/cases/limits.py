"""Limits of connections, requests and memory, exactly where they hold."""

import contextlib
import re
import socket
import struct
import threading
import time
import urllib.request

from tests.e2e.case import case, expect, expect_equal
from tests.support import kafka_codec, processes, wire
from tests.support.connection import Connection

_MIB = 1 << 20


@contextlib.contextmanager
def _connections():
    """A list whose sockets are closed in the end."""
    opened = []
    try:
        yield opened
    finally:
        for each in opened:
            each.close()


def _connect(port, source="127.0.0.1"):
    connection = socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(source, 0))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _ask(connection):
    connection.sendall(wire.request(wire.METADATA, 1, 7, struct.pack(">i", 0)))


def _served(connection):
    _ask(connection)
    expect_equal(struct.unpack_from(">i", wire.receive(connection)), (7,), "correlation id")


def _controller_served(connection):
    connection.sendall(wire.request(wire.API_VERSIONS, 0, 7))
    expect_equal(struct.unpack_from(">i", wire.receive(connection)), (7,), "correlation id")


def _waits(connection, seconds=0.7):
    """Whether a request gets neither an answer nor an end in that time."""
    _ask(connection)
    connection.settimeout(seconds)
    try:
        connection.recv(1)
        return False
    except TimeoutError:
        connection.settimeout(20)
        return True


def _closed(connection):
    """Whether the broker closes it, be it asked or not."""
    with contextlib.suppress(OSError):
        _ask(connection)
    return wire.closed_by_peer(connection)


def _retry(action, what, seconds=20):
    """Until it works: a place that is given back is free a moment later."""
    end = time.monotonic() + seconds
    while True:
        try:
            return action()
        except (OSError, AssertionError) as problem:
            expect(time.monotonic() < end, f"{what}: {problem}")
            time.sleep(0.05)


def _metrics(broker):
    """{name: the sum over its samples} and {(name, labels): value}."""
    address = f"http://{broker.overrides['pelton.metrics.listener']}/metrics"
    with urllib.request.urlopen(address, timeout=10) as answer:
        text = answer.read().decode()
    sums, samples = {}, {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = re.match(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line).groups()
        sums[name] = sums.get(name, 0) + float(value)
        samples[(name, labels or "")] = float(value)
    return sums, samples


def _closed_because(broker, reason):
    return sum(value for (name, labels), value in _metrics(broker)[1].items()
               if name == "pelton_connections_closed_total" and f'reason="{reason}"' in labels)


def _measured(context, overrides):
    return context.own(overrides | {"pelton.metrics.listener": f"127.0.0.1:{processes.free_port()}"})


def _alter(connection, changes):
    answer = connection.call("IncrementalAlterConfigs", 1, {"Resources": [
        {"ResourceType": 4, "ResourceName": "1", "Configs": [
            {"Name": name, "ConfigOperation": 0, "Value": value} for name, value in changes.items()]}]})
    expect_equal(answer["Responses"][0]["ErrorCode"], 0, f"altering {changes}")


# ---------------------------------------------------------------- connections


@case(smoke=True)
def per_address(context):
    """max.connections.per.ip and its overrides: so many are served, the next one is closed, and a place that
    was given back serves again."""
    broker = context.own({"max.connections.per.ip": 3, "max.connections.per.ip.overrides": "127.0.0.2:1, ::1:7"})
    time.sleep(0.2)  # the connection that waited for the start is gone
    with _connections() as opened:
        def one_more(source):
            connection = _connect(broker.port, source)
            opened.append(connection)
            return connection
        for _ in range(3):
            _retry(lambda: _served(one_more("127.0.0.1")), "one of three")
        expect(_closed(one_more("127.0.0.1")), "a fourth connection stays")
        _served(one_more("127.0.0.2"))
        expect(_closed(one_more("127.0.0.2")), "a second connection of 127.0.0.2 stays")
        opened[0].close()
        _retry(lambda: _served(one_more("127.0.0.1")), "after one has gone")
        expect(_closed(one_more("127.0.0.1")), "a fourth connection stays after one has gone")


@case(smoke=True)
def in_total(context):
    """max.connections: the next one waits, connected and not answered, until one of the others goes."""
    broker = context.own({"max.connections": 4})
    time.sleep(0.2)
    with _connections() as opened:
        for _ in range(4):
            opened.append(_connect(broker.port))
            _served(opened[-1])
        opened.append(_connect(broker.port))
        expect(_waits(opened[4]), "a fifth connection is answered")
        opened.append(_connect(broker.port))
        expect(_waits(opened[5]), "a sixth connection is answered")
        opened[0].close()
        expect_equal(struct.unpack_from(">i", wire.receive(opened[4])), (7,), "the fifth's correlation id")
        expect(_waits(opened[5]), "a sixth connection is answered beside four")


@case(brokers=("pelton",))
def too_many_wait(context):
    """How many wait for a place is bounded by socket.listen.backlog.size: others are closed. The place and the
    line are told by the metrics, and a clean stop does not wait for those in line."""
    broker = _measured(context, {"max.connections": 1, "socket.listen.backlog.size": 2})
    with _connections() as opened:
        _retry(lambda: _expect_listener(broker, "connections", 0), "the first connection is gone")
        opened.append(_connect(broker.port))
        _served(opened[0])
        opened += [_connect(broker.port) for _ in range(2)]
        for waiting in opened[1:]:
            expect(_waits(waiting, 0.3), "a second connection is answered")
        expect(_closed(_connect(broker.port)), "a third connection waits")
        _expect_listener(broker, "connections", 1)
        _expect_listener(broker, "connections_limit", 1)
        _expect_listener(broker, "connections_waiting", 2)
        expect_equal(_closed_because(broker, "max_connections"), 1, "closed because of max.connections")
        broker.stop()


def _expect_listener(broker, what, wanted):
    expect_equal(_metrics(broker)[1][(f"pelton_listener_{what}", 'listener="PLAINTEXT"')], wanted, what)


@case(brokers=("pelton",))
def by_listener(context):
    """listener.name.<listener>.max.connections holds one listener; inter.broker.listener.name is not held back
    by the broker's own limit when there are several, and what then is too much is closed elsewhere."""
    second = processes.free_port()
    broker = context.own_unstarted()
    broker.start(context.overrides | {
        "listeners": f"PLAINTEXT://127.0.0.1:{broker.port},SECOND://127.0.0.1:{second}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT",
        "listener.name.second.max.connections": 2, "max.connections": 3})
    time.sleep(0.2)
    with _connections() as opened:
        for _ in range(2):
            opened.append(_connect(second))
            _served(opened[-1])
        opened.append(_connect(second))
        expect(_waits(opened[-1]), "a third connection of the second listener is answered")
        opened.append(_connect(broker.port))
        _served(opened[-1])
        # The fourth in all, by the listener that is not held back: the second's oldest has to go.
        opened.append(_connect(broker.port))
        _served(opened[-1])
        expect(wire.closed_by_peer(opened[0]), "nothing was closed for a protected connection")
        _served(opened[1])


@case(brokers=("pelton",))
def controllers_by_themselves(context):
    """max.connections becomes lower while all clients that are too many are protected: the connections of
    the controller's listener, counted by themselves, still become fewer."""
    controller = processes.free_port()
    broker = context.own_unstarted()
    broker.start(context.overrides | {
        "process.roles": "broker,controller", "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}", "max.connections": 3,
        "listeners": f"PLAINTEXT://127.0.0.1:{broker.port},SECOND://127.0.0.1:{processes.free_port()},"
                     f"CONTROLLER://127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT,CONTROLLER:PLAINTEXT"})
    with _connections() as opened, Connection(broker.port) as admin:
        for port, served in ((broker.port, _served), (controller, _controller_served)) * 2:
            opened.append(_connect(port))
            served(opened[-1])
        _alter(admin, {"max.connections": "1"})
        expect(wire.closed_by_peer(opened[1]), "the controller's listener keeps two connections")
        _controller_served(opened[3])
        _served(opened[0])
        _served(opened[2])


@case()
def creation_rate(context):
    """max.connection.creation.rate: beyond what the quota's windows allow at once, connections come in at that
    rate: of fifteen, with five a second and one window before, the last is not there before two seconds."""
    broker = context.own({"max.connection.creation.rate": 5, "quota.window.num": 2})
    time.sleep(2.5)  # the windows of the start are over
    started = time.monotonic()
    with _connections() as opened:
        for _ in range(15):
            opened.append(_connect(broker.port))
            _ask(opened[-1])
        waited = []
        for connection in opened:
            wire.receive(connection)
            waited.append(time.monotonic() - started)
        expect(waited[-1] >= 1.5, f"fifteen connections after {waited[-1]:.1f} s")
        expect(waited[-1] < 15, f"fifteen connections after {waited[-1]:.1f} s")


@case()
def limits_while_it_runs(context):
    """Dynamic: when max.connections becomes lower, connections are closed until there are so many (here those that
    were used least recently), and the next one waits until it becomes higher; max.connections.per.ip holds from
    then on."""
    broker = context.own()
    with Connection(broker.port) as admin, _connections() as opened:
        for _ in range(6):
            opened.append(_connect(broker.port))
            _served(opened[-1])
        _served(opened[0])
        _alter(admin, {"max.connections": "4"})
        # Apache Kafka's threads close each for itself, and may close too much.
        wanted = [0, 4, 5]
        kept = _retry(lambda: _expect_at_most(4, [number for number, each in enumerate(opened) if _is_open(each)]),
                      "down to four")
        if broker.name == "pelton":
            expect_equal(kept, wanted, "connections that were used last")
            _alter(admin, {})  # it counts too
            opened.append(_connect(broker.port))
            expect(_waits(opened[-1]), "a fifth connection is answered")
            _alter(admin, {"max.connections": "5"})
            wire.receive(opened[-1])
    with Connection(broker.port) as admin, _connections() as opened:
        _alter(admin, {"max.connections": "100", "max.connections.per.ip": "4"})
        _retry(lambda: _served_together(broker, 3), "three beside the admin's")
        for _ in range(3):
            _retry(lambda: _served(opened.append(_connect(broker.port)) or opened[-1]), "one of four")
        expect(_closed(_connect(broker.port)), "a fifth connection of the address stays")


def _expect_at_most(most, found):
    expect(len(found) < most, f"{len(found)} connections")
    return found


def _is_open(connection):
    connection.settimeout(0.01)
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False
    finally:
        connection.settimeout(20)


def _served_together(broker, count):
    with _connections() as opened:
        for _ in range(count):
            opened.append(_connect(broker.port))
            _served(opened[-1])


@case()
def idle(context):
    """connections.max.idle.ms: who does nothing is closed, not before; who does something stays."""
    broker = context.own({"connections.max.idle.ms": 2000})
    with _connections() as opened:
        opened += [_connect(broker.port), _connect(broker.port)]
        quiet, busy = opened
        for connection in opened:
            _served(connection)
        started = time.monotonic()
        while time.monotonic() - started < 1.8:
            _served(busy)
            time.sleep(0.2)
        quiet.settimeout(0.001)
        try:
            expect(False, f"closed after {time.monotonic() - started:.1f} s: {quiet.recv(1)}")
        except TimeoutError:
            pass
        end = time.monotonic() + 20
        quiet.settimeout(0.2)
        while True:
            _served(busy)
            try:
                expect_equal(quiet.recv(1), b"", "the idle connection")
                break
            except TimeoutError:
                expect(time.monotonic() < end, "an idle connection stays")
        _served(busy)


# ---------------------------------------------------------------- deadlines


@case(smoke=True, brokers=("pelton",))
def no_first_request(context):
    """pelton.connection.setup.timeout.ms: who sends no request, or a part of one, is closed; who has sent one
    may be silent."""
    broker = _measured(context, {"pelton.connection.setup.timeout.ms": 700})
    with _connections() as opened:
        opened += [_connect(broker.port) for _ in range(3)]
        silent, begun, polite = opened
        _served(polite)
        begun.sendall(wire.request(wire.METADATA, 1, 7, struct.pack(">i", 0))[:9])
        expect(wire.closed_by_peer(silent), "a connection without a request stays")
        expect(wire.closed_by_peer(begun), "a connection with a part of a request stays")
        _served(polite)
        expect_equal(_closed_because(broker, "setup_timeout"), 2, "closed at the deadline")


@case(smoke=True, brokers=("pelton",))
def byte_by_byte(context):
    """pelton.request.receive.timeout.ms: a request that comes byte by byte is cut off, however alive it looks; a
    large one that comes slowly, but comes, is taken."""
    broker = _measured(context, {"pelton.request.receive.timeout.ms": 1500})
    with Connection(broker.port) as good, _connections() as opened:
        topic_id = good.create_topic(context.topic("slow"), configs={"max.message.bytes": 8 * _MIB})
        opened.append(_connect(broker.port))
        _served(opened[0])
        frame = wire.request(wire.METADATA, 1, 7, struct.pack(">i", 0) + bytes(1000))
        started = time.monotonic()
        with contextlib.suppress(OSError):
            for position in range(len(frame)):
                opened[0].sendall(frame[position:position + 1])
                time.sleep(0.05)
                if time.monotonic() - started > 20:
                    break
        expect(wire.closed_by_peer(opened[0], 0.1), "a request of one byte at a time is not cut off")
        expect(time.monotonic() - started >= 1.5, "cut off before its time")
        expect_equal(_closed_because(broker, "receive_timeout"), 1, "closed at the deadline")
        _large_and_slow(broker, topic_id)


def _large_and_slow(broker, topic_id):
    batch = kafka_codec.batch([(b"k", bytes(6 * _MIB))])
    frame = kafka_codec.encode_request("Produce", 13, 1, {"Acks": -1, "TimeoutMs": 10000, "TopicData": [
        {"TopicId": topic_id, "PartitionData": [{"Index": 0, "Records": batch}]}]})
    with _connect(broker.port) as connection:
        started = time.monotonic()
        for position in range(0, len(frame), _MIB):
            connection.sendall(frame[position:position + _MIB])
            time.sleep(0.5)
        _, answer = kafka_codec.decode_response("Produce", 13, wire.receive(connection))
        expect_equal(answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"], 0, "a slow Produce")
        expect(time.monotonic() - started > 2.5, "it came faster than the deadline")


# ---------------------------------------------------------------- requests and memory


@case(smoke=True, brokers=("pelton",))
def in_flight(context):
    """pelton.max.in.flight.requests.per.connection: of ten pipelined fetches so many are worked on, and all
    are answered in the end."""
    broker = _measured(context, {"pelton.max.in.flight.requests.per.connection": 3})
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic(context.topic("in-flight"))
        for _ in range(10):
            _send_waiting_fetch(connection, topic_id, 600)
        _retry(lambda: expect_equal(_metrics(broker)[0]["pelton_requests_in_flight"], 3.0, "in flight"),
               "three in flight", 0.5)
        for _ in range(10):
            expect_equal(connection.receive()["ErrorCode"], 0, "a fetch")
        expect_equal(_metrics(broker)[0]["pelton_requests_in_flight"], 0.0, "in flight afterwards")


def _send_waiting_fetch(connection, topic_id, wait_ms, partitions=1):
    connection.send("Fetch", 17, {
        "MaxWaitMs": wait_ms, "MinBytes": 1, "SessionEpoch": -1, "Topics": [
            {"TopicId": topic_id, "Partitions": [
                {"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1 << 20}] * partitions}]})


@case(smoke=True, brokers=("pelton",))
def answers_nobody_reads(context):
    """A client pipelines thousands of requests with large answers and reads none: what the broker keeps for it
    is bounded by pelton.max.unsent.bytes.per.connection; when it reads, it gets every answer, in order."""
    limit = 256 * 1024
    broker = _measured(context, {"pelton.max.unsent.bytes.per.connection": limit,
                                 "socket.send.buffer.bytes": 65536})
    count = 4000
    with Connection(broker.port) as connection:
        connection.create_topic(context.topic("wide"), 200)
        connection.send("Metadata", 12, {"Topics": None})
        connection.receive()
        before = broker.rss_bytes()
        frames = b"".join(kafka_codec.encode_request("Metadata", 12, number, {"Topics": None})
                          for number in range(count))
        sender = threading.Thread(target=connection.socket.sendall, args=(frames,))
        sender.start()
        kept = []
        for _ in range(10):
            time.sleep(0.1)
            kept.append(_metrics(broker)[0]["pelton_unsent_answer_bytes"])
        grown = (broker.rss_bytes() - before) / _MIB
        _, first = kafka_codec.decode_response("Metadata", 12, wire.receive(connection.socket))
        answer_bytes = len(first["Topics"][0]["Partitions"]) * 30
        expect(limit <= max(kept) + answer_bytes, f"{max(kept)} bytes of answers: the limit was not reached")
        expect(max(kept) < limit + 64 * 1024, f"{max(kept)} bytes of answers beside a limit of {limit}")
        expect(grown < 16, f"resident memory grew by {grown:.0f} MiB")
        for number in range(1, count):
            (correlation,) = struct.unpack_from(">i", wire.receive(connection.socket))
            expect_equal(correlation, number, "correlation id")
        sender.join()


@case(brokers=("pelton",))
def never_reads_at_all(context):
    """Who reads no answer is idle, whatever it sends: closed at connections.max.idle.ms."""
    broker = _measured(context, {"connections.max.idle.ms": 2500, "socket.send.buffer.bytes": 65536})
    with Connection(broker.port) as connection:
        connection.create_topic(context.topic("wide"), 200)
        frame = kafka_codec.encode_request("Metadata", 12, 1, {"Topics": None})
        for _ in range(4000):
            connection.socket.sendall(frame)
        kept, end = 0, time.monotonic() + 30
        while _closed_because(broker, "idle") == 0:
            kept = max(kept, _metrics(broker)[0]["pelton_unsent_answer_bytes"])
            expect(time.monotonic() < end, "who reads nothing is not closed")
            time.sleep(0.05)
        expect(kept > _MIB / 4, f"no more than {kept} bytes of answers were kept")
        sums = _metrics(broker)[0]
        expect_equal((sums["pelton_unsent_answer_bytes"], sums["pelton_requests_in_flight"]), (0, 0), "left over")


@case(brokers=("pelton",))
def request_memory(context):
    """Requests that wait with all of queued.max.request.bytes: a large one more is refused, small ones are
    served one at a time, and when memory is there again the large one too."""
    broker = _measured(context, {"pelton.shards": 1, "queued.max.request.bytes": 4 * _MIB,
                                 "socket.request.max.bytes": 4 * _MIB})
    with Connection(broker.port) as good:
        topic_id = good.create_topic(context.topic("memory"))
        hogs = []
        try:
            while True:
                sums = _metrics(broker)[0]
                used, limit = sums["pelton_request_memory_bytes"], sums["pelton_request_memory_limit_bytes"]
                expect_equal(limit, 4 * _MIB, "the limit")
                if used >= limit:
                    break
                expect(len(hogs) < 100, f"{used} bytes used by {len(hogs)} requests")
                hogs.append(Connection(broker.port))
                _send_waiting_fetch(hogs[-1], topic_id, 60_000, 2_000)
                time.sleep(0.05)
            before = broker.rss_bytes()
            # Many more of them: closed, or taken one by one, when they need little.
            for _ in range(10):
                with Connection(broker.port) as hog:
                    _send_waiting_fetch(hog, topic_id, 60_000, 5_000)
                    expect(wire.closed_by_peer(hog.socket), "a large request is taken though memory is short")
            expect(_closed_because(broker, "memory") >= 10, "closed because of memory")
            expect((broker.rss_bytes() - before) / _MIB < 32, "memory of refused requests stays")
            answer = good.produce(topic_id, 0, kafka_codec.batch([(b"k", b"v")]))  # which ends the waits too
            expect_equal(answer["ErrorCode"], 0, "a small request while memory is short")
        finally:
            for hog in hogs:
                hog.close()
        _retry(lambda: expect(_metrics(broker)[0]["pelton_request_memory_bytes"] < _MIB, "memory is still used"),
               "memory comes back")
        _send_waiting_fetch(good, topic_id, 0, 5_000)
        expect_equal(good.receive()["ErrorCode"], 0, "a large request when memory is there again")


def _send_large(broker, frame, quick, pause, ended):
    """Sends the frame in pieces, those behind the first `quick` bytes with a pause; notes how it ended."""
    try:
        with contextlib.closing(wire.connect(broker.port, 60)) as client:
            for at in range(0, len(frame), _MIB):
                client.sendall(frame[at:at + _MIB])
                time.sleep(0.005 if at < quick else pause)
            wire.receive(client)
            ended.append("answered")
    except (OSError, AssertionError):
        ended.append("closed")


def _large_frame(topic_id):
    """A Produce request of nearly 60 MiB, which is refused when it is here."""
    return kafka_codec.encode_request("Produce", 13, 1, {"Acks": -1, "TimeoutMs": 10000, "TopicData": [
        {"TopicId": topic_id, "PartitionData": [{"Index": 0, "Records": bytes(60 * _MIB - 200)}]}]}, "large")


def _sending_large(broker, frame, count, quick, pause, ended):
    clients = [threading.Thread(target=_send_large, args=(broker, frame, quick, pause, ended))
               for _ in range(count)]
    for each in clients:
        each.start()
    return clients


_LARGE = {"pelton.shards": 1, "socket.request.max.bytes": 60 * _MIB, "queued.max.request.bytes": 96 * _MIB}


@case(brokers=("pelton",))
def large_frames(context):
    """Clients send 60 MiB each, together more than the memory for frames: every one is answered. Meanwhile
    producers of small batches are served, and consumers whose data has to be read to be sent."""
    broker = _measured(context, _LARGE | {"pelton.fetch.send.path": "copy"})
    small = kafka_codec.batch([(b"k", b"v" * 300_000)])
    with Connection(broker.port) as good:
        topic_id = good.create_topic(context.topic("large"))
        expect_equal(good.produce(topic_id, 0, small)["ErrorCode"], 0, "before")
        ended, rounds = [], 0
        clients = _sending_large(broker, _large_frame(topic_id), 4, 60 * _MIB, 0, ended)
        while any(each.is_alive() for each in clients):
            expect_equal(good.produce(topic_id, 0, small)["ErrorCode"], 0, f"produce {rounds}")
            expect(len(good.fetch(topic_id, 0, 0)["Records"]) > 300_000, f"fetch {rounds}")
            rounds += 1
        expect_equal(ended, ["answered"] * 4, "the large requests")
        expect(rounds > 3, f"only {rounds} small requests meanwhile")
    _retry(lambda: expect_equal(_metrics(broker)[0]["pelton_buffer_bytes"], 0, "in use"), "memory comes back")


@case(brokers=("pelton",))
def waits_for_memory_for_ever(context):
    """A client that goes on slowly has the memory that others wait for with half a request: they are closed, and
    it is answered."""
    broker = _measured(context, _LARGE | {"pelton.request.receive.timeout.ms": 1000,
                                          "pelton.connection.setup.timeout.ms": 1000})
    with Connection(broker.port) as good:
        topic_id = good.create_topic(context.topic("large"))
        ended = []
        for each in _sending_large(broker, _large_frame(topic_id), 4, 40 * _MIB, 0.25, ended):
            each.join()
        expect("answered" in ended and "closed" in ended, f"the large requests: {ended}")
        expect_equal(_closed_because(broker, "memory"), ended.count("closed"), "closed because of memory")
        answer = good.produce(topic_id, 0, kafka_codec.batch([(b"k", b"v" * 300_000)]))
        expect_equal(answer["ErrorCode"], 0, "afterwards")
