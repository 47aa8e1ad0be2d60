"""DeleteGroups in every version and OffsetDelete: groups with and without members, offsets and subscriptions."""

from tests.e2e.compare.group_members import Member, subscription


def run(s):
    for name in ("deleted-t", "deleted-u"):
        s.topic(name, 2)
    for version in range(4):
        _delete_groups(s, version)
    _pending_only(s)
    _offsets_of_nobody(s)
    _offsets_of_consumers(s)
    _offsets_of_others(s)


def _commit(s, group, topic="deleted-t", partition=0, offset=5):
    answer = s.main.call("OffsetCommit", 8, {"GroupId": group, "Topics": [{"Name": topic, "Partitions": [
        {"PartitionIndex": partition, "CommittedOffset": offset, "CommittedMetadata": ""}]}]})
    assert answer["Topics"][0]["Partitions"][0]["ErrorCode"] == 0, answer


def _look(s, label, group):
    s.call(f"{label}: described", "DescribeGroups", 6, {"Groups": [group]})
    s.call(f"{label}: offsets", "OffsetFetch", 8, {"Groups": [{"GroupId": group, "Topics": None}]})


def _delete_groups(s, version):
    simple, empty, live = (f"deleted-{kind}-{version}" for kind in ("simple", "empty", "live"))
    _commit(s, simple)
    _commit(s, simple, "deleted-u", 1)
    member = Member(s, empty, f"leaver v{version}")
    member.join()
    member.sync([(member, b"all")])
    member.commit("commits", "deleted-t", 3)
    member.leave()
    stays = Member(s, live, f"stays v{version}")
    stays.join()
    s.call(f"before the sync v{version}", "DeleteGroups", version, {"GroupsNames": [live]})
    stays.sync([(stays, b"all")])
    s.call(f"several v{version}", "DeleteGroups", version, {
        "GroupsNames": [simple, empty, live, "never-there", "", live, "never-there"]})
    for group in (simple, empty, live):
        _look(s, f"{group} v{version}", group)
    s.call(f"again v{version}", "DeleteGroups", version, {"GroupsNames": [simple, empty]})
    s.call(f"none v{version}", "DeleteGroups", version, {"GroupsNames": []})
    # A group of the same name is a new one.
    again = Member(s, empty, f"again v{version}")
    again.join()
    s.note(f"generation of the new group v{version}", again.generation)
    again.leave()


def _pending_only(s):
    pending = Member(s, "deleted-pending", "pending").take_id()
    _look(s, "pending", pending.group)
    s.call("delete with a member to come", "DeleteGroups", 2, {"GroupsNames": [pending.group]})
    pending.send_join().joined("comes too late")
    _look(s, "pending deleted", pending.group)


def _offsets(s, label, group, topics):
    """topics: [(name, partitions)]"""
    s.call(label, "OffsetDelete", 0, {"GroupId": group, "Topics": [
        {"Name": name, "Partitions": [{"PartitionIndex": partition} for partition in partitions]}
        for name, partitions in topics]})


def _offsets_of_nobody(s):
    group = "undone-simple"
    _offsets(s, "empty group id", "", [("deleted-t", [0])])
    _offsets(s, "unknown group", "never-there", [("deleted-t", [0])])
    _offsets(s, "unknown group, unknown topic", "never-there", [("no-such-topic", [0])])
    for partition in (0, 1):
        _commit(s, group, "deleted-t", partition)
        _commit(s, group, "deleted-u", partition)
    _offsets(s, "some", group, [("deleted-t", [0, 9, -1]), ("no-such-topic", [0, 1]), ("deleted-u", [1])])
    _look(s, "some gone", group)
    _offsets(s, "not there", group, [("deleted-t", [0])])
    _offsets(s, "nothing but unknown", group, [("no-such-topic", [0]), ("deleted-t", [7])])
    _offsets(s, "no topics", group, [])
    _offsets(s, "no partitions", group, [("deleted-t", [])])
    _offsets(s, "twice the partition", group, [("deleted-t", [1, 1])])
    _offsets(s, "all", group, [("deleted-u", [0])])
    _look(s, "all gone", group)


def _offsets_of_consumers(s):
    member = Member(s, "undone-consumer", "consumer", protocols=[("range", subscription("deleted-t"))])
    member.join()
    member.commit("commits too early", "deleted-t", 4)
    _offsets(s, "while joining", member.group, [("deleted-t", [0]), ("deleted-u", [0])])
    member.sync([(member, b"all")])
    member.commit("commits", "deleted-t", 4)
    member.commit("commits of another topic", "deleted-u", 4)
    _offsets(s, "subscribed and not", member.group, [("deleted-t", [0, 1, 9]), ("deleted-u", [0, 1])])
    _look(s, "subscribed and not", member.group)
    member.leave()
    _offsets(s, "after leaving", member.group, [("deleted-t", [0])])
    _look(s, "after leaving", member.group)
    # A subscription that cannot be read subscribes to everything.
    strange = Member(s, "undone-strange", "strange", protocols=[("range", b"\x00")])
    strange.join()
    strange.sync([(strange, b"all")])
    strange.commit("commits", "deleted-t", 4)
    _offsets(s, "metadata that cannot be read", strange.group, [("deleted-t", [0])])
    _look(s, "metadata that cannot be read", strange.group)


def _offsets_of_others(s):
    worker = Member(s, "undone-connect", "worker", type="connect", protocols=[("default", b"x")])
    worker.join()
    worker.sync([(worker, b"all")])
    worker.commit("commits", "deleted-t", 4)
    _offsets(s, "of a live connect group", worker.group, [("deleted-t", [0])])
    _offsets(s, "of a live connect group, unknown topic", worker.group, [("no-such-topic", [0])])
    worker.leave()
    _offsets(s, "of an empty connect group", worker.group, [("deleted-t", [0])])
    _look(s, "of an empty connect group", worker.group)
