"""Changes of configuration: which value holds, what is told of it, when it acts, that it outlives the broker."""

import re
import time

from tests.e2e.case import case, expect, expect_equal
from tests.support import kafka_codec, kafka_tools
from tests.support.connection import Connection

_ONE = ("--entity-type", "brokers", "--entity-name", "1")
_ALL = ("--entity-type", "brokers", "--entity-default")


def configs(broker, *arguments):
    done = kafka_tools.run("kafka-configs", "--bootstrap-server", broker.bootstrap, *arguments)
    noise = [line for line in done.stderr.splitlines() if re.search(r"\b(ERROR|FATAL|Exception)\b", line)]
    expect(not noise, f"kafka-configs {arguments} complained: {noise[:5]}")
    return done.stdout


def refused(broker, text, *arguments):
    done = kafka_tools.run("kafka-configs", "--bootstrap-server", broker.bootstrap, *arguments, check=False)
    expect(done.returncode != 0 and text in done.stdout + done.stderr,
           f"{arguments}: {done.returncode} {done.stdout} {done.stderr}")


def described(text):
    """Lines `  key=value sensitive=... synonyms={...}` as key -> (value, synonyms)."""
    return {key: (value, synonyms) for key, value, synonyms in
            re.findall(r"^  (\S+?)=(.*) sensitive=\w+ synonyms=\{(.*)\}$", text, re.M)}


@case()
def brokers(context):
    """One broker and all brokers: precedence, synonyms, read-only keys, secrets."""
    broker = context.shared()
    try:
        configs(broker, *_ONE, "--alter", "--add-config", "log.retention.ms=7000,log.cleaner.threads=2")
        configs(broker, *_ALL, "--alter", "--add-config", "log.retention.ms=8000,message.max.bytes=2000000")
        rows = described(configs(broker, *_ONE, "--describe"))
        expect_equal({key: value for key, (value, _) in rows.items()},
                     {"log.retention.ms": "7000", "log.cleaner.threads": "2"}, "values of one broker")
        expect(rows["log.retention.ms"][1].startswith(
            "DYNAMIC_BROKER_CONFIG:log.retention.ms=7000, DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=8000"),
               rows["log.retention.ms"])
        rows = described(configs(broker, *_ALL, "--describe"))
        expect_equal((rows["log.retention.ms"][0], rows["message.max.bytes"][0]), ("8000", "2000000"), "defaults")
        every = described(configs(broker, *_ONE, "--describe", "--all"))
        expect(len(every) > 300 and every["node.id"][0] == "1", len(every))
        expect_equal(every["message.max.bytes"][0], "2000000", "a value of all brokers, at one")
        configs(broker, *_ONE, "--alter", "--add-config", "listener.name.plaintext.ssl.key.password=hunter2")
        expect("hunter2" not in configs(broker, *_ONE, "--describe", "--all"), "a secret is told")
        refused(broker, "InvalidRequestException", *_ONE, "--alter", "--add-config", "num.partitions=5")
        refused(broker, "InvalidRequestException", *_ALL, "--alter", "--add-config", "log.segment.bytes=1")
    finally:
        configs(broker, *_ONE, "--alter", "--delete-config",
                "log.retention.ms,log.cleaner.threads,listener.name.plaintext.ssl.key.password")
        configs(broker, *_ALL, "--alter", "--delete-config", "log.retention.ms,message.max.bytes")
    rows = described(configs(broker, *_ONE, "--describe"))
    expect(not {"log.retention.ms", "message.max.bytes", "log.cleaner.threads"} & set(rows), rows)


@case()
def groups_metrics_and_loggers(context):
    """Groups, client metrics subscriptions and log levels."""
    broker, name = context.shared(), context.topic("entity")
    for kind, key, value in (("groups", "consumer.session.timeout.ms", "50000"),
                             ("client-metrics", "interval.ms", "12345")):
        entity = ("--entity-type", kind, "--entity-name", name)
        configs(broker, *entity, "--alter", "--add-config", f"{key}={value}")
        expect_equal(described(configs(broker, *entity, "--describe"))[key][0], value, kind)
        configs(broker, *entity, "--alter", "--delete-config", key)
        expect(value not in configs(broker, *entity, "--describe"), f"{kind}: still there")
    configs(broker, "--entity-type", "client-metrics", "--entity-name", name, "--alter", "--add-config",
            "metrics=[org.apache.kafka.consumer.,org.apache.kafka.producer.],match=[client_id=a.*]")
    listed = configs(broker, "--entity-type", "client-metrics", "--describe")
    expect(name in listed and "org.apache.kafka.consumer." in listed, listed)
    refused(broker, "InvalidRequestException", "--entity-type", "client-metrics", "--entity-name", name,
            "--alter", "--add-config", "interval.ms=1")
    loggers = ("--entity-type", "broker-loggers", "--entity-name", "1")
    before = described(configs(broker, *loggers, "--describe"))["root"][0]
    configs(broker, *loggers, "--alter", "--add-config", "root=ERROR")
    expect_equal(described(configs(broker, *loggers, "--describe"))["root"][0], "ERROR", "level of root")
    configs(broker, *loggers, "--alter", "--add-config", f"root={before}")
    refused(broker, "InvalidConfigurationException", *loggers, "--alter", "--add-config", "root=LOUD")


def _alter(connection, kind, name, values):
    answer = connection.call("IncrementalAlterConfigs", 1, {"Resources": [
        {"ResourceType": kind, "ResourceName": name, "Configs": [
            {"Name": key, "ConfigOperation": 0, "Value": value} for key, value in values.items()]}]})
    expect_equal([row["ErrorCode"] for row in answer["Responses"]], [0], f"alter {name}")


def _value(connection, kind, name, key):
    answer = connection.call("DescribeConfigs", 4, {"Resources": [
        {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": [key]}]})
    return [row["Value"] for row in answer["Results"][0]["Configs"]]


@case(smoke=True, brokers=("pelton",))
def after_a_restart(context):
    """What was answered is there after a stop and after kill -9."""
    broker = context.own()
    with Connection(broker.port) as connection:
        connection.create_topic("kept", 2)
        _alter(connection, 2, "kept", {"segment.bytes": "2000000"})
        _alter(connection, 4, "", {"log.retention.ms": "77000"})
        _alter(connection, 4, "1", {"message.max.bytes": "3000000"})
        _alter(connection, 32, "g", {"share.isolation.level": "read_committed"})
    for end in (broker.stop, broker.kill9):
        end()
        broker.start()
        with Connection(broker.port) as connection:
            for kind, name, key, value in (
                    (2, "kept", "segment.bytes", "2000000"), (2, "kept", "retention.ms", "77000"),
                    (2, "kept", "max.message.bytes", "3000000"), (4, "1", "log.retention.ms", "77000"),
                    (32, "g", "share.isolation.level", "read_committed")):
                expect_equal(_value(connection, kind, name, key), [value], f"{name} {key}")


@case(smoke=True)
def at_once(context):
    """A smaller max.message.bytes, of the topic or of all brokers, is in force when the change is answered, or
    soon after; segments roll at a smaller segment.bytes."""
    broker = context.own({"log.segment.bytes": "100000000"})
    batch = kafka_codec.batch([(None, b"x" * 3000)])
    with Connection(broker.port) as connection:
        connection.create_topic("limited", 1)

        def produce():
            answer = connection.call("Produce", 9, {"Acks": -1, "TimeoutMs": 10000, "TopicData": [
                {"Name": "limited", "PartitionData": [{"Index": 0, "Records": batch}]}]})
            return answer["Responses"][0]["PartitionResponses"][0]["ErrorCode"]

        def wait_for(error):
            end = time.monotonic() + 10
            while produce() != error:
                expect(time.monotonic() < end, f"no error {error}")
                time.sleep(0.05)

        expect_equal(produce(), 0, "before the change")
        _alter(connection, 4, "", {"message.max.bytes": "2000"})
        wait_for(10)
        _alter(connection, 2, "limited", {"max.message.bytes": "5000", "segment.bytes": "1048576"})
        wait_for(0)
        for _ in range(800):
            expect_equal(produce(), 0, "with the topic's own limit")
    segments = sorted(broker.partition_dirs("limited")[0].glob("*.log"))
    expect(len(segments) >= 2, f"segments: {segments}")

