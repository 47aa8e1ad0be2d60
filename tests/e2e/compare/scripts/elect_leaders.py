"""ElectLeaders: the one broker leads everything, so no election is ever needed."""


def run(s):
    s.topic("elected", 3)
    s.topic("elected-too", 1)
    for version in range(3):
        types = [{}] if version == 0 else [{"ElectionType": type} for type in (0, 1)]
        for type in types:
            label = f"v{version} {type.get('ElectionType', '')}"
            _ask(s, f"led {label}", version, type, [("elected", [0, 1, 2]), ("elected-too", [0])])
            _ask(s, f"nothing {label}", version, type, [])
            _ask(s, f"no partitions {label}", version, type, [("elected", [])])
            _everything(s, label, version, type)
            _ask(s, f"unknown {label}", version, type, [("not-there", [0]), ("elected", [3, -1, 0])])
            _ask(s, f"topic twice {label}", version, type, [("elected", [0, 0]), ("elected", [1])])
            _ask(s, f"names {label}", version, type, [("", [0]), ("a b", [0])])
    for version in (1, 2):
        for type in (2, -1, 127):
            _ask(s, f"type {type} v{version}", version, {"ElectionType": type}, [("elected", [0]), ("not-there", [7])])
            _ask(s, f"type {type} of nothing v{version}", version, {"ElectionType": type}, [])
            _ask(s, f"type {type} of everything v{version}", version, {"ElectionType": type}, None)


def _ask(s, label, version, type, topics):
    rows = None if topics is None else [{"Topic": name, "Partitions": partitions} for name, partitions in topics]
    s.call(label, "ElectLeaders", version, {**type, "TopicPartitions": rows})


def _everything(s, label, version, type):
    """Which topics there are depends on the scripts before."""
    answer = s.main.call("ElectLeaders", version, {**type, "TopicPartitions": None})
    rows = {row["Topic"]: row["PartitionResult"] for row in answer["ReplicaElectionResults"]}
    s.note(f"everything {label}", {"error": answer.get("ErrorCode", 0), "needed": [rows for rows in rows.values() if rows],
                                   "named": ["elected" in rows, "elected-too" in rows]})
