"""DescribeCluster, FindCoordinator, DescribeTopicPartitions."""


def run(s):
    for version in range(3):
        s.call(f"cluster v{version}", "DescribeCluster", version, {})
        s.call(f"cluster with operations v{version}", "DescribeCluster", version,
               {"IncludeClusterAuthorizedOperations": True})
    s.call("controllers", "DescribeCluster", 1, {"EndpointType": 2})
    s.call("endpoint type 9", "DescribeCluster", 1, {"EndpointType": 9})
    _coordinators(s)
    _topic_partitions(s)


def _coordinators(s):
    for version in range(7):
        old = version < 4
        body = {"Key": "some-group"} if old else {"CoordinatorKeys": ["some-group", "another"]}

        def error(answer):
            return answer["ErrorCode"] if old else max(c["ErrorCode"] for c in answer["Coordinators"])

        s.patient(f"group v{version}", "FindCoordinator", version, body, error)
        if version >= 1:
            s.call(f"key type 9 v{version}", "FindCoordinator", version, {**body, "KeyType": 9})
        empty = {"Key": ""} if old else {"CoordinatorKeys": [""]}
        s.call(f"empty group v{version}", "FindCoordinator", version, empty)
    s.call("no keys", "FindCoordinator", 4, {"CoordinatorKeys": []})
    s.call("key twice", "FindCoordinator", 4, {"CoordinatorKeys": ["some-group", "some-group"]})


def _topic_partitions(s):
    s.topic("described-a", 3)
    s.topic("described-b", 2)
    both = [{"Name": "described-a"}, {"Name": "described-b"}]

    def ask(label, topics, limit=2000, cursor=None):
        s.call(label, "DescribeTopicPartitions", 0, {"Topics": topics, "ResponsePartitionLimit": limit,
                                                     "Cursor": cursor})

    ask("both", both)
    ask("reversed", both[::-1])
    ask("unknown", [{"Name": "not-there"}, *both])
    ask("invalid", [{"Name": "a b"}])
    for limit in (1, 3, 4, 0, -1):
        ask(f"limit {limit}", both, limit)
    for topic, partition in (("described-a", 2), ("described-a", 3), ("described-b", 0),
                             ("described-b", 1), ("described-aa", 0), ("zzz", 0), ("described-a", -1)):
        ask(f"from {topic} {partition}", both, 2, {"TopicName": topic, "PartitionIndex": partition})
