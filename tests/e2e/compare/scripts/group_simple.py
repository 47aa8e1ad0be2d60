"""Consumers without membership: commits of generation -1 with and without member ids, beside members, and what
becomes of the group."""

from tests.e2e.compare.group_members import Member


def run(s):
    s.topic("simple", 2)
    for version in (2, 5, 7, 8, 9):
        _alone(s, version)
    _beside_members(s)
    _then_members(s)


def _commit(s, label, group, version=8, generation=-1, member="", instance=None, offset=1, metadata=""):
    body = {"GroupId": group, "GenerationIdOrMemberEpoch": generation, "MemberId": member, "Topics": [
        {"Name": "simple", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": offset,
                                           "CommittedMetadata": metadata}]}]}
    if version >= 7:
        body["GroupInstanceId"] = instance
    s.call(f"{label} v{version}", "OffsetCommit", version, body)


def _alone(s, version):
    group = f"simple-{version}"
    _commit(s, "no generation", group, version)
    s.call(f"described v{version}", "DescribeGroups", 6, {"Groups": [group]})
    listed = s.main.call("ListGroups", 5, {})
    s.note(f"listed v{version}", [row for row in listed["Groups"] if row["GroupId"] == group])
    _commit(s, "generation 0", group, version, 0)
    _commit(s, "generation 1", group, version, 1)
    _commit(s, "generation 0 and a member", group, version, 0, "somebody")
    _commit(s, "generation -2", group, version, -2)
    _commit(s, "a member without generation", group, version, -1, "somebody", offset=2)
    if version >= 7:
        _commit(s, "an instance without generation", group, version, -1, "", "instance", offset=3)
    _commit(s, "unknown group, generation 0", f"never-{version}", version, 0)
    _commit(s, "unknown group, generation -2", f"simple-minus-{version}", version, -2)
    s.call(f"fetched v{version}", "OffsetFetch", 8, {"Groups": [{"GroupId": group, "Topics": None}]})
    s.call(f"a heartbeat v{version}", "Heartbeat", 3, {"GroupId": group, "GenerationId": 0, "MemberId": ""})
    s.call(f"a sync v{version}", "SyncGroup", 3, {"GroupId": group, "GenerationId": 0, "MemberId": "", "Assignments": []})
    s.call(f"somebody leaves v{version}", "LeaveGroup", 3, {"GroupId": group, "Members": [{"MemberId": ""}]})


def _beside_members(s):
    member = Member(s, "simple-beside", "member")
    pending = Member(s, member.group, "pending").take_id()
    _commit(s, "beside a pending member", member.group)
    pending.leave()
    member.join()
    _commit(s, "while it joins", member.group)
    member.sync([(member, b"all")])
    _commit(s, "while it is there", member.group)
    _commit(s, "as the member, without generation", member.group, member=member.id)
    _commit(s, "as another, without generation", member.group, member="another")
    _commit(s, "as an instance, without generation", member.group, instance="instance")
    _commit(s, "the generation alone", member.group, generation=member.generation)
    _commit(s, "the generation and another member", member.group, generation=member.generation, member="another")
    member.leave()
    _commit(s, "when it has left", member.group)
    _commit(s, "as the member that has left", member.group, generation=member.generation, member=member.id)


def _then_members(s):
    group = "simple-then"
    _commit(s, "first", group, offset=5)
    member = Member(s, group, "later")
    member.join("the simple group becomes one with members")
    member.sync([(member, b"all")])
    s.call("fetched by the member", "OffsetFetch", 8, {"Groups": [{"GroupId": group, "Topics": [
        {"Name": "simple", "PartitionIndexes": [0, 1]}]}]})
    member.leave()
    s.call("described when empty again", "DescribeGroups", 6, {"Groups": [group]})
