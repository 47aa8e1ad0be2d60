"""Apache Kafka's command-line tools, unmodified, in the way their documentation shows them."""

import json
import re

from tests.e2e.case import case, expect, expect_equal
from tests.support import kafka_tools, processes


def tool(broker, name, *arguments, **options):
    """Runs a tool against the broker; its stdout. Warnings of its clients are failures."""
    return checked(name, "--bootstrap-server", broker.bootstrap, *arguments, **options)


def checked(name, *arguments, **options):
    done = kafka_tools.run(name, *arguments, **options)
    noise = [line for line in done.stderr.splitlines()
             if re.search(r"\b(ERROR|FATAL|Exception)\b", line)]
    expect(not noise, f"{name} complained: {noise[:5]}")
    return done.stdout


def create(broker, topic, partitions=1):
    tool(broker, "kafka-topics", "--create", "--topic", topic, "--partitions", partitions)


@case(smoke=True)
def topics(context):
    """create, describe, list, alter --partitions, delete; and the errors a user meets."""
    broker, name = context.shared(), context.topic("topics")
    created = tool(broker, "kafka-topics", "--create", "--topic", name, "--partitions", 2,
                   "--config", "retention.ms=86400000")
    expect_equal(created.strip(), f"Created topic {name}.", "create")
    described = tool(broker, "kafka-topics", "--describe", "--topic", name)
    head, *partitions = described.splitlines()
    expect(re.search(rf"Topic: {name}\tTopicId: [\w-]{{22}}\tPartitionCount: 2\t"
                     r"ReplicationFactor: 1\tConfigs: .*retention.ms=86400000", head), described)
    expect_equal(len(partitions), 2, "described partitions")
    for number, line in enumerate(partitions):
        expect(re.search(rf"Partition: {number}\tLeader: (\d+)\tReplicas: \1\tIsr: \1", line), line)
    tool(broker, "kafka-topics", "--alter", "--topic", name, "--partitions", 4)
    expect("PartitionCount: 4" in tool(broker, "kafka-topics", "--describe", "--topic", name),
           "no 4 partitions after --alter")
    expect(name in tool(broker, "kafka-topics", "--list").split(), "not in --list")
    again = kafka_tools.run("kafka-topics", "--bootstrap-server", broker.bootstrap, "--create",
                            "--topic", name, check=False)
    expect(again.returncode == 1 and "TopicExistsException" in again.stdout + again.stderr,
           f"create again: {again.stdout} {again.stderr}")
    tool(broker, "kafka-topics", "--delete", "--topic", name)
    expect(name not in tool(broker, "kafka-topics", "--list").split(), "in --list after --delete")


@case(smoke=True)
def console(context):
    """Console producer and consumer: keys, values, headers, a null marker, offsets, a group."""
    broker, name = context.shared(), context.topic("console")
    create(broker, name, 1)
    lines = [f"h:{i}\tkey-{i}\tvalue-{i}" for i in range(50)] + ["h:x,g:y\tNIL\tNIL"]
    tool(broker, "kafka-console-producer", "--topic", name,
         "--reader-property", "parse.key=true", "--reader-property", "parse.headers=true",
         "--reader-property", "null.marker=NIL", input="\n".join(lines) + "\n")
    printed = tool(broker, "kafka-console-consumer", "--topic", name, "--from-beginning",
                   "--max-messages", 51, "--timeout-ms", 20000, "--group", name,
                   *formatter("print.key=true", "print.headers=true", "print.offset=true",
                              "print.partition=true", "null.literal=NIL"))
    wanted = []
    for offset, line in enumerate(lines):
        headers, key, value = line.split("\t")
        wanted.append("\t".join([f"Partition:{0}", f"Offset:{offset}", headers, key, value]))
    expect_equal(printed.splitlines(), wanted, "consumed lines")


def formatter(*properties):
    return [part for entry in properties for part in ("--formatter-property", entry)]


@case()
def verifiable(context):
    """Verifiable producer, then verifiable consumer in a group; then the group as the tool sees it."""
    broker, name = context.shared(), context.topic("verifiable")
    create(broker, name, 2)
    events = json_lines(tool(broker, "kafka-verifiable-producer", "--topic", name,
                             "--max-messages", 2000, "--acks", -1))
    sent = [event for event in events if event["name"] == "producer_send_success"]
    expect_equal(len(sent), 2000, "acknowledged by the verifiable producer")
    expect_equal([e for e in events if e["name"] == "producer_send_error"], [], "send errors")
    events = json_lines(tool(broker, "kafka-verifiable-consumer", "--topic", name, "--group-id", name,
                             "--max-messages", 2000, "--reset-policy", "earliest", "--verbose"))
    values = sorted(int(e["value"]) for e in events if e["name"] == "record_data")
    expect_equal(values, list(range(2000)), "consumed by the verifiable consumer")
    commits = [e for e in events if e["name"] == "offsets_committed"]
    expect(commits and all(e["success"] for e in commits), f"commits: {commits[-3:]}")
    listed = tool(broker, "kafka-consumer-groups", "--list", "--state")
    expect(re.search(rf"^{name}\s+Empty", listed, re.M), listed)
    rows = group_rows(tool(broker, "kafka-consumer-groups", "--describe", "--group", name))
    # A partition that got no record has no commit and no row.
    expect(rows and set(rows) <= {0, 1}, f"described partitions: {rows}")
    expect_equal(sum(row["end"] for row in rows.values()), 2000, "log end offsets")
    expect(all(row["current"] == row["end"] for row in rows.values()), f"lag left: {rows}")


def json_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def group_rows(text):
    """kafka-consumer-groups --describe as partition -> current, end."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    head = next(line for line in lines if line[0] == "GROUP")
    rows = lines[lines.index(head) + 1:]
    columns = {name: head.index(name) for name in ("PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET")}
    return {int(row[columns["PARTITION"]]): {"current": int(row[columns["CURRENT-OFFSET"]]),
                                             "end": int(row[columns["LOG-END-OFFSET"]])}
            for row in rows}


@case()
def live_group(context):
    """consumer-groups --describe --members and --state while a console consumer is in the group."""
    broker, name = context.shared(), context.topic("live")
    create(broker, name, 2)
    consumer = kafka_tools.start("kafka-console-consumer", "--bootstrap-server", broker.bootstrap,
                                 "--topic", name, "--group", name, "--from-beginning")
    try:
        tool(broker, "kafka-console-producer", "--topic", name, input="one\n")
        first = processes.read_line(consumer, 30)
        expect_equal(first, "one\n", "the console consumer's first line")
        members = tool(broker, "kafka-consumer-groups", "--describe", "--group", name, "--members")
        expect(re.search(rf"^{name}\s+console-consumer-\S+\s+/\S+\s+console-consumer\s+2", members,
                         re.M), members)
        state = tool(broker, "kafka-consumer-groups", "--describe", "--group", name, "--state")
        expect(re.search(r"\srange\s+Stable\s+1", state), state)
    finally:
        consumer.kill()
        consumer.communicate()


@case(smoke=True)
def perf(context):
    """producer-perf-test, get-offsets (earliest, latest, by time), consumer-perf-test."""
    broker, name = context.shared(), context.topic("perf")
    create(broker, name, 2)
    out = tool(broker, "kafka-producer-perf-test", "--topic", name, "--num-records", 20000,
               "--record-size", 512, "--throughput", -1, "--command-property", "acks=all")
    expect("20000 records sent" in out, out)
    for time, wanted in (("latest", 20000), ("earliest", 0)):
        offsets = tool(broker, "kafka-get-offsets", "--topic", name, "--time", time)
        found = [int(line.rsplit(":", 1)[1]) for line in offsets.split()]
        expect_equal((len(found), sum(found)), (2, wanted), f"get-offsets {time}")
    offsets = tool(broker, "kafka-get-offsets", "--topic", name, "--time", "max-timestamp")
    expect(re.fullmatch(rf"({name}:[01]:\d+\n){{2}}", offsets), offsets)
    out = tool(broker, "kafka-consumer-perf-test", "--topic", name, "--num-records", 20000,
               "--timeout", 20000)
    head, row = [line.split(",") for line in out.strip().splitlines()[-2:]]
    fields = dict(zip((name.strip() for name in head), (cell.strip() for cell in row)))
    consumed = int(fields["data.consumed.in.nMsg"])
    expect(consumed >= 20000, f"consumer-perf-test: {out}")


@case()
def e2e_latency(context):
    broker, name = context.shared(), context.topic("latency")
    create(broker, name, 1)
    out = checked("kafka-e2e-latency", broker.bootstrap, name, 500, "all", 100)
    expect(re.search(r"Percentiles: 50th = \d+, 99th = \d+", out), out)


@case()
def api_versions(context):
    """broker-api-versions: the tool understands every range, the client can use every API it names."""
    broker = context.shared()
    out = tool(broker, "kafka-broker-api-versions")
    expect(re.search(rf"^127\.0\.0\.1:{broker.port} \(id: \d+ ", out, re.M), out)
    listed = re.findall(r"^\t(\w+)\((\d+)\): (\d+(?: to \d+)?) \[usable: \d+\]", out, re.M)
    expect(len(listed) >= 20, out)
    expect(int(dict((int(k), v) for _, k, v in listed)[0].split()[0]) == 0, "Produce not from 0")
