"""Committed offsets of topics that are deleted, and made again under the same name; by name and by id."""

import time

from tests.e2e.compare.group_members import Member, subscription


def run(s):
    old = s.topic("gone", 2)
    s.topic("stays", 1)
    _commit(s, 9, "gone-by-name", {"Name": "gone"})
    _commit(s, 9, "gone-by-name", {"Name": "stays"}, partition=0)
    _commit(s, 10, "gone-by-id", {"TopicId": old})
    member = Member(s, "gone-members", "member", protocols=[("range", subscription("gone", "stays"))])
    member.join()
    member.sync([(member, b"all")])
    member.commit("commits", "gone", 6)
    member.commit("commits what stays", "stays", 6)
    s.call("delete", "DeleteTopics", 6, {"Topics": [{"Name": "gone", "TopicId": b"\0" * 16}], "TimeoutMs": 10000})
    _wait(s, "gone-by-name", 1)
    _wait(s, "gone-by-id", 0)
    _wait(s, "gone-members", 1)
    _look(s, "deleted", old)
    member.commit("commits for a topic that is gone", "gone", 7)
    new = s.topic("gone", 2)
    _look(s, "made again", old, new)
    _commit(s, 10, "gone-by-id", {"TopicId": old})
    _commit(s, 10, "gone-by-id", {"TopicId": new}, 8)
    _look(s, "committed again", old, new)


def _commit(s, version, group, topic, offset=5, partition=1):
    s.call(f"{group}: commit {offset}", "OffsetCommit", version, {"GroupId": group, "Topics": [
        {**topic, "Partitions": [{"PartitionIndex": partition, "CommittedOffset": offset, "CommittedMetadata": "m"}]}]})


def _wait(s, group, topics):
    """Apache Kafka deletes the offsets some time after the topic."""
    end = time.monotonic() + 20
    body = {"RequireStable": True, "Groups": [{"GroupId": group, "Topics": None}]}
    while time.monotonic() < end:
        if len(s.main.call("OffsetFetch", 8, body)["Groups"][0]["Topics"]) == topics:
            return
        time.sleep(0.05)
    s.note(f"{group} keeps offsets of a deleted topic", True)


def _look(s, label, *ids):
    for group in ("gone-by-name", "gone-by-id", "gone-members"):
        s.call(f"{label}: {group} by name", "OffsetFetch", 8, {"Groups": [
            {"GroupId": group, "Topics": [{"Name": "gone", "PartitionIndexes": [0, 1]}]}]})
        s.call(f"{label}: {group} all", "OffsetFetch", 8, {"Groups": [{"GroupId": group, "Topics": None}]})
        s.call(f"{label}: {group} described", "DescribeGroups", 6, {"Groups": [group]})
        for number, topic_id in enumerate(ids):
            s.call(f"{label}: {group} by id {number}", "OffsetFetch", 10, {"Groups": [
                {"GroupId": group, "Topics": [{"TopicId": topic_id, "PartitionIndexes": [1]}]}]})
            s.call(f"{label}: {group} all, with ids {number}", "OffsetFetch", 10, {
                "Groups": [{"GroupId": group, "Topics": None}]})
