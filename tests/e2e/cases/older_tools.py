"""The tools of Apache Kafka 3.9 and 2.8: what they show and create, and their verifiable producers and
consumers, also beside those of 4.4."""

import re

from tests.e2e.case import case, expect, expect_equal
from tests.e2e.cases.tools import create, group_rows, json_lines, tool
from tests.support import older_tools

_COUNT = 1000


@case()
def session_3_9(context):
    _session(context, "3.9.2")


@case()
def session_2_8(context):
    _session(context, "2.8.2")


def _session(context, version):
    """API versions, a topic's life, records through the verifiable pair, the group, offsets."""
    broker, name = context.shared(), context.topic(f"tools-{version}")

    def run(what, *arguments):
        return older_tools.run(version, what, broker, *arguments)

    said = run("broker-api-versions")
    expect(re.search(rf"^127\.0\.0\.1:{broker.port} \(id: 1 ", said, re.M), said)
    usable = dict(re.findall(r"^\t(\w+)\(\d+\): .*\[usable: (\d+)\]", said, re.M))
    for api in ("Produce", "Fetch", "ListOffsets", "Metadata", "JoinGroup", "CreateTopics", "ApiVersions"):
        expect(api in usable, f"{api} is not usable: {said}")
    run("topics", "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=86400000")
    described = run("topics", "--describe", "--topic", name)
    expect(re.search(rf"Topic: {name}\t.*PartitionCount: 2\s.*retention\.ms=86400000", described), described)
    _write(run("verifiable-producer", "--topic", name, "--max-messages", str(_COUNT)))
    _read(run("verifiable-consumer", "--topic", name, "--group-id", name, "--max-messages", str(_COUNT),
              "--reset-policy", "earliest", "--verbose"))
    rows = group_rows(run("consumer-groups", "--describe", "--group", name))
    expect_equal(sum(row["current"] for row in rows.values()), _COUNT, "committed")
    offsets = run("get-offsets", "--topic", name)
    expect_equal(sum(int(offset) for offset in re.findall(rf"^{name}:\d:(\d+)$", offsets, re.M)), _COUNT,
                 offsets)
    run("topics", "--alter", "--topic", name, "--partitions", "3")
    run("topics", "--delete", "--topic", name)
    expect(name not in run("topics", "--list").split(), "listed after --delete")


@case()
def verifiable_pairs(context):
    """What the verifiable producer of one version wrote, the consumer of another takes: 3.9 to 4.4
    and back."""
    broker = context.shared()
    old, new = context.topic("verifiable-old"), context.topic("verifiable-new")
    create(broker, old, 2)
    create(broker, new, 2)
    count = str(_COUNT)
    _write(older_tools.run("3.9.2", "verifiable-producer", broker, "--topic", old, "--max-messages", count))
    _write(tool(broker, "kafka-verifiable-producer", "--topic", new, "--max-messages", count))
    consume = ("--max-messages", count, "--reset-policy", "earliest", "--verbose")
    _read(tool(broker, "kafka-verifiable-consumer", "--topic", old, "--group-id", old, *consume))
    _read(older_tools.run("3.9.2", "verifiable-consumer", broker, "--topic", new, "--group-id", new,
                          *consume))


def _write(output):
    events = json_lines(output)
    sent = [event for event in events if event["name"] == "producer_send_success"]
    expect_equal(len(sent), _COUNT, "acknowledged by the verifiable producer")
    expect_equal([e for e in events if e["name"] == "producer_send_error"], [], "send errors")


def _read(output):
    """Each number once, and every commit a success."""
    events = json_lines(output)
    values = sorted(int(event["value"]) for event in events if event["name"] == "record_data")
    expect_equal(values, list(range(_COUNT)), "consumed by the verifiable consumer")
    commits = [event for event in events if event["name"] == "offsets_committed"]
    expect(commits and all(event["success"] for event in commits), f"commits: {commits[-3:]}")
