"""DescribeQuorum as a client's listener answers it. The numbers that grow with the metadata log, and the times,
are told as facts: they are each broker's own."""

METADATA = "__cluster_metadata"
_NUMBERS = ("HighWatermark", "LogEndOffset", "LastFetchTimestamp", "LastCaughtUpTimestamp")


def run(s):
    for version in range(3):
        answer = _ask(s, version, [(METADATA, [0])])
        s.note(f"quorum v{version}", _facts(answer))
    _refused(s, "no topic", [])
    _refused(s, "unknown topic", [("not-there", [0])])
    _refused(s, "another partition", [(METADATA, [1])])
    _refused(s, "no partition", [(METADATA, [])])
    _refused(s, "two partitions", [(METADATA, [0, 1])])
    _refused(s, "partition twice", [(METADATA, [0, 0])])
    _refused(s, "two topics", [(METADATA, [0]), ("not-there", [0])])
    _refused(s, "topic twice", [(METADATA, [0]), (METADATA, [0])])
    _refused(s, "negative partition", [(METADATA, [-1])])


def _body(topics):
    return {"Topics": [{"TopicName": name, "Partitions": [{"PartitionIndex": index} for index in partitions]}
                       for name, partitions in topics]}


def _ask(s, version, topics):
    return s.main.call("DescribeQuorum", version, _body(topics))


def _refused(s, label, topics):
    for version in range(3):
        s.call(f"{label} v{version}", "DescribeQuorum", version, _body(topics))


def _facts(answer):
    """Everything but the numbers; of these, how they stand to each other."""
    (topic,) = answer["Topics"]
    (partition,) = topic["Partitions"]
    voters = partition["CurrentVoters"]
    plain = {name: value for name, value in partition.items()
             if name not in (*_NUMBERS, "LeaderEpoch", "CurrentVoters", "ErrorMessage")}
    return {
        "error": answer["ErrorCode"], "message": answer.get("ErrorMessage"), "topic": topic["TopicName"],
        "partition": plain, "partition message": partition.get("ErrorMessage"),
        "epoch": partition["LeaderEpoch"] > 0,
        "voters": [voter["ReplicaId"] for voter in voters],
        "voter is caught up": all(0 <= partition["HighWatermark"] <= voter["LogEndOffset"] for voter in voters),
        "voter times": [[voter[name] > 0 for name in _NUMBERS[2:] if name in voter] for voter in voters],
        "directory given": [voter.get("ReplicaDirectoryId", b"") != bytes(16) for voter in voters],
        "nodes": [node["NodeId"] for node in answer.get("Nodes", [])],
    }
