"""OffsetFetch beyond the plain case: several groups, all topics, ids, stable offsets, topics named twice."""

UNKNOWN = b"\x77" * 16


def run(s):
    ids = {name: s.topic(name, 2) for name in ("fetched-a", "fetched-b")}
    for number in range(4):
        for name in ids:
            s.main.call("OffsetCommit", 8, {"GroupId": f"fetch-{number}", "Topics": [{"Name": name, "Partitions": [
                {"PartitionIndex": partition, "CommittedOffset": 10 * number + partition, "CommittedLeaderEpoch": partition,
                 "CommittedMetadata": f"{name} {partition}"} for partition in (0, 1)]}]})
    for version in (8, 9):
        _by_name(s, version)
    _by_id(s, ids)
    for version in (1, 2, 5, 7):
        body = {"GroupId": "fetch-1", "Topics": [
            {"Name": "fetched-a", "PartitionIndexes": [1, 1, 0]}, {"Name": "fetched-a", "PartitionIndexes": [0]},
            {"Name": "fetched-b", "PartitionIndexes": []}, {"Name": "", "PartitionIndexes": [0]}]}
        if version >= 7:
            body["RequireStable"] = True
        s.call(f"twice v{version}", "OffsetFetch", version, body)
        s.call(f"no topics v{version}", "OffsetFetch", version, {"GroupId": "fetch-1", "Topics": []})
    s.call("stable, all v7", "OffsetFetch", 7, {"GroupId": "fetch-2", "Topics": None, "RequireStable": True})


def _by_name(s, version):
    topics = [{"Name": "fetched-a", "PartitionIndexes": [0, 1, 5]}, {"Name": "no-such", "PartitionIndexes": [0]}]
    for stable in (False, True):
        s.call(f"several v{version} stable {stable}", "OffsetFetch", version, {"RequireStable": stable, "Groups": [
            {"GroupId": "fetch-0", "Topics": topics}, {"GroupId": "fetch-1", "Topics": None},
            {"GroupId": "never-there", "Topics": topics}, {"GroupId": "never-there-either", "Topics": None},
            {"GroupId": "", "Topics": topics}, {"GroupId": "fetch-2", "Topics": []},
            {"GroupId": "fetch-3", "Topics": [{"Name": "fetched-b", "PartitionIndexes": []}]}]})
    s.call(f"the same group twice v{version}", "OffsetFetch", version, {"Groups": [
        {"GroupId": "fetch-0", "Topics": topics}, {"GroupId": "fetch-0", "Topics": None}]})


def _by_id(s, ids):
    a, b = ids["fetched-a"], ids["fetched-b"]
    s.call("by id", "OffsetFetch", 10, {"Groups": [
        {"GroupId": "fetch-0", "Topics": [{"TopicId": a, "PartitionIndexes": [0, 1, 5]}]},
        {"GroupId": "fetch-1", "Topics": None},
        {"GroupId": "fetch-2", "Topics": [{"TopicId": UNKNOWN, "PartitionIndexes": [0, 1]},
                                          {"TopicId": b, "PartitionIndexes": [1]}]},
        {"GroupId": "fetch-3", "Topics": [{"TopicId": b"\0" * 16, "PartitionIndexes": [0]}]},
        {"GroupId": "never-there", "Topics": [{"TopicId": a, "PartitionIndexes": [0]},
                                              {"TopicId": UNKNOWN, "PartitionIndexes": [0]}]}]})
    s.call("only unknown ids", "OffsetFetch", 10, {"RequireStable": True, "Groups": [
        {"GroupId": "fetch-0", "Topics": [{"TopicId": UNKNOWN, "PartitionIndexes": [0]}]}]})
    s.call("an unknown id without partitions", "OffsetFetch", 10, {"Groups": [
        {"GroupId": "fetch-0", "Topics": [{"TopicId": UNKNOWN, "PartitionIndexes": []}]}]})
    for topic in (a, UNKNOWN, b"\0" * 16):
        s.call(f"commit by id {topic in (a,)}", "OffsetCommit", 10, {"GroupId": "fetch-ids", "Topics": [
            {"TopicId": topic, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 3, "CommittedMetadata": None},
                                              {"PartitionIndex": 4, "CommittedOffset": 3}]}]})
    s.call("committed by id, fetched by name", "OffsetFetch", 8, {"Groups": [{"GroupId": "fetch-ids", "Topics": None}]})
    s.call("members", "OffsetFetch", 9, {"Groups": [
        {"GroupId": "fetch-0", "MemberId": "x", "MemberEpoch": 1, "Topics": None},
        {"GroupId": "fetch-0", "MemberId": None, "MemberEpoch": 0, "Topics": None},
        {"GroupId": "never-there", "MemberId": "x", "MemberEpoch": 1, "Topics": None}]})
