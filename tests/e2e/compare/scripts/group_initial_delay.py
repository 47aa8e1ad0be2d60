"""group.initial.rebalance.delay.ms: the first members of a group wait for more, each new one prolongs it up to the
rebalance timeout."""

import time

from tests.e2e.compare.group_members import Member

OVERRIDES = {"group.initial.rebalance.delay.ms": 1000}


def run(s):
    started = time.monotonic()
    one = Member(s, "delayed", "one")
    one.join("alone")
    s.waited("the first one waited", started, 0.9, 1.7)
    _prolonged(s)
    _bounded(s)
    one.sync([(one, b"all")])
    two = Member(s, one.group, "two").take_id()
    started = time.monotonic()
    two.send_join()
    one.wait_for(27)
    one.send_join()
    one.joined("joined with two")
    two.joined("joined with one")
    s.waited("no delay when the group has members", started, 0, 0.8)
    one.leave()
    two.leave()
    started = time.monotonic()
    Member(s, one.group, "after").join("into the empty group")
    s.waited("the empty group waits again", started, 0.9, 1.7)


def _prolonged(s):
    started = time.monotonic()
    one, two = (Member(s, "delayed-two", name).take_id() for name in ("one", "two"))
    one.send_join()
    time.sleep(0.6)
    two.send_join()
    one.joined("waited for two")
    two.joined("was waited for")
    s.waited("prolonged once", started, 1.7, 2.6)


def _bounded(s):
    """Not longer than the rebalance timeout."""
    started = time.monotonic()
    one, two, three = (Member(s, "delayed-three", name, rebalance=1500).take_id() for name in ("one", "two", "three"))
    one.send_join()
    time.sleep(0.5)
    two.send_join()
    time.sleep(0.8)
    three.send_join()
    for member in (one, two, three):
        member.joined("at the end")
    s.waited("the whole delay", started, 1.3, 2.2)
