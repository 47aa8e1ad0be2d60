"""AlterPartitionReassignments and ListPartitionReassignments where one broker has every replica."""


def run(s):
    s.topic("assigned", 2)
    for version in range(2):
        flags = [{}] if version == 0 else [{"AllowReplicationFactorChange": allow} for allow in (True, False)]
        for flag in flags:
            label = f"v{version} {flag.get('AllowReplicationFactorChange', '')}"
            _alter(s, f"as it is {label}", version, flag, [("assigned", [(0, [1]), (1, [1])])])
            _alter(s, f"nothing {label}", version, flag, [])
            _alter(s, f"no partitions {label}", version, flag, [("assigned", [])])
            _alter(s, f"cancel {label}", version, flag, [("assigned", [(0, None), (1, None)])])
            _alter(s, f"bad {label}", version, flag,
                   [("assigned", [(0, []), (1, [2]), (0, [1, 1]), (1, [1, 2]), (0, [2, 1]), (1, [-1])])])
            _alter(s, f"unknown {label}", version, flag,
                   [("not-there", [(0, [1]), (1, None)]), ("assigned", [(2, [1]), (-1, [1]), (2, None)])])
            _alter(s, f"twice {label}", version, flag, [("assigned", [(0, [1])]), ("assigned", [(0, [1])])])
    every = [None, [], [("assigned", [0, 1])], [("not-there", [0])], [("assigned", [])], [("assigned", [9, -1])]]
    for topics in every:
        rows = topics and [{"Name": name, "PartitionIndexes": indexes} for name, indexes in topics]
        s.call(f"list {topics}", "ListPartitionReassignments", 0, {"Topics": rows})


def _alter(s, label, version, flag, topics):
    s.call(label, "AlterPartitionReassignments", version, {**flag, "Topics": [
        {"Name": name, "Partitions": [{"PartitionIndex": index, "Replicas": replicas}
                                      for index, replicas in partitions]} for name, partitions in topics]})
