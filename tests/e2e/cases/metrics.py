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
    with Connection(broker.port) as connection:  # nobody else is any worse off
        connection.call("Metadata", 12, {"Topics": []})
    for each in slow:  # those beyond the places at once, the others at their deadline
        expect_equal(each.recv(1), b"", "a connection that says nothing")
        each.close()
    expect_equal(_get(port, "/health")[0], 200, "afterwards")


@case(brokers=("pelton",))
def a_port_that_is_taken(context):
    """Of the default's nobody asked for: a warning. A given one must be had: the start fails."""
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
