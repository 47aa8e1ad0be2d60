"""Static members that come back: with the same and another protocol, in each state of their group and each
version of JoinGroup; instance ids that do not belong to their member."""

import time

from tests.e2e.compare.group_members import Member

BOTH = [("range", b"r"), ("sticky", b"s")]


def run(s):
    s.topic("static-topic")
    for version in (5, 8, 9):
        _leader_comes_back(s, version)
        _follower_comes_back(s, version)
    _other_protocol(s)
    _other_metadata(s)
    _while_preparing(s)
    _while_completing(s)
    _stays_away(s)
    _wrong_pairs(s)


def _fixed(s, group, name, **more):
    return Member(s, group, name, instance=f"i-{name}", **more)


def _pair(s, group, **more):
    """Two static members of a stable group."""
    one, two = (_fixed(s, group, name, **more) for name in ("one", "two"))
    one.join("joins alone")
    one.sync([(one, b"all")])
    two.send_join()
    one.wait_for(27)
    one.send_join()
    one.joined("joined with two")
    two.joined("joined with one")
    leader, follower = (one, two) if one.leads else (two, one)
    leader.sync([(one, b"first's"), (two, b"second's")])
    follower.sync()
    return leader, follower


def _again(member, **more):
    """The same instance, started anew."""
    fresh = _fixed(member.s, member.group, member.name, version=member.version, protocols=member.protocols,
                   session=member.session, rebalance=member.rebalance)
    for name, value in more.items():
        setattr(fresh, name, value)
    fresh.generation = member.generation
    return fresh


def _describe(s, label, group):
    s.call(f"{label}: described", "DescribeGroups", 5, {"Groups": [group]})


def _leader_comes_back(s, version):
    leader, follower = _pair(s, f"static-leader-{version}", version=version)
    back = _again(leader)
    back.send_join().joined(f"leader came back v{version}")
    back.sync((), f"leader's assignment v{version}")
    leader.heartbeat(f"old leader v{version}")
    leader.commit(f"old leader commits v{version}", "static-topic", 1)
    leader.sync((), f"old leader syncs v{version}")
    leader.send_join().joined(f"old leader joins v{version}")
    leader.leave(f"old leader leaves v{version}")
    follower.heartbeat(f"follower does not notice v{version}")
    _describe(s, f"leader came back v{version}", back.group)


def _follower_comes_back(s, version):
    leader, follower = _pair(s, f"static-follower-{version}", version=version)
    back = _again(follower)
    back.send_join().joined(f"follower came back v{version}")
    back.sync((), f"follower's assignment v{version}")
    back.commit(f"follower commits v{version}", "static-topic", 2)
    leader.heartbeat(f"leader does not notice v{version}")
    _describe(s, f"follower came back v{version}", back.group)


def _other_protocol(s):
    leader, follower = _pair(s, "static-protocol", protocols=BOTH)
    back = _again(follower, protocols=[("sticky", b"s")])
    back.send_join()
    leader.wait_for(27, "is told: the protocol changes")
    leader.send_join().joined("joined with the other protocol")
    back.joined("came back with the other protocol only")


def _other_metadata(s):
    leader, follower = _pair(s, "static-metadata", protocols=BOTH)
    back = _again(follower, protocols=[("range", b"changed"), ("sticky", b"s")])
    back.send_join().joined("came back with other metadata")
    leader.heartbeat("does not notice")
    _describe(s, "other metadata", back.group)
    none = _again(back, protocols=[("none-of-these", b"")])
    none.send_join().joined("came back with a protocol that nobody has")


def _while_preparing(s):
    group = "static-preparing"
    leader, follower = _pair(s, group)
    leader.send_join()
    follower.wait_for(27)
    back = _again(leader)
    back.send_join()
    leader.joined("waited, and was replaced")
    follower.send_join()
    back.joined("replaced the one that waited")
    follower.joined("joined with the replacement")


def _while_completing(s):
    group = "static-completing"
    leader, follower = _pair(s, group)
    leader.send_join()
    follower.wait_for(27)
    follower.send_join()
    leader.joined()
    follower.joined()
    follower.send_sync()
    time.sleep(0.2)
    back = _again(follower)
    back.send_join()
    leader.wait_for(27, "is told: a static member was replaced")
    follower.synced("waited, and was replaced")
    leader.send_join().joined("joined with the replacement")
    back.joined("replaced the one that synced")


def _stays_away(s):
    """A static member that does not rejoin keeps its place until its session ends."""
    leader, follower = _pair(s, "static-away", rebalance=1500, session=8000)
    started = time.monotonic()
    leader.send_join().joined("joined: the other one is away")
    s.waited("until it went on without the other one", started, 1.2, 4)
    leader.sync([(leader, b"mine"), (follower, b"kept")])
    follower.sync((), "what was kept")
    follower.heartbeat("is back")


def _wrong_pairs(s):
    group = "static-wrong"
    leader, follower = _pair(s, group)
    s.call("another's instance", "Heartbeat", 4, {
        "GroupId": group, "GenerationId": leader.generation, "MemberId": leader.id, "GroupInstanceId": "i-two"
        if leader.name == "one" else "i-one"})
    leader.heartbeat("without its instance", GroupInstanceId=None)
    leader.sync((), "syncs without its instance", GroupInstanceId=None)
    leader.commit("commits without its instance", "static-topic", 3, GroupInstanceId=None)
    leader.heartbeat("unknown instance", GroupInstanceId="nobody")
    pending = Member(s, group, "pending").take_id()
    pending.instance = "i-late"
    pending.send_join().joined("a given id, and now an instance")
    follower.send_join(MemberId="unknown").joined("unknown id for a known instance")
    _fixed(s, group, "new").send_join(MemberId="unknown").joined("unknown id for a new instance")
