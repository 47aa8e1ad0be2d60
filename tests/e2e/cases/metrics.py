"""The metrics listener: what a scraper, a probe and somebody with bad manners get from it."""

import re
import socket
import time
import urllib.error
import urllib.request

from tests.e2e.case import case, expect, expect_equal
from tests.support import kafka_codec, processes
from tests.support.connection import Connection

_SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|\+Inf|NaN)$")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')


@case(smoke=True, brokers=("pelton",))
def scrape(context):
    """Every line parses, families are declared once before their samples, counters count, lag is right."""
    broker, port = _broker(context)
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic("measured", 2)
        connection.produce(topic_id, 1, kafka_codec.batch([(b"k", b"v")] * 10))
        _commit(connection, 'group "of\n\\ sorts', "measured", 1, 4)
        first = _scrape(port)
        for _ in range(5):
            connection.call("Metadata", 12, {"Topics": []})
        second = _scrape(port)
    metadata = ("kafka_requests_total", (("request", "Metadata"),))
    expect_equal(second[metadata] - first[metadata], 5.0, "Metadata requests between two scrapes")
    part = (("partition", "1"), ("topic", "measured"))
    expect_equal(first[("kafka_log_end_offset", part)], 10.0, "log end offset")
    expect_equal(first[("kafka_high_watermark", part)], 10.0, "high watermark")
    lag = ("kafka_consumergroup_lag", (("group", 'group \\"of\\n\\\\ sorts'), *part))
    expect_equal(first[lag], 6.0, "lag")
    total = ("kafka_request_seconds_count", (("request", "Produce"), ("stage", "total")))
    expect_equal(first[total], 1.0, "measured Produce requests")


@case(brokers=("pelton",))
def probes_and_refusals(context):
    """Probes; other methods and paths; more connections than there are places, all of them slow."""
    broker, port = _broker(context)
    for path in ("/health", "/ready"):
        expect_equal(_get(port, path), (200, "ok\n"), path)
    expect_equal(_get(port, "/nothing")[0], 404, "an unknown path")
    expect_equal(_raw(port, b"POST /metrics HTTP/1.1\r\n\r\n")[:12], b"HTTP/1.1 405", "POST")
    expect_equal(_raw(port, b"\x16\x03\x01\x02\x00\r\n\r\n")[:12], b"HTTP/1.1 400", "a TLS hello")
    expect_equal(_raw(port, b"a" * 5000)[:12], b"HTTP/1.1 431", "a head without an end")
    slow = [socket.create_connection(("127.0.0.1", port), timeout=15) for _ in range(40)]
    expect_equal(_get(port, "/health")[0], 200, "a probe beside more idle clients than there are places")
    with Connection(broker.port) as connection:  # nobody else is any worse off
        connection.call("Metadata", 12, {"Topics": []})
    for each in slow:  # those who made room at once, the others at their deadline
        expect_equal(each.recv(1), b"", "a connection that says nothing")
        each.close()
    expect_equal(_get(port, "/health")[0], 200, "afterwards")


@case(brokers=("pelton",))
def a_port_that_is_taken(context):
    """A port for metrics that was asked for must be had: the start fails."""
    _, port = _broker(context)
    other = context.own()
    other.stop()
    try:
        other.start({"pelton.metrics.listener": f"127.0.0.1:{port}"})
    except Exception:
        text = other.log_file.read_text()
        expect("pelton.metrics.listener" in text, text[-500:])
    else:
        raise AssertionError("a broker started though its metrics port is taken")


@case(brokers=("pelton",))
def the_default_port_is_taken(context):
    """Brokers beside each other, none told a port for its metrics: every one starts and serves clients, and who has
    not got the port says so in one line that names the key. An empty value asks for none and says nothing."""
    taken = socket.socket()
    try:
        taken.bind(("127.0.0.1", 9404))
        taken.listen()
    except OSError:
        pass  # it is taken already
    with taken:
        broker = context.own()
        with Connection(broker.port) as connection:
            connection.create_topic("beside")
        lines = [line for line in broker.log_file.read_text().splitlines() if "etrics" in line]
        expect_equal(len(lines), 1, f"lines about metrics: {lines}")
        for part in (" W Metrics are not served", "127.0.0.1:9404", "pelton.metrics.listener"):
            expect(part in lines[0], lines[0])
        silent = context.own({"pelton.metrics.listener": ""})
        expect("etrics" not in silent.log_file.read_text(), silent.log_file.read_text())


@case(smoke=True, brokers=("pelton",))
def waits_and_syncs(context):
    """A fetch that waits is counted while it waits; every sync is in the histogram of its kind."""
    broker, port = _broker(context)
    with Connection(broker.port) as connection, Connection(broker.port) as waiting:
        topic_id = connection.create_topic("synced")
        waiting.send("Fetch", 17, {"MaxWaitMs": 60000, "MinBytes": 1, "SessionEpoch": -1, "Topics": [
            {"TopicId": topic_id, "Partitions": [{"Partition": 0, "FetchOffset": 0, "PartitionMaxBytes": 1 << 20}]}]})
        deadline = time.monotonic() + 20
        while _sum(_scrape(port), "kafka_delayed_fetches") != 1:
            expect(time.monotonic() < deadline, "no fetch waits")
            time.sleep(0.02)
        for _ in range(3):
            expect_equal(connection.produce(topic_id, 0, kafka_codec.batch([(b"k", b"v")]))["ErrorCode"], 0, "produce")
        expect_equal(waiting.receive()["ErrorCode"], 0, "the fetch")
        samples = _scrape(port)
    expect_equal(_sum(samples, "kafka_delayed_fetches"), 0, "fetches that wait, afterwards")
    for covers, counter in (("file", "kafka_log_flushes_total"), ("file_system", "pelton_file_system_syncs_total")):
        counted = samples[("kafka_log_flush_seconds_count", (("covers", covers),))]
        begun = _sum(samples, counter)
        expect(begun - 2 <= counted <= begun, f"{counted} times of {begun} syncs, {covers}")
    expect(_sum(samples, "kafka_log_flushes_total") >= 2, "hardly any sync of a file")
    expect(_sum(samples, "kafka_log_flush_seconds_sum") > 0, "syncs took no time")


def _sum(samples, name):
    return sum(value for (each, _), value in samples.items() if each == name)


def _broker(context):
    port = processes.free_port()
    return context.own({"pelton.metrics.listener": f"127.0.0.1:{port}"}), port


def _get(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def _raw(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(data)
        return connection.recv(4096)


def _scrape(port):
    """{(name, sorted labels): value}; fails on a line that is not of the format."""
    status, text = _get(port, "/metrics")
    expect_equal(status, 200, "status")
    samples, declared = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            expect(family not in declared, f"{family} is declared twice")
            declared[family] = kind
            current = family
            continue
        if line.startswith("# HELP "):
            continue
        match = _SAMPLE.match(line)
        expect(match, f"not a sample: {line!r}")
        name, labels, value = match.groups()
        expect(name == current or re.fullmatch(current + "_(bucket|sum|count)", name),
               f"{name} stands among the samples of {current}")
        pairs = tuple(sorted(_LABEL.findall(labels or "")))
        expect_equal(",".join(f'{k}="{v}"' for k, v in _LABEL.findall(labels or "")), labels or "", "labels")
        expect((name, pairs) not in samples, f"twice: {line}")
        samples[(name, pairs)] = float(value)
    return samples


def _commit(connection, group, topic, partition, offset):
    request = {"GroupId": group, "GenerationIdOrMemberEpoch": -1, "MemberId": "",
               "Topics": [{"Name": topic, "Partitions": [
                   {"PartitionIndex": partition, "CommittedOffset": offset, "CommittedLeaderEpoch": -1,
                    "CommittedMetadata": ""}]}]}
    deadline = time.monotonic() + 20
    while True:
        connection.call("FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": [group]})
        answer = connection.call("OffsetCommit", 9, request)
        code = answer["Topics"][0]["Partitions"][0]["ErrorCode"]
        if code == 0:
            return
        expect(code in (14, 15, 16) and time.monotonic() < deadline, f"OffsetCommit: error {code}")
        time.sleep(0.1)
