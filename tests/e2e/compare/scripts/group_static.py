"""Static members: replaced by instance id, fenced, leaving by instance id."""

from tests.e2e.compare.scripts.group_membership import join_body


def run(s):
    group = "static"
    s.patient("coordinator", "FindCoordinator", 4, {"CoordinatorKeys": [group]},
              lambda answer: answer["Coordinators"][0]["ErrorCode"])

    def join(label, member="", instance="one"):
        return s.patient(label, "JoinGroup", 5, join_body(group, member, GroupInstanceId=instance),
                         lambda answer: answer["ErrorCode"])

    first = join("join")
    tail = {"GroupId": group, "GenerationId": first["GenerationId"], "MemberId": first["MemberId"],
            "GroupInstanceId": "one"}
    s.call("sync", "SyncGroup", 5, {**tail, "Assignments": [
        {"MemberId": first["MemberId"], "Assignment": b"mine"}]})
    s.call("heartbeat", "Heartbeat", 4, tail)
    s.call("heartbeat, wrong member for the instance", "Heartbeat", 4, {**tail, "MemberId": "wrong"})
    s.call("heartbeat, unknown instance", "Heartbeat", 4, {**tail, "GroupInstanceId": "two"})
    again = join("the same instance again")
    s.note("another member id", again["MemberId"] != first["MemberId"])
    s.note("same generation", again["GenerationId"] == first["GenerationId"])
    new = {**tail, "MemberId": again["MemberId"], "GenerationId": again["GenerationId"]}
    s.call("sync of the new one", "SyncGroup", 5, {**new, "Assignments": []})
    s.call("heartbeat of the old one", "Heartbeat", 4, tail)
    s.call("sync of the old one", "SyncGroup", 5, {**tail, "Assignments": []})
    s.call("commit of the old one", "OffsetCommit", 8, {
        "GroupId": group, "GenerationIdOrMemberEpoch": first["GenerationId"],
        "MemberId": first["MemberId"], "GroupInstanceId": "one", "Topics": []})
    s.call("join of the old one", "JoinGroup", 5,
           join_body(group, first["MemberId"], GroupInstanceId="one"))
    s.call("heartbeat of the new one", "Heartbeat", 4, new)
    s.call("describe", "DescribeGroups", 5, {"Groups": [group]})
    s.call("leave with a wrong member", "LeaveGroup", 5, {"GroupId": group, "Members": [
        {"MemberId": "wrong", "GroupInstanceId": "one"}]})
    s.call("leave by an unknown instance", "LeaveGroup", 5, {"GroupId": group, "Members": [
        {"MemberId": "", "GroupInstanceId": "two"}]})
    s.call("leave by instance", "LeaveGroup", 5, {"GroupId": group, "Members": [
        {"MemberId": "", "GroupInstanceId": "one"}]})
    s.call("heartbeat after that", "Heartbeat", 4, new)
