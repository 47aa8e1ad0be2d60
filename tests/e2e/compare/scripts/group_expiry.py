"""Offsets and groups that expire: retention given by the commit, retention of the broker since the commit (simple
groups, unsubscribed topics) or since the group is empty; groups that are left with nothing."""

import time

from tests.e2e.compare.group_members import Member, subscription

OVERRIDES = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 300}


def run(s):
    for name in ("expiring", "subscribed"):
        s.topic(name)
    live = Member(s, "expiry-live", "live", protocols=[("range", subscription("subscribed"))], session=20000)
    live.join()
    live.sync([(live, b"all")])
    live.commit("commits what it reads", "subscribed", 1)
    live.commit("commits what it does not read", "expiring", 2)
    other = Member(s, "expiry-connect", "worker", type="connect", session=20000)
    other.join()
    other.sync([(other, b"all")])
    other.commit("commits", "expiring", 3)
    left = Member(s, "expiry-left", "left", protocols=[("range", subscription("subscribed"))])
    left.join()
    left.sync([(left, b"all")])
    left.commit("commits", "subscribed", 4)
    _commit(s, "simple", "expiry-simple", 9, 5)
    _by_the_commit(s)
    empty = Member(s, "expiry-empty", "never committed")
    empty.join()
    empty.leave()
    _until(s, "a group without offsets goes", "expiry-empty", lambda state: state == "Dead")
    started = time.monotonic()
    while time.monotonic() - started < 64:
        live.s.main.call("Heartbeat", 3, _beat(live))
        other.s.main.call("Heartbeat", 3, _beat(other))
        if time.monotonic() - started < 30:
            live.s.main.call("Heartbeat", 3, _beat(left))
        elif left.id:
            left.leave("leaves after half of the time")
            left.id = ""
        time.sleep(1)
    for group in ("expiry-live", "expiry-connect", "expiry-left", "expiry-simple"):
        _look(s, "after a minute", group)
    for _ in range(36):
        live.s.main.call("Heartbeat", 3, _beat(live))
        time.sleep(1)
    _look(s, "a minute after leaving", "expiry-left")
    _look(s, "after all that", "expiry-live")


def _beat(member):
    return {"GroupId": member.group, "GenerationId": member.generation, "MemberId": member.id}


def _commit(s, label, group, version, offset, **more):
    s.call(f"{label} commit", "OffsetCommit", version, {"GroupId": group, **more, "Topics": [
        {"Name": "expiring", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": offset,
                                             "CommittedMetadata": ""}]}]})


def _by_the_commit(s):
    for version in (2, 3, 4):
        group = f"expiry-own-{version}"
        _commit(s, f"1 s v{version}", group, version, 1, RetentionTimeMs=1000)
        _commit(s, f"an hour v{version}", f"{group}-long", version, 2, RetentionTimeMs=3600000)
        _commit(s, f"negative v{version}", f"{group}-negative", version, 3, RetentionTimeMs=-2)
        _commit(s, f"zero v{version}", f"{group}-zero", version, 4, RetentionTimeMs=0)
    for version in (2, 3, 4):
        for kind in ("", "-negative", "-zero"):
            _until(s, f"gone{kind} v{version}", f"expiry-own-{version}{kind}", lambda state: state == "Dead")
        _look(s, "kept", f"expiry-own-{version}-long")


def _until(s, label, group, wanted):
    end = time.monotonic() + 15
    while time.monotonic() < end:
        answer = s.main.call("DescribeGroups", 5, {"Groups": [group]})
        if wanted(answer["Groups"][0]["GroupState"]):
            break
        time.sleep(0.1)
    s.record(label, "DescribeGroups", 5, answer)


def _look(s, label, group):
    s.call(f"{label}: {group} described", "DescribeGroups", 6, {"Groups": [group]})
    s.call(f"{label}: {group} offsets", "OffsetFetch", 8, {"Groups": [{"GroupId": group, "Topics": None}]})
