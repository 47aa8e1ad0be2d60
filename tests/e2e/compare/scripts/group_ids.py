"""Ids and names of any kind: long ones, empty ones, Unicode; any protocol type and protocol name."""

from tests.e2e.compare.group_members import Member

LONGEST = 32767


def run(s):
    s.topic("named")
    groups = {"longest": "g" * LONGEST, "unicode": "gr\u00fcppe-\u4e2d\u6587-\U0001f600", "space": " ", "control": "a\x01\n\tb",
              "slashes": "../../etc/passwd"}
    for label, group in groups.items():
        _life(s, label, group)
    for type in ("connect", "stream", "sr", "\u00fcber", " ", "t" * 1000):
        _type(s, type)
    _members(s)
    _too_long(s)
    _protocol_names(s)


def _life(s, label, group):
    member = Member(s, group, label)
    member.join()
    member.sync([(member, b"all")])
    member.commit("commits", "named", 7)
    member.heartbeat()
    s.call(f"{label}: described", "DescribeGroups", 5, {"Groups": [group]})
    s.call(f"{label}: fetched", "OffsetFetch", 8, {"Groups": [{"GroupId": group, "Topics": None}]})
    s.call(f"{label}: coordinator", "FindCoordinator", 4, {"CoordinatorKeys": [group]})
    listed = s.main.call("ListGroups", 5, {})
    s.note(f"{label}: listed", [row for row in listed["Groups"] if row["GroupId"] == group])
    member.leave()
    s.call(f"{label}: deleted", "DeleteGroups", 2, {"GroupsNames": [group]})


def _type(s, type):
    group = f"type-{type[:10]}"
    member = Member(s, group, f"of type {type[:10]}", type=type, protocols=[("v0", b"\xff\x00"), ("v1", b"")])
    member.join()
    member.sync([(member, b"\x00" * 10)])
    s.call(f"type {type[:10]}: described", "DescribeGroups", 5, {"Groups": [group]})
    listed = s.main.call("ListGroups", 5, {})
    s.note(f"type {type[:10]}: listed", [row for row in listed["Groups"] if row["GroupId"] == group])
    s.call(f"type {type[:10]}: sync names another", "SyncGroup", 5, {
        "GroupId": group, "GenerationId": member.generation, "MemberId": member.id, "ProtocolType": "other",
        "ProtocolName": "v0", "Assignments": []})
    s.call(f"type {type[:10]}: sync names none", "SyncGroup", 5, {
        "GroupId": group, "GenerationId": member.generation, "MemberId": member.id, "Assignments": []})
    s.call(f"type {type[:10]}: sync names its own", "SyncGroup", 5, {
        "GroupId": group, "GenerationId": member.generation, "MemberId": member.id, "ProtocolType": type,
        "ProtocolName": "v0", "Assignments": []})
    member.leave()
    s.call(f"type {type[:10]}: described when empty", "DescribeGroups", 5, {"Groups": [group]})
    other = Member(s, group, f"after type {type[:10]}")
    other.join("the empty group takes another type")


def _members(s):
    long = Member(s, "long-instance", "long", instance="i" * 30000)
    long.join("instance id of 30000")
    long.sync([(long, b"x" * 100000)])
    s.call("long instance: described", "DescribeGroups", 5, {"Groups": [long.group]})
    empty = Member(s, "empty-instance", "empty", instance="")
    empty.send_join().joined("empty instance id")
    s.call("empty instance: described", "DescribeGroups", 5, {"Groups": ["empty-instance"]})
    for client in ("", "c" * 1000, "\u00e4\u00f6\u00fc"):
        other = s.connect(client)
        answer = other.call("JoinGroup", 3, {
            "GroupId": "client-ids", "SessionTimeoutMs": 10000, "RebalanceTimeoutMs": 10000, "MemberId": "",
            "ProtocolType": "consumer", "Protocols": [{"Name": "p", "Metadata": b""}]})
        s.note(f"member id of client {client[:3]!r}", (answer["ErrorCode"], answer["MemberId"][:-36]))
        s.call(f"described, client {client[:3]!r}", "DescribeGroups", 5, {"Groups": ["client-ids"]})
        s.main.call("LeaveGroup", 1, {"GroupId": "client-ids", "MemberId": answer["MemberId"]})


def _too_long(s):
    """A member id is the client's id or the instance id with 37 letters more: here more than a string can be."""
    for version in (5, 9):
        body = {"GroupId": f"too-long-{version}", "SessionTimeoutMs": 10000, "RebalanceTimeoutMs": 10000,
                "MemberId": "", "GroupInstanceId": "i" * 32760, "ProtocolType": "consumer",
                "Protocols": [{"Name": "p", "Metadata": b""}]}
        s.call(f"instance id of 32760 v{version}", "JoinGroup", version, body, on=s.connect())
        s.call(f"client id of 32760 v{version}", "JoinGroup", version, {**body, "GroupInstanceId": None},
               on=s.connect("c" * 32760))


def _protocol_names(s):
    for label, names in (("empty name", [("", b"")]), ("long name", [("p" * 20000, b"")]),
                         ("many", [(f"p{number}", b"m") for number in range(500)])):
        member = Member(s, f"protocols-{label}", label, protocols=names)
        member.join()
        member.sync([(member, b"a")])
        s.call(f"{label}: described", "DescribeGroups", 5, {"Groups": [member.group]})
    big = Member(s, "protocols-big", "big", protocols=[("p", b"m" * 900_000)])
    big.join("metadata of 900 kB")
    big.sync([(big, b"a")], "stored with 900 kB")
    bigger = Member(s, "protocols-bigger", "bigger", protocols=[("p", b"m" * 600_000)])
    bigger.join("metadata of 600 kB")
    bigger.sync([(bigger, b"a" * 600_000)], "assignment that no batch holds")
    bigger.heartbeat("after that")
