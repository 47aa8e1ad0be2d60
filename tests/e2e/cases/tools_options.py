"""What else Apache Kafka's tools can do: every time of get-offsets, every mode of reset-offsets, the options
of topics, groups and the performance tools; the broker as the cluster and compatibility tools see it."""

import json
import re
import time

from tests.e2e import records
from tests.e2e.case import case, expect, expect_equal
from tests.e2e.cases.tools import checked, create, group_rows, tool
from tests.support import clients, kafka_tools, processes


_MINUTE = 60_000


def refused(broker, name, *arguments, error):
    """The tool ends with an exit code of its own and names the error."""
    done = kafka_tools.run(name, "--bootstrap-server", broker.bootstrap, *arguments, check=False)
    said = done.stdout + done.stderr
    expect(done.returncode != 0 and error in said, f"{name} {arguments}: {done.returncode} {said}")


def filled(context, stem, partitions=2):
    """A topic with 20 records in partition 0 and 10 in 1, their times a minute apart, from an hour ago on;
    its name and the first time."""
    broker, name = context.shared(), context.topic(stem)
    create(broker, name, partitions)
    start = int(time.time() * 1000) - 3_600_000
    written = [{"p": partition, "k": None, "v": b"x".hex(), "h": [], "t": start + _MINUTE * number}
               for partition, count in ((0, 20), (1, 10)) for number in range(count)]
    source = records.save(context.folder(stem) / "in", written)
    job = {"op": "write", "topic": name, "codec": "gzip", "file": str(source)}
    expect_equal(clients.ALL["franz"].run(broker.bootstrap, [job]), [30], "written")
    return name, start


@case()
def cluster(context):
    """cluster-id is what meta.properties says; list-endpoints and api-versions name this broker."""
    broker = context.shared()
    wanted = re.search(r"^cluster.id=(\S+)", (broker.data_dir / "meta.properties").read_text(), re.M)[1]
    said = checked("kafka-cluster", "cluster-id", "--bootstrap-server", broker.bootstrap)
    expect_equal(said.strip(), f"Cluster ID: {wanted}", "cluster-id")
    for more in ([], ["--include-fenced-brokers"]):
        said = checked("kafka-cluster", "list-endpoints", "--bootstrap-server", broker.bootstrap, *more)
        expect(re.search(rf"^1\s+127\.0\.0\.1\s+{broker.port}\s+null\s+unfenced\s+broker", said, re.M), said)
    said = checked("kafka-cluster", "api-versions", "--bootstrap-server", broker.bootstrap)
    expect(re.search(r"^\tFetch\(1\): 4 to 18 \[usable: 18\]", said, re.M), said)


@case()
def features(context):
    said = tool(context.shared(), "kafka-features", "describe")
    expect(re.search(r"metadata\.version\s+SupportedMinVersion: \S+\s+SupportedMaxVersion: 4\.4-IV\d\s+"
                     r"FinalizedVersionLevel: 4\.4-IV\d\s+Epoch: \d+", said), said)


@case()
def get_offsets(context):
    """Every time that the tool knows; partitions chosen in each way."""
    broker = context.shared()
    name, start = filled(context, "times", partitions=3)

    def offsets(*arguments):
        said = tool(broker, "kafka-get-offsets", *arguments)
        return {int(partition): int(offset) for partition, offset in
                re.findall(rf"^{name}:(\d+):(\d+)$", said, re.M)}

    # A partition without an answer has no line.
    for at, wanted in (("latest", {0: 20, 1: 10, 2: 0}), ("earliest", {0: 0, 1: 0, 2: 0}),
                       ("max-timestamp", {0: 19, 1: 9}), ("earliest-local", {0: 0, 1: 0, 2: 0}),
                       ("latest-tiered", {}), ("earliest-pending-upload", {}), (-3, {0: 19, 1: 9}),
                       (start + 4 * _MINUTE + 1, {0: 5, 1: 5}), (start + 15 * _MINUTE, {0: 15}),
                       (start - 1, {0: 0, 1: 0}), (start + 19 * _MINUTE + 1, {})):
        expect_equal(offsets("--topic", name, "--time", at), wanted, f"--time {at}")
    expect_equal(offsets("--topic", name, "--partitions", "0,2"), {0: 20, 2: 0}, "--partitions")
    expect_equal(offsets("--topic-partitions", f"{name}:1-3"), {1: 10, 2: 0}, "--topic-partitions")
    expect_equal(offsets("--topic", name[:-1] + ".", "--exclude-internal-topics"), {0: 20, 1: 10, 2: 0},
                 "a pattern, without internal topics")
    refused(broker, "kafka-get-offsets", "--topic", name + "-absent",
            error="Could not match any topic-partitions")
    refused(broker, "kafka-get-offsets", "--topic", name, "--time", "tomorrow", error="Malformed time")


@case()
def topic_options(context):
    """The options of kafka-topics beside those of the plain session, and what it says of mistakes."""
    broker, name = context.shared(), context.topic("options")
    topics = "kafka-topics"
    tool(broker, topics, "--create", "--topic", name, "--replica-assignment", "1,1,1",
         "--config", "retention.ms=86400000", "--config", "segment.bytes=1048576")
    described = tool(broker, topics, "--describe", "--topic", name)
    expect("PartitionCount: 3" in described, described)
    topic_id = re.search(r"TopicId: (\S+)", described)[1]
    by_id = tool(broker, topics, "--describe", "--topic-id", topic_id)
    expect_equal(_without_elr(by_id), _without_elr(described), "--topic-id")
    for lenient in (["--create", "--topic", name, "--if-not-exists"],
                    ["--delete", "--topic", name + "-absent", "--if-exists"],
                    ["--alter", "--topic", name + "-absent", "--partitions", 3, "--if-exists"]):
        expect_equal(tool(broker, topics, *lenient), "", str(lenient))
    overridden = tool(broker, topics, "--describe", "--topics-with-overrides")
    expect(re.search(rf"^Topic: {name}\t.*Configs: \S*retention\.ms=86400000", overridden, re.M), overridden)
    expect("\tPartition:" not in overridden, overridden)
    for which, count in (("--under-replicated-partitions", 0), ("--unavailable-partitions", 0),
                         ("--under-min-isr-partitions", 0), ("--at-min-isr-partitions", 3)):
        lines = tool(broker, topics, "--describe", "--topic", name, which).splitlines()
        expect_equal(len(lines), count, f"lines of {which}")
    small = tool(broker, topics, "--describe", "--topic", name, "--partition-size-limit-per-response", 1)
    expect_equal(small, described, "described in pages of one partition")
    listed = tool(broker, topics, "--list", "--exclude-internal", "--topic", name[:-1] + ".*")
    expect(name in listed.split() and "__consumer_offsets" not in listed, listed)
    tool(broker, topics, "--alter", "--topic", name, "--partitions", 5, "--replica-assignment", "1,1,1,1,1")
    for arguments, error in (
            (["--create", "--topic", name], "TopicExistsException"),
            (["--create", "--topic", "bad name"], "InvalidTopicException"),
            (["--create", "--topic", name + "-rf", "--replication-factor", 3],
             "InvalidReplicationFactorException"),
            (["--create", "--topic", name + "-b", "--replica-assignment", "77"], "Exception"),
            (["--create", "--topic", name + "-c", "--config", "retention.mss=1"],
             "Unknown topic config name"),
            (["--alter", "--topic", name, "--partitions", 2], "InvalidPartitionsException"),
            (["--alter", "--topic", name + "-absent", "--partitions", 2], "does not exist"),
            (["--describe", "--topic", name + "-absent"], "does not exist"),
            (["--delete", "--topic", name + "-absent"], "does not exist")):
        refused(broker, topics, *arguments, error=error)
    tool(broker, topics, "--delete", "--topic", name)


def _without_elr(described):
    """By id the tool asks with another request, whose answer has no eligible leader replicas."""
    return re.sub(r"\tElr: .*", "", described)


@case()
def reset_offsets(context):
    """Every mode of consumer-groups --reset-offsets, executed, dry and exported; then from the export."""
    broker = context.shared()
    name, start = filled(context, "reset")
    by_name = "kafka-consumer-groups"

    def reset(*mode, scope=("--topic", name), act="--execute"):
        said = tool(broker, by_name, "--group", name, "--reset-offsets", *scope, *mode, act)
        return {int(partition): int(offset) for partition, offset in
                re.findall(rf"^{name}\s+{name}\s+(\d+)\s+(\d+)\s*$", said, re.M)}

    def current():
        rows = group_rows(tool(broker, by_name, "--describe", "--group", name))
        return {partition: row["current"] for partition, row in rows.items()}

    for mode, wanted in ((["--to-latest"], {0: 20, 1: 10}), (["--shift-by", -4], {0: 16, 1: 6}),
                         (["--to-current"], {0: 16, 1: 6}), (["--to-earliest"], {0: 0, 1: 0}),
                         (["--to-offset", 15], {0: 15, 1: 10})):
        expect_equal(reset(*mode), wanted, f"reset {mode}")
    expect_equal(current(), {0: 15, 1: 10}, "committed")
    at = start / 1000 + 6.5 * 60
    datetime = time.strftime("%Y-%m-%dT%H:%M:%S.000+00:00", time.gmtime(at))
    expect_equal(reset("--to-datetime", datetime), {0: 7, 1: 7}, f"--to-datetime {datetime}")
    seconds = int(time.time() - start / 1000 - 15.5 * 60)
    got = reset("--by-duration", f"PT{seconds}S", scope=("--topic", f"{name}:0"))
    expect_equal(got, {0: 16}, f"--by-duration of {seconds} s")
    expect_equal(reset("--to-earliest", scope=("--all-topics",), act="--dry-run"), {0: 0, 1: 0}, "dry run")
    expect_equal(current(), {0: 16, 1: 7}, "after a dry run")
    exported = tool(broker, by_name, "--group", name, "--reset-offsets", "--topic", name, "--shift-by", -1,
                    "--dry-run", "--export")
    plan = context.folder("plan") / "offsets.csv"
    plan.write_text("".join(line + "\n" for line in exported.splitlines() if line.startswith(name)))
    reset("--from-file", plan, scope=())
    expect_equal(current(), {0: 15, 1: 6}, "from the file")


@case()
def group_options(context):
    """Groups listed by type and state by both tools, described with every view; the internal topic's
    records through the tools' own formatters."""
    broker = context.shared()
    name, _ = filled(context, "groups")
    by_name = "kafka-consumer-groups"
    job = {"op": "read", "topics": [name], "group": name, "count": 30, "extra_ms": 0,
           "file": str(context.folder("groups") / "out")}
    expect_equal(clients.ALL["franz"].run(broker.bootstrap, [job]), [30], "read")
    for arguments in (["--list", "--type", "classic"], ["--list", "--state", "Empty,Stable"]):
        said = tool(broker, by_name, *arguments)
        expect(re.search(rf"^{name}\s+(Classic|Empty)", said, re.M), f"{arguments}: {said}")
    said = tool(broker, by_name, "--list", "--state", "Dead")
    expect(name not in said, said)
    expect(re.search(rf"^{name}\s+Classic", tool(broker, "kafka-groups", "--list"), re.M), "kafka-groups")
    for view, shape in ((["--offsets"], rf"{name}\s+{name}\s+0\s+20\s+20\s+0\s"),
                        (["--offsets", "--verbose"], rf"{name}\s+{name}\s+0\s+0\s+20\s+20\s+0\s"),
                        (["--state"], rf"{name}\s+127\.0\.0\.1:{broker.port}\s+\(1\)\s+-?\s*Empty\s+0"),
                        (["--members", "--verbose"], "GROUP")):
        said = tool(broker, by_name, "--describe", "--group", name, *view)
        expect(re.search("^" + shape, said, re.M), said)
    expect(name in tool(broker, by_name, "--describe", "--all-groups", "--state"), "--all-groups")
    absent = kafka_tools.run(by_name, "--bootstrap-server", broker.bootstrap, "--describe", "--group",
                             name + "-absent", check=False)
    expect("GroupIdNotFoundException" in absent.stdout + absent.stderr, absent.stdout + absent.stderr)
    for formatter, wanted in (("OffsetsMessageFormatter", {"group": name, "topic": name, "partition": 0}),
                              ("GroupMetadataMessageFormatter", {"group": name})):
        keys = _internal_keys(broker, formatter)
        expect(wanted in keys, f"{formatter}: {wanted} not in {keys}")


def _internal_keys(broker, formatter):
    done = kafka_tools.run("kafka-console-consumer", "--bootstrap-server", broker.bootstrap, "--topic",
                           "__consumer_offsets", "--from-beginning", "--timeout-ms", 3000, "--formatter",
                           f"org.apache.kafka.tools.consumer.{formatter}", check=False)
    decoder, found, text = json.JSONDecoder(), [], done.stdout.strip()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value["key"]["data"])
        text = text[end:].lstrip()
    return found


@case()
def perf_options(context):
    """The performance tools with their own options."""
    broker, name = context.shared(), context.topic("perf")
    create(broker, name, 2)
    payload = context.folder("payload") / "lines"
    payload.write_text("payload one\npayload two\n")
    for arguments, shape in (
            (["--payload-file", payload, "--throughput", 5000, "--print-metrics"], "producer-metrics:"),
            (["--record-size", 100, "--throughput", -1, "--warmup-records", 100], "400 steady state records"),
            (["--payload-monotonic", "--throughput", -1, "--reporting-interval", 100], "500 records sent")):
        said = tool(broker, "kafka-producer-perf-test", "--topic", name, "--num-records", 500, *arguments)
        expect("500 records sent" in said and shape in said, said)
    for arguments, shape in (
            (["--topic", name, "--group", name, "--show-detailed-stats", "--reporting-interval", 10],
             r"^\d{4}-\d\d-\d\d .*, 0, "),
            (["--include", name[:-1] + ".", "--hide-header", "--fetch-size", 10000, "--print-metrics"],
             r"^consumer-fetch-manager-metrics:records-consumed-total.*: [1-9]\d*\.")):
        said = tool(broker, "kafka-consumer-perf-test", "--num-records", 1500, "--timeout", 20000, *arguments)
        expect(re.search(shape, said, re.M), said)


@case()
def console_options(context):
    """Console consumer from an offset of one partition, by pattern, with times and read_committed."""
    broker = context.shared()
    name, start = filled(context, "console")
    consumer = "kafka-console-consumer"
    said = tool(broker, consumer, "--topic", name, "--partition", 0, "--offset", 17, "--max-messages", 3,
                "--timeout-ms", 20000, "--formatter-property", "print.timestamp=true",
                "--formatter-property", "print.offset=true")
    wanted = [f"CreateTime:{start + _MINUTE * offset}\tOffset:{offset}\tx" for offset in (17, 18, 19)]
    expect_equal(said.splitlines(), wanted, "--offset 17")
    said = tool(broker, consumer, "--include", name[:-1] + ".", "--from-beginning", "--max-messages", 30,
                "--timeout-ms", 20000, "--isolation-level", "read_committed")
    expect_equal(said.splitlines(), ["x"] * 30, "--include")


@case()
def compatibility(context):
    """Apache Kafka's own check of what a client may expect from a broker."""
    broker = context.shared()
    said = tool(broker, "client-compatibility", "--topic", context.topic("compatibility"),
                "--offsets-for-times-supported", "true", "--cluster-id-supported", "true",
                "--expect-record-too-large-exception", "false", "--num-cluster-nodes", 1,
                "--create-topics-supported", "true", "--describe-configs-supported", "true",
                "--idempotent-producer-supported", "true",
                "--describe-acls-supported", "true" if context.kind == "kafka" else "false")
    expect("SUCCESS." in said, said)


@case()
def replica_verification(context):
    """The verification tool fetches as a replica's debugger does; it finds nothing to complain of."""
    broker = context.shared()
    name, _ = filled(context, "verified")
    child = kafka_tools.start("kafka-replica-verification", "--broker-list", broker.bootstrap,
                              "--topics-include", name, "--report-interval-ms", 500)
    try:
        expect("verification process is started" in processes.read_line(child, 30), "not started")
        said = processes.read_line(child, 30)
        expect(re.search(rf"max lag is 0 for partition {name}-\d at offset (20|10) among 2 partitions", said),
               said)
    finally:
        child.kill()
        child.communicate()
