"""kafka-consumer-groups on groups as operators find them: with members, without, several at a time; deleting groups
and offsets; what is refused while a group lives."""

import collections
import re

from tests.e2e.case import case, expect, expect_equal
from tests.e2e.cases.tools import create, group_rows, tool
from tests.support import kafka_tools, processes
from tests.support.connection import Connection

_GROUPS = "kafka-consumer-groups"


def fill(broker, topic, lines=10):
    create(broker, topic, 2)
    tool(broker, "kafka-console-producer", "--topic", topic, input="".join(f"line {n}\n" for n in range(lines)))


def commit(broker, group, *topics, to="--to-latest"):
    """Makes a group without members that has offsets of the topics."""
    scope = [part for topic in topics for part in ("--topic", topic)]
    tool(broker, _GROUPS, "--group", group, "--reset-offsets", to, "--execute", *scope)


def complaint(broker, *arguments):
    """What the tool says when it cannot do as it is told."""
    done = kafka_tools.run(_GROUPS, "--bootstrap-server", broker.bootstrap, *arguments, check=False)
    return done.stdout + done.stderr


class Reading:
    """A console consumer in a group, from its first line to the end of the block."""

    def __init__(self, broker, topic, group, *more):
        self._command = (broker.bootstrap, "--topic", topic, "--group", group, "--from-beginning", *more)

    def __enter__(self):
        self._consumer = kafka_tools.start("kafka-console-consumer", "--bootstrap-server", *self._command)
        try:
            line = processes.read_line(self._consumer, 30)
            expect(line.startswith("line"), f"the consumer's first line: {line!r}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._consumer.kill()
        self._consumer.communicate()


@case(smoke=True)
def delete(context):
    """--delete: groups without members, several at once, one that is not there; a live one is kept."""
    broker, topic = context.shared(), context.topic("delete")
    fill(broker, topic)
    groups = [f"{topic}-{number}" for number in range(3)]
    for group in groups:
        commit(broker, group, topic)
    said = tool(broker, _GROUPS, "--delete", "--group", groups[0], "--group", groups[1])
    expect(f"Deletion of requested consumer groups ('{groups[0]}', '{groups[1]}') was successful." in said
           or f"Deletion of requested consumer groups ('{groups[1]}', '{groups[0]}') was successful." in said, said)
    expect("GroupIdNotFoundException" in complaint(broker, "--delete", "--group", groups[0]), "deleted twice")
    with Reading(broker, topic, groups[2] + "-live"):
        said = complaint(broker, "--delete", "--group", groups[2], "--group", groups[2] + "-live")
        expect("GroupNotEmptyException" in said, said)
    listed = tool(broker, _GROUPS, "--list").split()
    expect_equal([group for group in groups if group in listed], [], "groups that are left")
    expect(groups[2] + "-live" in listed, f"the live group is gone: {listed}")


@case()
def delete_offsets(context):
    """--delete-offsets: of topics and single partitions; not of topics that the members read."""
    broker, read, other = context.shared(), context.topic("undo-read"), context.topic("undo-other")
    for topic in (read, other):
        fill(broker, topic)
    commit(broker, read, read, other, to="--to-earliest")
    with Reading(broker, read, read):
        said = complaint(broker, "--delete-offsets", "--group", read, "--topic", read, "--topic", other)
        expect(re.search(rf"^{other}\s+0\s+Successful", said, re.M), said)
        expect(re.search(rf"^{read}\s+0\s+Error: .*subscribed", said, re.M), said)
    commit(broker, other, read, other)
    tool(broker, _GROUPS, "--delete-offsets", "--group", other, "--topic", f"{read}:1", "--topic", other)
    rows = tool(broker, _GROUPS, "--describe", "--group", other)
    expect_equal(re.findall(rf"^{other}\s+(\S+)\s+(\d)", rows, re.M), [(read, "0")], "offsets that are left")
    said = complaint(broker, "--delete-offsets", "--group", other + "-absent", "--topic", read)
    expect("GroupIdNotFoundException" in said or "group id does not exist" in said, said)


@case()
def live_members(context):
    """--describe --members --verbose and --offsets of two live members, one of them static; no reset while they live."""
    broker, topic = context.shared(), context.topic("members")
    fill(broker, topic)
    fixed = context.folder("fixed") / "client.properties"
    fixed.write_text("group.instance.id=fixed\n")
    with Reading(broker, topic, topic), Reading(broker, topic, topic + "-static", "--command-config", fixed):
        said = tool(broker, _GROUPS, "--describe", "--group", topic, "--members", "--verbose")
        expect(re.search(rf"^{topic}\s+console-consumer-\S+\s+/127\.0\.0\.1\s+console-consumer\s+2\s.*{topic}.*0,\s?1",
                         said, re.M), said)
        said = tool(broker, _GROUPS, "--describe", "--group", topic + "-static", "--members")
        expect(re.search(rf"^{topic}-static\s+fixed-\S+\s+fixed\s+/127\.0\.0\.1", said, re.M), said)
        said = tool(broker, _GROUPS, "--describe", "--group", topic, "--offsets")
        owners = re.findall(rf"^{topic}\s+{topic}\s+[01]\s.*(console-consumer-\S+)\s+/127\.0\.0\.1", said, re.M)
        expect(len(owners) == 2 and len(set(owners)) == 1, said)
        said = complaint(broker, "--group", topic, "--reset-offsets", "--to-earliest", "--topic", topic, "--execute")
        expect("Stable" in said and "inactive" in said, said)


@case()
def all_groups(context):
    """--all-groups: reset, described with every view, deleted; on a broker that has no other groups."""
    broker, topic = context.own(), "all"
    fill(broker, topic)
    groups = ["first", "second", "third"]
    for group in groups:
        commit(broker, group, topic)
    tool(broker, _GROUPS, "--all-groups", "--reset-offsets", "--to-earliest", "--all-topics", "--execute")
    for group in groups:
        rows = group_rows(tool(broker, _GROUPS, "--describe", "--group", group))
        expect_equal({row["current"] for row in rows.values()}, {0}, f"offsets of {group}")
    for view in ("--offsets", "--state", "--members"):
        said = tool(broker, _GROUPS, "--describe", "--all-groups", view)
        if view != "--members":  # there are none
            expect_equal([group for group in groups if not re.search(rf"^{group}\s", said, re.M)], [], view)
    said = tool(broker, _GROUPS, "--delete", "--all-groups")
    expect("successful" in said, said)
    expect_equal(tool(broker, _GROUPS, "--list").split(), [], "groups that are left")


class Flood:
    """JoinGroup or OffsetCommit requests with a group id of their own each, pipelined; counts the errors."""

    _WINDOW = 500

    def __init__(self, broker):
        self._connection = Connection(broker.port, timeout=60)
        self.errors = collections.Counter()

    def join(self, count):
        self._run(count, "JoinGroup", lambda number: {
            "GroupId": f"flood-{number:08}", "SessionTimeoutMs": 1_800_000, "RebalanceTimeoutMs": 1000,
            "MemberId": "", "ProtocolType": "consumer", "Protocols": [{"Name": "range", "Metadata": b""}]},
            5, lambda answer: answer["ErrorCode"])

    def commit(self, count, topic):
        self._run(count, "OffsetCommit", lambda number: {"GroupId": f"commit-{number:08}", "Topics": [
            {"Name": topic, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": number}]}]},
            8, lambda answer: answer["Topics"][0]["Partitions"][0]["ErrorCode"])

    def _run(self, count, api, body, version, error_of):
        for first in range(0, count, self._WINDOW):
            for number in range(first, first + self._WINDOW):
                self._connection.send(api, version, body(number))
            for _ in range(self._WINDOW):
                self.errors[error_of(self._connection.receive())] += 1


@case(brokers=("pelton",))
def many_groups(context):
    """Tens of thousands of group ids that nobody comes back for, then as many groups with offsets: what they take is
    bounded, what was there goes on, and groups that nobody uses make room."""
    broker, topic = context.own({"pelton.groups.max.bytes": 16 << 20}), "flooded"
    fill(broker, topic)
    commit(broker, "before", topic)
    before = broker.rss_bytes()
    flood = Flood(broker)
    flood.join(40_000)
    grown = broker.rss_bytes() - before
    expect(grown < 100 << 20, f"{grown >> 20} MiB more for groups that may take 16")
    expect(flood.errors[14] > 0, f"nothing was turned away: {flood.errors}")  # COORDINATOR_LOAD_IN_PROGRESS
    expect(flood.errors[79] > 1_000, f"few were taken: {flood.errors}")
    expect(set(flood.errors) <= {14, 79}, f"errors: {flood.errors}")
    flood.errors.clear()
    flood.commit(100_000, topic)
    expect(flood.errors[0] > 10_000, f"unused groups made no room for offsets: {flood.errors}")
    expect(flood.errors[14] > 0, f"no offsets were turned away: {flood.errors}")
    grown = broker.rss_bytes() - before
    expect(grown < 150 << 20, f"{grown >> 20} MiB more for groups that may take 16")
    rows = group_rows(tool(broker, _GROUPS, "--describe", "--group", "before"))
    expect(rows, "the group of before is gone")
    commit(broker, "before", topic, to="--to-earliest")
    broker.kill9()
    broker.start()
    rows = group_rows(tool(broker, _GROUPS, "--describe", "--group", "before"))
    expect_equal({row["current"] for row in rows.values()}, {0}, "offsets after a kill")
