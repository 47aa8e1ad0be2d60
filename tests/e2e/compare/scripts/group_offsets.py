"""OffsetCommit and OffsetFetch: every version, outside and inside of a group, unknown partitions, limits."""

from tests.e2e.compare.scripts.group_membership import join_body


def run(s):
    topic = s.topic("committed", 3)
    s.patient("coordinator", "FindCoordinator", 4, {"CoordinatorKeys": ["offsets-2"]},
              lambda answer: answer["Coordinators"][0]["ErrorCode"])

    def key(version, name="committed", topic_id=topic):
        return {"TopicId": topic_id} if version >= 10 else {"Name": name}

    def commit(label, version, group, partitions, topic_key=None, **more):
        rows = [{"PartitionIndex": partition, "CommittedOffset": offset, "CommittedMetadata": text,
                 "CommittedLeaderEpoch": 0} for partition, offset, text in partitions]
        return s.patient(label, "OffsetCommit", version, _fit(version, {
            "GroupId": group, **more, "Topics": [{**(topic_key or key(version)), "Partitions": rows}]}),
            lambda answer: answer["Topics"][0]["Partitions"][0]["ErrorCode"] if answer["Topics"] else 0)

    def fetch(label, version, group, partitions, topic_key=None, **more):
        topics = None if partitions is None else [
            {**(topic_key or key(version)), "PartitionIndexes": partitions}]
        body = {"Groups": [{"GroupId": group, "Topics": topics, **more}]} if version >= 8 else {
            "GroupId": group, "Topics": topics}
        return s.call(label, "OffsetFetch", version, body)

    for version in range(2, 11):
        group = f"offsets-{version}"
        commit(f"commit v{version}", version, group, [(0, 7, "note"), (1, 8, ""), (2, 9, None)])
        commit(f"commit unknown partition v{version}", version, group, [(9, 1, ""), (0, 11, "new")])
        unknown = key(version, "no-such-topic", b"\x55" * 16)
        commit(f"commit unknown topic v{version}", version, group, [(0, 1, "")], unknown)
        commit(f"commit from a member v{version}", version, group, [(0, 1, "")], MemberId="nobody",
               GenerationIdOrMemberEpoch=3)
        commit(f"commit negative offset v{version}", version, group, [(1, -1, "")])
    for version in range(1, 11):
        group = f"offsets-{max(version, 2)}"
        fetch(f"fetch v{version}", version, group, [0, 1, 2])
        fetch(f"fetch unknown partition v{version}", version, group, [9])
        fetch(f"fetch unknown topic v{version}", version, group, [0],
              key(version, "no-such-topic", b"\x55" * 16))
        fetch(f"fetch unknown group v{version}", version, "never-there", [0])
        if version >= 2:
            fetch(f"fetch all v{version}", version, group, None)
            fetch(f"fetch all of an unknown group v{version}", version, "never-there", None)
    commit("metadata too long", 8, "offsets-8", [(0, 1, "x" * 4097), (1, 20, "x" * 4096)])
    commit("empty group", 8, "", [(0, 1, "")])
    fetch("fetch empty group", 8, "", [0])
    fetch("unknown member", 9, "offsets-9", [0], MemberId="nobody", MemberEpoch=4)
    s.call("several groups", "OffsetFetch", 8, {"Groups": [
        {"GroupId": f"offsets-{n}", "Topics": [{"Name": "committed", "PartitionIndexes": [0]}]}
        for n in (3, 4, 5)]})
    s.call("no groups", "OffsetFetch", 8, {"Groups": []})
    s.call("require stable", "OffsetFetch", 8, {"RequireStable": True, "Groups": [
        {"GroupId": "offsets-8", "Topics": None}]})
    _members(s, commit)


def _fit(version, body):
    if version < 6:
        for topic in body["Topics"]:
            for row in topic["Partitions"]:
                row.pop("CommittedLeaderEpoch")
    return body


def _members(s, commit):
    """Commits of a live member, and of others while it lives."""
    group = "offsets-live"
    asked = s.main.call("JoinGroup", 5, join_body(group))
    joined = s.main.call("JoinGroup", 5, join_body(group, asked["MemberId"]))
    member, generation = joined["MemberId"], joined["GenerationId"]
    commit("before the sync", 8, group, [(0, 1, "")], MemberId=member, GenerationIdOrMemberEpoch=generation)
    s.main.call("SyncGroup", 5, {"GroupId": group, "GenerationId": generation, "MemberId": member,
                                 "Assignments": [{"MemberId": member, "Assignment": b"a"}]})
    commit("by the member", 8, group, [(0, 5, "m")], MemberId=member, GenerationIdOrMemberEpoch=generation)
    commit("of another generation", 8, group, [(0, 6, "")], MemberId=member,
           GenerationIdOrMemberEpoch=generation + 1)
    commit("by nobody", 8, group, [(0, 6, "")], MemberId="nobody", GenerationIdOrMemberEpoch=generation)
    commit("from outside", 8, group, [(0, 6, "")])
    s.call("what is committed", "OffsetFetch", 8, {"Groups": [{"GroupId": group, "Topics": None}]})
    s.call("leave", "LeaveGroup", 4, {"GroupId": group, "Members": [{"MemberId": member}]})
    commit("from outside, when empty", 8, group, [(0, 7, "")])
    s.call("what is committed now", "OffsetFetch", 8, {"Groups": [{"GroupId": group, "Topics": None}]})
