"""LeaveGroup: many members in one request, reasons, dynamic, static and pending ones, in every version."""

from tests.e2e.compare.group_members import Member, stable_pair


def run(s):
    for version in range(3, 6):
        _many(s, version)
    for version in range(3):
        _one(s, version)
    _nobody(s)


def _one(s, version):
    member = Member(s, f"leave-one-{version}", f"member v{version}")
    member.join()
    s.call(f"leaves v{version}", "LeaveGroup", version, {"GroupId": member.group, "MemberId": member.id})
    s.call(f"leaves again v{version}", "LeaveGroup", version, {"GroupId": member.group, "MemberId": member.id})
    pending = Member(s, member.group, f"pending v{version}").take_id()
    s.call(f"pending leaves v{version}", "LeaveGroup", version, {"GroupId": pending.group, "MemberId": pending.id})
    s.call(f"empty member id v{version}", "LeaveGroup", version, {"GroupId": pending.group, "MemberId": ""})


def _many(s, version):
    group = f"leave-many-{version}"
    one, two = stable_pair(s, group)
    fixed = Member(s, group, "fixed", instance="fixed-1")
    fixed.send_join()
    one.wait_for(27)
    one.send_join()
    two.send_join()
    for member in (one, two, fixed):
        member.joined("joined with the static one")
    pending = Member(s, group, "pending").take_id()
    reason = {"Reason": "the consumer is being closed"} if version >= 5 else {}
    members = [{"MemberId": one.id, "GroupInstanceId": None, **reason}, {"MemberId": "nobody"},
               {"MemberId": "", "GroupInstanceId": "fixed-2"}, {"MemberId": "wrong", "GroupInstanceId": "fixed-1"},
               {"MemberId": one.id}, {"MemberId": pending.id, **reason}, {"MemberId": ""},
               {"MemberId": two.id, "GroupInstanceId": "not-its-own"},
               {"MemberId": "", "GroupInstanceId": "fixed-1", **reason}]
    s.call(f"many leave v{version}", "LeaveGroup", version, {"GroupId": group, "Members": members})
    s.call(f"who is left v{version}", "DescribeGroups", 5, {"Groups": [group]})
    two.heartbeat("is told")
    two.send_join().joined("joined, alone")
    s.call(f"pending by instance v{version}", "LeaveGroup", version, {"GroupId": group, "Members": [
        {"MemberId": pending.id, "GroupInstanceId": "any"}, {"MemberId": two.id, **reason}]})
    s.call(f"nobody is left v{version}", "DescribeGroups", 5, {"Groups": [group]})


def _nobody(s):
    for version in range(3, 6):
        s.call(f"no members v{version}", "LeaveGroup", version, {"GroupId": "leave-none", "Members": []})
    Member(s, "leave-none", "one that stays").join()
    s.call("no members of a group that is there", "LeaveGroup", 4, {"GroupId": "leave-none", "Members": []})
