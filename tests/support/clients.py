"""The clients of the end-to-end tests, by name. What has to be built or installed lands in the cache at
the first use, once per version of its sources."""

from tests.e2e import records
from tests.support import installs, java_clients
from tests.support.client import CODECS, Client, Program
from tests.support.kcat import Kcat

__all__ = ["ALL", "CODECS", "Client"]

_JAVA_SINCE_2_1 = "the Java client has it since 2.1"


def _java(name, version, **traits):
    return Program(name, lambda bootstrap: java_clients.command(
        "JavaClient.java", "pom.xml", version, bootstrap), **traits)


def _python(name, requirements, script, **traits):
    return Program(name, lambda bootstrap: installs.python_command(requirements, script, bootstrap), **traits)


def _go(name, **traits):
    return Program(name, lambda bootstrap: [installs.go_binaries() / name, bootstrap], **traits)


def _rust(name, **traits):
    return Program(name, lambda bootstrap: [installs.rust_binaries() / name, bootstrap], long=True, **traits)


def _node(name, **traits):
    return Program(name, lambda bootstrap: ["node", installs.node_programs() / f"{name}.js", bootstrap],
                   **traits)


_CLIENTS = (
    Program("java", lambda bootstrap: java_clients.reference_command("JavaClient.java", bootstrap)),
    _java("java_3_9", "3.9.2"),
    _java("java_2_8", "2.8.2"),
    _java("java_2_1", "2.1.1", long=True),
    _java("java_1_1", "1.1.1", long=True, missing={"zstd": _JAVA_SINCE_2_1}),
    Program("spring", lambda bootstrap: java_clients.command(
        "SpringClient.java", "spring_pom.xml", "4.1.2", bootstrap), long=True),
    _java("java_0_11", "0.11.0.3", missing={"zstd": _JAVA_SINCE_2_1}),
    _python("confluent", "confluent.txt", "confluent_client.py"),
    _python("aiokafka", "aiokafka.txt", "aiokafka_client.py",
            unable=[records.NULL_RECORD]),
    _python("kafka_python", "kafka_python_3.txt", "kafka_python_client.py",
            unable=[records.NULL_HEADER, records.NULL_RECORD]),
    _python("kafka_python_2", "kafka_python_2.txt", "kafka_python_client.py",
            unable=[records.NULL_HEADER, records.NULL_RECORD]),
    Kcat(),
    _node("kafkajs", headers="grouped", unable=[records.NULL_HEADER]),
    _node("platformatic", missing={"zstd": "its codec is Node's own, which came with Node 22.15"},
          unreadable={"snappy": "its decoder does not know the framing that Java and others put around it"}),
    Program("node_rdkafka", lambda bootstrap: [
        "node", installs.node_programs("node_rdkafka") / "node_rdkafka.js", bootstrap], long=True,
        tells_empty_from_null=False,
        unable=[records.NULL_HEADER, records.BINARY_HEADER, records.EMPTY_FIELD]),
    _rust("rdkafka"),
    _rust("rskafka", groups=False, reads_null_headers=False, headers="map",
          unable=[records.NULL_HEADER]),
    _go("franz"),
    _go("sarama"),
    _go("kafka_go", tells_empty_from_null=False),
)
ALL = {client.name: client for client in _CLIENTS}
