"""Snapshots of the metadata log: Apache Kafka's tool reads them, Apache Kafka itself starts from them, so does
Pelton, also after a crash; what they replace is deleted."""

import re
import time

from tests.e2e.case import case, expect, expect_equal
from tests.support import kafka_tools
from tests.support.connection import Connection

_SMALL = {"metadata.log.max.record.bytes.between.snapshots": 4000, "internal.metadata.log.segment.bytes": 8192,
          "metadata.max.retention.bytes": 20000, "internal.metadata.delete.delay.millis": 0}


def _metadata(broker):
    return broker.data_dir / "__cluster_metadata-0"


def _names(broker, suffix):
    return sorted(path.name for path in _metadata(broker).glob(f"*{suffix}"))


def _create(connection, first, end):
    """Topics, every third of them deleted again, and configurations."""
    kept = []
    for number in range(first, end):
        name = f"topic-{number}"
        connection.create_topic(name, 3, {"retention.ms": str(1000 + number)})
        if number % 3 == 0:
            connection.call("DeleteTopics", 3, {"TopicNames": [name], "TimeoutMs": 10000})
        else:
            kept.append(name)
    return kept


def _told(connection, names):
    answer = connection.call("Metadata", 12, {"Topics": None})
    topics = {row["Name"]: (row["TopicId"], len(row["Partitions"])) for row in answer["Topics"]}
    configs = connection.call("DescribeConfigs", 4, {"Resources": [
        {"ResourceType": 2, "ResourceName": name, "ConfigurationKeys": ["retention.ms"]} for name in names]})
    values = [row["Configs"][0]["Value"] for row in configs["Results"]]
    return {name: (*topics[name], value) for name, value in zip(names, values)}


def _filled(context, overrides):
    """A broker whose snapshots have replaced the beginning of the log; the topics it has."""
    broker = context.own(overrides)
    with Connection(broker.port) as connection:
        names = _create(connection, 0, 90)
        connection.call("IncrementalAlterConfigs", 1, {"Resources": [
            {"ResourceType": 4, "ResourceName": "", "Configs": [
                {"Name": "log.retention.ms", "ConfigOperation": 0, "Value": "98765"}]}]})
        names += _create(connection, 90, 100)
        told = _told(connection, names)
    end = time.monotonic() + 10
    while "00000000000000000000.log" in _names(broker, ".log"):
        expect(time.monotonic() < end, f"the log's first segment stays: {_names(broker, '')}")
        time.sleep(0.05)
    return broker, told


@case(smoke=True, brokers=("pelton",))
def after_a_crash(context):
    """Snapshot and the rest of the log say what was answered, after a stop and after kill -9."""
    broker, told = _filled(context, _SMALL)
    expect(len(_names(broker, ".checkpoint")) <= 6, f"{_names(broker, '.checkpoint')}")
    for turn, end in enumerate((broker.kill9, broker.stop, broker.kill9)):
        end()
        (_metadata(broker) / "00000000000000009999-0000000001.checkpoint.part").write_bytes(b"torn")
        broker.start()
        expect_equal(_names(broker, ".part"), [], "unfinished snapshots after the start")
        with Connection(broker.port) as connection:
            expect_equal(_told(connection, list(told)), told, f"after {end.__name__}")
            told.update(_told(connection, _create(connection, 100 + 10 * turn, 110 + 10 * turn)))


@case(brokers=("pelton",))
def read_by_apache_kafka(context):
    """kafka-dump-log decodes the snapshots, and Apache Kafka starts from the newest one and the log behind it."""
    broker, told = _filled(context, _SMALL)
    broker.stop()
    files = [_metadata(broker) / name for name in _names(broker, ".checkpoint") + _names(broker, ".log")]
    text = kafka_tools.run("kafka-dump-log", "--cluster-metadata-decoder", "--files",
                           ",".join(map(str, files))).stdout
    newest = text.split("Dumping ")[len(_names(broker, ".checkpoint"))]
    expect(re.search(r"SnapshotHeader \{.version.:0,.lastContainedLogTimestamp.:\d{13}\}", newest), newest[:500])
    expect("SnapshotFooter" in newest and '"type":"FEATURE_LEVEL_RECORD"' in newest, newest[-500:])
    expect(re.search(r'"PARTITION_RECORD","version":2,', newest), "no partitions in the snapshot")
    expect("isvalid: false" not in text, "a batch is not valid")

    kafka = context.own_unstarted("kafka")
    kafka.start(data_dir=broker.data_dir)
    with Connection(kafka.port) as connection:
        end = time.monotonic() + 30
        while True:
            answer = connection.call("Metadata", 12, {"Topics": None})
            if len(answer["Topics"]) >= len(told) or time.monotonic() > end:
                break
            time.sleep(0.2)
        expect_equal(_told(connection, list(told)), told, "told by Apache Kafka")
        more = _create(connection, 200, 204)
        told.update(_told(connection, more))
    kafka.stop()
    broker.start()
    with Connection(broker.port) as connection:
        expect_equal(_told(connection, list(told)), told, "told by Pelton after Apache Kafka")
        answer = connection.call("DescribeConfigs", 4, {"Resources": [
            {"ResourceType": 4, "ResourceName": "1", "ConfigurationKeys": ["log.retention.ms"]}]})
        expect_equal(answer["Results"][0]["Configs"][0]["Value"], "98765", "value of all brokers")
