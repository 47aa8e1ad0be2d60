"""The limits that brokers are configured with: group.max.size, session timeouts, offset.metadata.max.bytes."""

import time

from tests.e2e.compare.group_members import Member, rejoin_both

OVERRIDES = {"group.max.size": 2, "group.min.session.timeout.ms": 1000, "group.max.session.timeout.ms": 20000,
             "offset.metadata.max.bytes": 10}


def run(s):
    s.topic("limited")
    for session in (999, 1000, 20000, 20001):
        s.call(f"session timeout {session}", "JoinGroup", 3, {
            "GroupId": f"session-{session}", "SessionTimeoutMs": session, "RebalanceTimeoutMs": 1, "MemberId": "",
            "ProtocolType": "consumer", "Protocols": [{"Name": "range", "Metadata": b""}]})
    _size(s)
    _size_while_joining(s)
    for label, text in (("10 letters", "x" * 10), ("11 letters", "x" * 11), ("10 umlauts", "\u00e4" * 10),
                        ("11 umlauts", "\u00e4" * 11), ("5 beyond 16 bits", "\U0001f600" * 5),
                        ("6 beyond 16 bits", "\U0001f600" * 6)):
        s.call(f"metadata of {label}", "OffsetCommit", 8, {"GroupId": "limited", "Topics": [
            {"Name": "limited", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1, "CommittedMetadata": text}]}]})
    s.call("what is committed", "OffsetFetch", 8, {"Groups": [{"GroupId": "limited", "Topics": None}]})


def _size(s):
    group = "limited-stable"
    one, two = (Member(s, group, name) for name in ("one", "two"))
    one.join()
    one.sync([(one, b"all")])
    rejoin_both(s, one, two)
    three = Member(s, group, "three")
    three.send_join().joined("has no place")
    three.id = "unknown"
    three.send_join().joined("has no place, with an id of its own")
    fixed = Member(s, group, "fixed", instance="fixed")
    fixed.send_join().joined("has no place, static")
    one.heartbeat("goes on")
    # Members that are there may join again.
    one.send_join()
    two.wait_for(27)
    two.send_join()
    one.joined("joined again")
    two.joined("joined again")
    two.leave()
    three.id = ""
    three.take_id()


def _size_while_joining(s):
    """While members join, those count that wait: the last one of the old members finds no place."""
    group = "limited-joining"
    one, two = (Member(s, group, name) for name in ("one", "two"))
    one.join()
    one.sync([(one, b"all")])
    rejoin_both(s, one, two)
    three = Member(s, group, "three")
    one.send_join()
    two.wait_for(27)
    three.take_id().send_join()
    _wait_for_members(s, group, 3)
    four = Member(s, group, "four")
    four.send_join().joined("two wait already")
    two.send_join().joined("comes last, and goes")
    one.joined("joined with three")
    three.joined("joined with one")
    two.heartbeat("is not there any more")


def _wait_for_members(s, group, count):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        described = s.main.call("DescribeGroups", 5, {"Groups": [group]})
        if len(described["Groups"][0]["Members"]) == count:
            break
        time.sleep(0.02)
    s.note(f"{group}: members", len(described["Groups"][0]["Members"]))
