"""Several listeners: names, addresses, what clients are told; the controller's listener."""

import re
import socket

from tests.e2e.case import Skip, case, expect, expect_equal
from tests.support import brokers, kafka_tools, processes
from tests.support.connection import Connection


def _told(port, host="127.0.0.1"):
    """Where a client that dials this address is told to go."""
    with Connection(port, host=host) as connection:
        answer = connection.call("Metadata", 12, {"Topics": []})
        return [(row["Host"], row["Port"]) for row in answer["Brokers"]]


@case(smoke=True, brokers=("pelton",))
def each_client_its_own(context):
    """Every listener tells its own advertised address, or the one that was dialled."""
    first, second, third = processes.free_port(), processes.free_port(), processes.free_port()
    broker = context.own_unstarted()
    broker.port = first
    broker.start({
        "listeners": f"IN://127.0.0.1:{first},OUT://0.0.0.0:{second},PORT://127.0.0.1:{third}",
        "advertised.listeners": f"OUT://broker.example:19092,PORT://:{first}",
        "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT,PORT:PLAINTEXT"})
    expect_equal(_told(first), [("127.0.0.1", first)], "without an advertised address")
    expect_equal(_told(second), [("broker.example", 19092)], "with one")
    expect_equal(_told(third), [("127.0.0.1", first)], "with a port alone")


@case(smoke=True, brokers=("pelton",))
def wildcards_and_ipv6(context):
    """An empty host takes IPv4 and IPv6; 0.0.0.0 takes IPv4 alone; a name is looked up."""
    try:
        socket.socket(socket.AF_INET6).bind(("::1", 0))
    except OSError:
        raise Skip("no IPv6 here") from None
    both, four, six, named = (processes.free_port() for _ in range(4))
    broker = context.own_unstarted()
    broker.port = both
    broker.start({
        "listeners": f"BOTH://:{both},FOUR://0.0.0.0:{four},SIX://[::1]:{six},NAMED://{socket.gethostname()}:{named}",
        "listener.security.protocol.map": "BOTH:PLAINTEXT,FOUR:PLAINTEXT,SIX:PLAINTEXT,NAMED:PLAINTEXT"})
    expect_equal(_told(both), [("127.0.0.1", both)], "IPv4 at an empty host")
    expect_equal(_told(both, "::1"), [("::1", both)], "IPv6 at an empty host")
    expect_equal(_told(four), [("127.0.0.1", four)], "0.0.0.0")
    expect_equal(_told(six, "::1"), [("::1", six)], "[::1]")
    address = socket.gethostbyname(socket.gethostname())
    expect_equal(_told(named, address), [(address, named)], "by name")
    for host, port in (("::1", four), ("127.0.0.1", six)):
        try:
            socket.create_connection((host, port)).close()
        except OSError:
            continue
        raise AssertionError(f"{host} is taken at port {port}")
    client = kafka_tools.run("kafka-topics", "--bootstrap-server", f"[::1]:{both}", "--list")
    expect_equal(client.returncode, 0, "a client over IPv6")


@case(brokers=("pelton",))
def mistakes(context):
    """What cannot work is said in one sentence; what will probably not work is one warning."""
    for setting, text in (
            ("listeners=PLAINTEXT://no.such.host.invalid:9092", "no address of no.such.host.invalid is known"),
            ("advertised.listeners=PLAINTEXT://0.0.0.0:9092", "clients cannot connect to that address"),
            ("advertised.listeners=OTHER://host:9092", "OTHER is not among the listeners")):
        done = processes.run([brokers.pelton_binary(), "--override", f"log.dirs={context.folder('data')}",
                              "--override", setting], check=False, timeout=20)
        expect(done.returncode != 0 and text in done.stdout + done.stderr,
               f"{setting}: {done.returncode} {done.stdout} {done.stderr}")
    broker = context.own_unstarted()
    broker.start({"listeners": f"PLAINTEXT://:{broker.port}",
                  "advertised.listeners": f"PLAINTEXT://localhost:{broker.port}"})
    warnings = [line for line in broker.log_file.read_text().splitlines() if "connect to themselves" in line]
    expect_equal(len(warnings), 1, f"warnings of the loopback address: {warnings}")


def _controller(context):
    """The broker and the port of its controller's listener."""
    broker = context.own_unstarted()
    if context.kind == "kafka":
        return broker.start(), broker.controller_port
    port = processes.free_port()
    broker.start({"listeners": f"PLAINTEXT://127.0.0.1:{broker.port},CONTROLLER://127.0.0.1:{port}",
                  "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                  "controller.listener.names": "CONTROLLER"})
    return broker, port


@case()
def controller(context):
    """--bootstrap-controller: configs, features, quorum, cluster; a client for brokers is sent away."""
    broker, port = _controller(context)
    bootstrap = ("--bootstrap-controller", f"127.0.0.1:{port}")

    def tool(name, *arguments, at=bootstrap):
        return kafka_tools.run(name, *at, *arguments).stdout

    one = ("--entity-type", "brokers", "--entity-name", "1")
    tool("kafka-configs", *one, "--alter", "--add-config", "log.retention.ms=123456")
    expect("log.retention.ms=123456" in tool("kafka-configs", *one, "--describe"), "not altered")
    tool("kafka-configs", *one, "--alter", "--delete-config", "log.retention.ms")
    tool("kafka-configs", "--entity-type", "brokers", "--entity-default", "--describe")
    features = tool("kafka-features", "describe")
    expect(re.search(r"metadata.version\s.*FinalizedVersionLevel: 4.4-IV\d", features), features)
    for at in (bootstrap, ("--bootstrap-server", broker.bootstrap)):
        status = tool("kafka-metadata-quorum", "describe", "--status", at=at)
        expect(re.search(r"LeaderId:\s+1\n", status) and re.search(r"MaxFollowerLag:\s+0\n", status), status)
        expect(f"CONTROLLER://127.0.0.1:{port}" in status, status)
        replication = tool("kafka-metadata-quorum", "describe", "--replication", at=at)
        expect(re.search(r"^1\s+\S+\s+\d+\s+0\s+\d+\s+\d+\s+Leader", replication, re.M), replication)
    identity = kafka_tools.run("kafka-cluster", "cluster-id", *bootstrap).stdout
    expect(re.search(r"Cluster ID: \S{22}", identity), identity)
    endpoints = kafka_tools.run("kafka-cluster", "list-endpoints", *bootstrap).stdout
    expect(re.search(rf"1\s+127\.0\.0\.1\s+{port}\b.*controller", endpoints), endpoints)
    astray = kafka_tools.run("kafka-cluster", "list-endpoints", "--bootstrap-controller", broker.bootstrap,
                             check=False)
    expect("MismatchedEndpointType" in astray.stdout + astray.stderr, astray.stdout + astray.stderr)
