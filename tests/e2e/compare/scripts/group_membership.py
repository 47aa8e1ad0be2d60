"""Classic groups: join, sync, heartbeat, leave, in every version; unknown members, wrong generations,
illegal ids and timeouts; two members and a rebalance."""


def join_body(group, member="", protocols=(("range", b"meta"),), session=10000, **more):
    return {"GroupId": group, "SessionTimeoutMs": session, "RebalanceTimeoutMs": 10000, "MemberId": member,
            "ProtocolType": "consumer", **more,
            "Protocols": [{"Name": name, "Metadata": metadata} for name, metadata in protocols]}


def run(s):
    s.patient("coordinator", "FindCoordinator", 4, {"CoordinatorKeys": ["members-1"]},
              lambda answer: answer["Coordinators"][0]["ErrorCode"])
    for version in range(10):
        _one_member(s, version, min(version, 5), min(version, 4))
    _illegal(s)
    _two_members(s)


def _join_alone(s, label, group, version, member="", **more):
    """Joins as a lone member, through the detour by which a member gets its id from version 4 on."""
    answer = s.patient(label, "JoinGroup", version, _fit(version, join_body(group, member, **more)),
                       lambda answer: answer["ErrorCode"])
    if answer["ErrorCode"] == 79:  # member id required
        answer = s.call(f"{label}, with the id", "JoinGroup", version,
                        _fit(version, join_body(group, answer["MemberId"], **more)))
    return answer


def _fit(version, body):
    if version < 1:
        body.pop("RebalanceTimeoutMs")
    return body


def _one_member(s, version, sync, beat):
    group = f"members-{version}"
    joined = _join_alone(s, f"join v{version}", group, version)
    member, generation = joined["MemberId"], joined["GenerationId"]
    s.note(f"leads v{version}", joined["Leader"] == member)
    tail = {"GroupId": group, "GenerationId": generation, "MemberId": member}
    assignment = [{"MemberId": member, "Assignment": b"mine"}]
    s.call(f"heartbeat before sync v{version}", "Heartbeat", beat, tail)
    s.call(f"sync v{version}", "SyncGroup", sync, {**tail, "Assignments": assignment})
    s.call(f"sync again v{version}", "SyncGroup", sync, {**tail, "Assignments": []})
    s.call(f"heartbeat v{version}", "Heartbeat", beat, tail)
    s.call(f"heartbeat, wrong generation v{version}", "Heartbeat", beat,
           {**tail, "GenerationId": generation + 1})
    s.call(f"heartbeat, unknown member v{version}", "Heartbeat", beat, {**tail, "MemberId": "nobody"})
    s.call(f"sync, wrong generation v{version}", "SyncGroup", sync,
           {**tail, "GenerationId": generation + 1, "Assignments": []})
    s.call(f"sync, unknown member v{version}", "SyncGroup", sync,
           {**tail, "MemberId": "nobody", "Assignments": []})
    s.call(f"join, unknown member v{version}", "JoinGroup", version,
           _fit(version, join_body(group, "nobody")))
    s.call(f"join, other protocol type v{version}", "JoinGroup", version,
           _fit(version, join_body(group) | {"ProtocolType": "connect"}))
    s.call(f"join, no common protocol v{version}", "JoinGroup", version,
           _fit(version, join_body(group, protocols=[("other", b"")])))
    leave = min(version, 5)
    who = {"MemberId": "nobody"} if leave < 3 else {"Members": [{"MemberId": "nobody"}]}
    s.call(f"leave, unknown member v{leave} {version}", "LeaveGroup", leave, {"GroupId": group, **who})
    who = {"MemberId": member} if leave < 3 else {"Members": [{"MemberId": member}]}
    s.call(f"leave v{leave} {version}", "LeaveGroup", leave, {"GroupId": group, **who})
    s.call(f"heartbeat after leaving v{version}", "Heartbeat", beat, tail)


def _illegal(s):
    for version in (3, 9):
        s.call(f"join, empty group v{version}", "JoinGroup", version, join_body(""))
        s.call(f"join, no protocols v{version}", "JoinGroup", version, join_body("illegal", protocols=[]))
        s.call(f"join, no protocol type v{version}", "JoinGroup", version,
               join_body("illegal") | {"ProtocolType": ""})
        for session in (1, 5999, 1800001, -1):
            s.call(f"join, session timeout {session} v{version}", "JoinGroup", version,
                   join_body("illegal", session=session))
        s.call(f"join, id from nowhere v{version}", "JoinGroup", version, join_body("illegal", "from-old"))
    tail = {"GenerationId": 1, "MemberId": "x"}
    for group, label in (("", "empty group"), ("never-there", "unknown group")):
        s.call(f"heartbeat, {label}", "Heartbeat", 3, {"GroupId": group, **tail})
        s.call(f"sync, {label}", "SyncGroup", 3, {"GroupId": group, **tail, "Assignments": []})
        s.call(f"leave, {label}", "LeaveGroup", 2, {"GroupId": group, "MemberId": "x"})
        s.call(f"leave v4, {label}", "LeaveGroup", 4, {"GroupId": group, "Members": [
            {"MemberId": "x"}, {"MemberId": "", "GroupInstanceId": "y"}]})
    s.call("leave nobody", "LeaveGroup", 4, {"GroupId": "members-5", "Members": []})


def _two_members(s):
    group, two = "members-two", s.connect("other-client")
    first = _join_alone(s, "first joins", group, 5, protocols=[("range", b"1"), ("roundrobin", b"11")])
    one = {"GroupId": group, "GenerationId": first["GenerationId"], "MemberId": first["MemberId"]}
    s.call("first syncs", "SyncGroup", 5, {**one, "Assignments": [
        {"MemberId": first["MemberId"], "Assignment": b"all"}]})
    id_given = two.call("JoinGroup", 5, join_body(group, protocols=[("roundrobin", b"2")]))
    s.record("second asks", "JoinGroup", 5, id_given)
    two.send("JoinGroup", 5, join_body(group, id_given["MemberId"], protocols=[("roundrobin", b"2")]))
    for _ in range(200):
        beat = s.main.call("Heartbeat", 4, one)
        if beat["ErrorCode"] == 27:
            break
    s.record("first is told", "Heartbeat", 4, beat)
    s.call("commit during the rebalance", "OffsetCommit", 8, {
        "GroupId": group, "GenerationIdOrMemberEpoch": first["GenerationId"],
        "MemberId": first["MemberId"], "Topics": []})
    again = s.call("first joins again", "JoinGroup", 5,
                   join_body(group, first["MemberId"], protocols=[("range", b"1"), ("roundrobin", b"11")]))
    second = two.receive()
    s.record("second joined", "JoinGroup", 5, second)
    s.note("same generation", again["GenerationId"] == second["GenerationId"] == first["GenerationId"] + 1)
    one["GenerationId"] = again["GenerationId"]
    other = {**one, "MemberId": second["MemberId"]}
    leads, follows = (s.main, two) if again["Leader"] == first["MemberId"] else (two, s.main)
    s.note("first leads", leads is s.main)
    follows.send("SyncGroup", 5, {**(other if leads is s.main else one), "Assignments": []})
    leads.send("SyncGroup", 5, {**(one if leads is s.main else other), "Assignments": [
        {"MemberId": first["MemberId"], "Assignment": b"first's"},
        {"MemberId": second["MemberId"], "Assignment": b"second's"}]})
    s.record("first's assignment", "SyncGroup", 5, s.main.receive())
    s.record("second's assignment", "SyncGroup", 5, two.receive())
    s.call("old generation", "Heartbeat", 4, {**one, "GenerationId": first["GenerationId"]})
    s.record("second leaves", "LeaveGroup", 5, two.call("LeaveGroup", 5, {"GroupId": group, "Members": [
        {"MemberId": second["MemberId"], "Reason": "done"}]}))
    s.call("first after that", "Heartbeat", 4, one)
    s.call("describe", "DescribeGroups", 5, {"Groups": [group]})
    s.call("first leaves", "LeaveGroup", 5, {"GroupId": group, "Members": [
        {"MemberId": first["MemberId"]}]})
    s.call("describe empty", "DescribeGroups", 5, {"Groups": [group]})
