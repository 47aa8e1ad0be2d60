"""ListGroups and DescribeGroups: every version, states, filters, unknown groups."""

from tests.e2e.compare.scripts.group_membership import join_body


def run(s):
    group = "listed"
    s.patient("coordinator", "FindCoordinator", 4, {"CoordinatorKeys": [group]},
              lambda answer: answer["Coordinators"][0]["ErrorCode"])
    asked = s.main.call("JoinGroup", 5, join_body(group))
    joined = s.main.call("JoinGroup", 5, join_body(group, asked["MemberId"]))

    def both(state):
        for version in range(7):
            s.call(f"describe {state} v{version}", "DescribeGroups", version,
                   {"Groups": [group, "never-there"]})
        for version in range(6):
            answer = s.main.call("ListGroups", version, {})
            s.note(f"list {state} v{version}", [row for row in answer["Groups"]
                                                if row["GroupId"] == group])

    both("before sync")
    s.main.call("SyncGroup", 5, {"GroupId": group, "GenerationId": joined["GenerationId"],
                                 "MemberId": joined["MemberId"], "Assignments": [
                                     {"MemberId": joined["MemberId"], "Assignment": b"a"}]})
    both("stable")
    for states, types in ((["Stable"], []), (["Empty"], []), (["stable"], []), (["NoSuchState"], []),
                          ([], ["classic"]), ([], ["consumer"]), ([], ["Classic"]), ([], ["nothing"]),
                          (["Stable", "Empty"], ["classic", "consumer"])):
        answer = s.main.call("ListGroups", 5, {"StatesFilter": states, "TypesFilter": types})
        s.note(f"filter {states} {types}", (answer["ErrorCode"], [
            row for row in answer["Groups"] if row["GroupId"] == group]))
    s.call("describe with operations", "DescribeGroups", 5, {
        "Groups": [group], "IncludeAuthorizedOperations": True})
    s.call("describe empty name", "DescribeGroups", 5, {"Groups": [""]})
    s.call("describe nothing", "DescribeGroups", 5, {"Groups": []})
    s.call("leave", "LeaveGroup", 4, {"GroupId": group, "Members": [{"MemberId": joined["MemberId"]}]})
    both("empty")
