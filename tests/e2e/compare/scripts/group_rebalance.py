"""What members of a classic group meet in each of its states: changes of metadata and protocol, joins, syncs,
heartbeats and commits while others join or sync, leaders that are absent, members that time out."""

import time

from tests.e2e.compare.group_members import Member, rejoin_both, stable_pair

BOTH = [("range", b"r"), ("sticky", b"s")]


def run(s):
    s.topic("rebalanced")
    _rejoining(s)
    _protocols(s)
    _while_preparing(s)
    _while_completing(s)
    _leader_absent(s)
    _follower_silent(s)
    _does_not_rejoin(s)
    _dead_sessions(s)
    _leaving_while_joining(s)


def _describe(s, label, group):
    s.call(f"{label}: described", "DescribeGroups", 5, {"Groups": [group]})


def _rejoining(s):
    one, two = stable_pair(s, "rebalance-rejoin")
    leader, follower = (one, two) if one.leads else (two, one)
    follower.send_join().joined("follower joins again, nothing new")
    follower.sync((), "follower syncs again")
    _describe(s, "nothing happened", one.group)
    follower.protocols = [("range", b"other")]
    follower.send_join()
    leader.wait_for(27)
    leader.send_join()
    leader.joined("leader joins: the follower has new metadata")
    follower.joined("follower joined with new metadata")
    leader.sync([(one, b"1"), (two, b"2")])
    follower.sync()
    leader.send_join()
    follower.wait_for(27, "is told: the leader joins again")
    follower.send_join()
    leader.joined("leader joined again, nothing new")
    follower.joined("follower joined, nothing new")
    leader.sync([(leader, b"only the leader")], "leader leaves the follower out")
    follower.sync((), "follower has no assignment")
    leader.sync([(leader, b"too late")], "leader syncs again when stable")
    leader.sync((), "leader syncs again with nothing")


def _protocols(s):
    group = "rebalance-protocols"
    one = Member(s, group, "first", protocols=BOTH)
    one.join()
    one.sync([(one, b"all")])
    for label, body in (("another type", {"ProtocolType": "connect"}), ("empty type", {"ProtocolType": ""}),
                        ("no common protocol", {"Protocols": [{"Name": "other", "Metadata": b""}]}),
                        ("no protocols", {"Protocols": []})):
        other = Member(s, group, f"{label}")
        other.send_join(**body).joined("asks")
        own = one.body(**body)
        s.call(f"first, now with {label}", "JoinGroup", 5, own)
    one.heartbeat("is still there")
    two = Member(s, group, "second", protocols=[("sticky", b"s2"), ("other", b"o2")])
    rejoin_both(s, one, two)
    _describe(s, "one protocol is left", group)
    three = Member(s, group, "third", protocols=[("other", b"o3")])
    three.send_join().joined("supports none that both do")
    # The vote: both prefer another one, then one changes its mind.
    two.protocols = [("range", b"r2"), ("sticky", b"s2")]
    two.send_join()
    one.wait_for(27)
    one.send_join()
    one.joined("joined, range is everybody's favourite")
    two.joined("joined, range is everybody's favourite")
    _describe(s, "joining", group)
    twice = Member(s, "rebalance-twice", "twice", protocols=[("a", b"1"), ("a", b"2"), ("b", b"3")])
    twice.join("the same protocol twice")
    _describe(s, "twice", twice.group)


def _while_preparing(s):
    group = "rebalance-preparing"
    one, two = stable_pair(s, group)
    three = Member(s, group, "three").take_id()
    three.send_join()
    one.wait_for(27)
    _describe(s, "preparing", group)
    two.heartbeat("heartbeat while preparing")
    two.sync((), "syncs while preparing")
    one.commit("commits while preparing", "rebalanced", 1)
    one.commit("commits while preparing, old generation", "rebalanced", 1,
               GenerationIdOrMemberEpoch=one.generation - 1)
    three.commit("waits and commits", "rebalanced", 2)
    three.heartbeat("heartbeat of one that waits", GenerationId=one.generation)
    late = Member(s, group, "late").take_id()
    s.call("heartbeat of one that only has an id", "Heartbeat", 4, {
        "GroupId": group, "GenerationId": one.generation, "MemberId": late.id})
    s.call("sync of one that only has an id", "SyncGroup", 3, {
        "GroupId": group, "GenerationId": one.generation, "MemberId": late.id, "Assignments": []})
    s.call("commit of one that only has an id", "OffsetCommit", 8, {
        "GroupId": group, "GenerationIdOrMemberEpoch": one.generation, "MemberId": late.id, "Topics": [
            {"Name": "rebalanced", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1}]}]})
    s.call("one that only has an id leaves", "LeaveGroup", 4, {"GroupId": group, "Members": [{"MemberId": late.id}]})
    one.send_join()
    two.send_join()
    for member in (one, two, three):
        member.joined("joined with three")
    s.note("one generation", len({member.generation for member in (one, two, three)}))


def _while_completing(s):
    group = "rebalance-completing"
    one, two = stable_pair(s, group)
    leader, follower = (one, two) if one.leads else (two, one)
    leader.send_join()
    follower.wait_for(27)
    follower.send_join()
    leader.joined()
    follower.joined()
    _describe(s, "completing", group)
    follower.commit("commits while completing", "rebalanced", 1)
    s.call("commits from outside while completing", "OffsetCommit", 8, {"GroupId": group, "Topics": [
        {"Name": "rebalanced", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1}]}]})
    follower.heartbeat("heartbeat while completing")
    follower.send_join().joined("joins again while completing")
    leader.send_join().joined("leader joins again while completing")
    follower.send_sync()
    time.sleep(0.2)
    leader.protocols = [("range", b"changed")]
    leader.send_join()
    follower.synced("waited for the leader, who changed its metadata")
    follower.send_join()
    leader.joined("joined with changed metadata")
    follower.joined("joined after that")
    follower.send_sync()
    time.sleep(0.2)
    three = Member(s, group, "three").take_id()
    three.send_join()
    follower.synced("waited, and somebody joined")
    follower.heartbeat("heartbeat after that")
    leader.send_join()
    follower.send_join()
    for member in (leader, follower, three):
        member.joined("joined with three")


def _leader_absent(s):
    """The leader never syncs: it is removed after the rebalance timeout."""
    one, two = stable_pair(s, "rebalance-leaderless", rebalance=1500)
    leader, follower = (one, two) if one.leads else (two, one)
    leader.send_join()
    follower.wait_for(27)
    follower.send_join()
    leader.joined()
    follower.joined()
    started = time.monotonic()
    follower.send_sync().synced("waited for a leader that does not come")
    s.waited("until it was told", started, 1.2, 4)
    leader.heartbeat("the absent leader")
    follower.send_join().joined("joined without it")
    s.note("leads now", follower.leads)


def _follower_silent(s):
    """A follower that does not sync is removed, though the group is stable."""
    one, two = stable_pair(s, "rebalance-silent", rebalance=1500)
    leader, follower = (one, two) if one.leads else (two, one)
    leader.send_join()
    follower.wait_for(27)
    follower.send_join()
    leader.joined()
    follower.joined()
    leader.sync([(one, b"1"), (two, b"2")])
    started = time.monotonic()
    leader.wait_for(27, "is told that another rebalance began")
    s.waited("until it was told of the silent one", started, 1.0, 4)
    follower.heartbeat("the silent one")


def _does_not_rejoin(s):
    one, two = stable_pair(s, "rebalance-missing", rebalance=1500)
    leader, follower = (one, two) if one.leads else (two, one)
    started = time.monotonic()
    leader.send_join().joined("joined alone: the other one did not")
    s.waited("until it joined alone", started, 1.2, 4)
    follower.heartbeat("the one that did not join")
    leader.sync([(leader, b"all")])
    leader.commit("commits", "rebalanced", 9)


def _dead_sessions(s):
    one, two = stable_pair(s, "rebalance-dead", session=6000)
    two.abandon()
    started = time.monotonic()
    one.wait_for(27, "is told of the death", seconds=15)
    s.waited("until the death was noticed", started, 5, 9)
    one.send_join().joined("joined after the death")
    two.heartbeat("the dead one")
    one.sync([(one, b"all")])
    one.abandon()
    end = time.monotonic() + 15
    while time.monotonic() < end:
        described = s.main.call("DescribeGroups", 5, {"Groups": [one.group]})
        if described["Groups"][0]["GroupState"] == "Empty":
            break
        time.sleep(0.1)
    s.record("all dead", "DescribeGroups", 5, described)
    Member(s, one.group, "first after the deaths").join()


def _leaving_while_joining(s):
    one, two = stable_pair(s, "rebalance-leaver")
    two.send_join(Protocols=[{"Name": "range", "Metadata": b"new"}])
    one.wait_for(27)
    s.call("leaves while it joins", "LeaveGroup", 4, {"GroupId": two.group, "Members": [{"MemberId": two.id}]})
    two.joined("waited, and left")
    one.send_join().joined("joined, the other one has left")
