"""Apache Kafka's tools for topics' configurations, records, log directories and producers."""

import json
import re

from tests.e2e.case import case, expect, expect_equal
from tests.e2e.cases.tools import create, tool
from tests.e2e.cases.tools_options import filled, refused
from tests.support import kafka_tools


def _configs(broker, topic, *arguments):
    return tool(broker, "kafka-configs", "--entity-type", "topics", "--entity-name", topic, *arguments)


def _described(text):
    """The lines of kafka-configs --describe: key -> (value, synonyms as text)."""
    return {key: (value, synonyms) for key, value, synonyms in
            re.findall(r"^  (\S+)=(\S*) sensitive=\w+ synonyms=\{(.*)\}$", text, re.M)}


@case()
def topic_configs(context):
    """A topic's configurations: set, from a file, described, taken back; and refused."""
    broker, name = context.shared(), context.topic("configs")
    create(broker, name)
    said = _configs(broker, name, "--alter", "--add-config",
                    "retention.ms=86400000,cleanup.policy=[compact,delete]")
    expect_equal(said.strip(), f"Completed updating config for topic {name}.", "alter")
    changed = context.folder("configs") / "changed.properties"
    changed.write_text("segment.bytes=1048576\nmax.message.bytes=2000\n")
    _configs(broker, name, "--alter", "--add-config-file", changed)
    own = _described(_configs(broker, name, "--describe"))
    expect_equal({key: value for key, (value, _) in own.items()},
                 {"cleanup.policy": "compact,delete", "max.message.bytes": "2000",
                  "retention.ms": "86400000", "segment.bytes": "1048576"}, "described")
    expect(own["cleanup.policy"][1].endswith("DEFAULT_CONFIG:log.cleanup.policy=delete"), str(own))
    every = _described(_configs(broker, name, "--describe", "--all"))
    expect(len(every) > 25 and every["min.insync.replicas"][0] == "1", str(every))
    _configs(broker, name, "--alter", "--delete-config", "retention.ms,segment.bytes")
    left = _described(_configs(broker, name, "--describe"))
    expect_equal(sorted(left), ["cleanup.policy", "max.message.bytes"], "after --delete-config")
    for setting, error in (("retention.mss=1", "InvalidConfigurationException"),
                           ("retention.ms=soon", "InvalidConfigurationException"),
                           ("retention.ms=-7", "InvalidConfigurationException")):
        refused(broker, "kafka-configs", "--entity-type", "topics", "--entity-name", name, "--alter",
                "--add-config", setting, error=error)
    refused(broker, "kafka-configs", "--entity-type", "topics", "--entity-name", name + "-absent", "--alter",
            "--add-config", "retention.ms=1", error="Exception")
    # The change counts: a record that is larger than the topic's new limit is refused.
    big = kafka_tools.run("kafka-console-producer", "--bootstrap-server", broker.bootstrap, "--topic", name,
                          input="x" * 3000 + "\n", check=False)
    expect("RecordTooLargeException" in big.stderr, f"a large record: {big.stdout} {big.stderr}")


@case()
def delete_records(context):
    """Records before an offset, and all records, of a partition; the log goes on behind them."""
    broker = context.shared()
    name, _ = filled(context, "deleted")
    plan = context.folder("plan") / "offsets.json"

    def delete(offsets):
        plan.write_text(json.dumps({"version": 1, "partitions": [
            {"topic": name, "partition": partition, "offset": offset} for partition, offset in offsets]}))
        said = tool(broker, "kafka-delete-records", "--offset-json-file", plan)
        return {int(partition): int(mark) for partition, mark in
                re.findall(rf"partition: {name}-(\d)\tlow_watermark: (\d+)", said)}

    expect_equal(delete([(0, 5), (1, 0)]), {0: 5, 1: 0}, "low watermarks")
    expect_equal(delete([(1, -1)]), {1: 10}, "low watermark of all records")
    said = tool(broker, "kafka-get-offsets", "--topic", name, "--time", "earliest")
    expect_equal(sorted(said.split()), [f"{name}:0:5", f"{name}:1:10"], "earliest")
    said = tool(broker, "kafka-console-consumer", "--topic", name, "--from-beginning", "--max-messages", 15,
                "--timeout-ms", 20000, "--formatter-property", "print.offset=true",
                "--formatter-property", "print.value=false")
    expect_equal(said.split(), [f"Offset:{offset}" for offset in range(5, 20)], "what is left")
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "offset": 99}]}))
    done = kafka_tools.run("kafka-delete-records", "--bootstrap-server", broker.bootstrap,
                           "--offset-json-file", plan, check=False)
    expect("OffsetOutOfRangeException" in done.stdout, done.stdout + done.stderr)


@case()
def log_dirs(context):
    """The sizes that the tool shows are those of the segment files."""
    broker = context.shared()
    name, _ = filled(context, "sizes")
    for which in (["--topic-list", name], ["--topic-list", name, "--broker-list", 1]):
        said = tool(broker, "kafka-log-dirs", "--describe", *which)
        (shown,) = json.loads(said.splitlines()[-1])["brokers"]
        (folder,) = shown["logDirs"]
        expect_equal((shown["broker"], folder["error"], folder["logDir"]),
                     (1, None, str(broker.data_dir)), said)
        sizes = {entry["partition"]: (entry["size"], entry["offsetLag"], entry["isFuture"])
                 for entry in folder["partitions"]}
        wanted = {path.name: (sum(f.stat().st_size for f in path.glob("*.log")), 0, False)
                  for path in broker.partition_dirs(name)}
        expect_equal(sizes, wanted, "sizes")


@case()
def producers(context):
    """kafka-transactions describe-producers shows the idempotent producer of a partition."""
    broker = context.shared()
    name, _ = filled(context, "producers")
    said = tool(broker, "kafka-transactions", "describe-producers", "--topic", name, "--partition", 0)
    (row,) = [line.split() for line in said.splitlines()[1:]]
    expect_equal((row[1], row[3], row[5]), ("0", "19", "None"), said)


@case()
def leader_election(context):
    broker, name = context.shared(), context.topic("led")
    create(broker, name, 2)
    for kind in ("preferred", "unclean"):
        said = tool(broker, "kafka-leader-election", "--election-type", kind, "--topic", name, "--partition", 1)
        expect(f"Valid replica already elected for partitions {name}-1" in said, said)
        tool(broker, "kafka-leader-election", "--election-type", kind, "--all-topic-partitions")
    refused(broker, "kafka-leader-election", "--election-type", "preferred", "--topic", name, "--partition", 2,
            error="UnknownTopicOrPartition")


@case()
def reassign_partitions(context):
    """The assignment as it is can be listed, proposed, carried out and verified; another broker is refused."""
    broker, name = context.shared(), context.topic("assigned")
    create(broker, name, 2)
    folder = context.folder("assigned")

    def run(*arguments):
        return tool(broker, "kafka-reassign-partitions", *arguments)

    def plan(replicas):
        path = folder / f"plan-{len(replicas)}-{replicas[0]}.json"
        path.write_text(json.dumps({"version": 1, "partitions": [
            {"topic": name, "partition": index, "replicas": replicas} for index in range(2)]}))
        return "--reassignment-json-file", path

    expect("No partition reassignments found." in run("--list"), "a reassignment is listed")
    topics = folder / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": name}]}))
    said = run("--generate", "--topics-to-move-json-file", topics, "--broker-list", "1")
    expect_equal(said.count('"replicas":[1]'), 4, "current and proposed assignment")
    expect("Successfully started partition reassignments" in run("--execute", *plan([1])), "not carried out")
    said = run("--verify", *plan([1]))
    expect_equal(said.count("is completed."), 2, said)
    refused(broker, "kafka-reassign-partitions", "--execute", *plan([2]), error="Unknown broker id 2")
    run("--cancel", *plan([1]))


@case()
def upgrade_of_features(context):
    broker = context.shared()
    said = tool(broker, "kafka-features", "upgrade", "--feature", "metadata.version=33", "--dry-run")
    expect("metadata.version can be upgraded to 33." in said, said)
    tool(broker, "kafka-features", "upgrade", "--feature", "metadata.version=33")
    refused(broker, "kafka-features", "upgrade", "--feature", "metadata.version=34", error="metadata.version")
    refused(broker, "kafka-features", "downgrade", "--feature", "metadata.version=32", error="metadata.version")
    refused(broker, "kafka-features", "downgrade", "--feature", "metadata.version=32", "--unsafe",
            error="metadata.version")
