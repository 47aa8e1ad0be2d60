"""CreateTopics, CreatePartitions, DeleteTopics: every version, every validation."""

import time


def run(s):
    def create(label, version=7, validate=False, topics=None, **topic):
        topics = topics or [{"NumPartitions": 1, "ReplicationFactor": 1, **topic}]
        return s.call(label, "CreateTopics", version,
                      {"Topics": topics, "timeoutMs": 30000, "validateOnly": validate})

    def config(name, value):
        return [{"Name": name, "Value": value}]

    for version in range(2, 8):
        plain = s.main.call("CreateTopics", version, {"timeoutMs": 30000, "Topics": [
            {"Name": f"create-{version}", "NumPartitions": 2, "ReplicationFactor": 1,
             "Configs": config("retention.ms", "86400000")}]})
        for row in plain["Topics"]:
            row["Configs"] = _chosen(row.get("Configs"))
        s.record(f"create v{version}", "CreateTopics", version, plain)
        s.call(f"exists v{version}", "CreateTopics", version, {"timeoutMs": 30000, "Topics": [
            {"Name": f"create-{version}", "NumPartitions": 2, "ReplicationFactor": 1}]})
    for label, name in (("empty", ""), ("space", "a b"), ("dot", "."), ("long", "x" * 250)):
        create(f"name {label}", Name=name)
    for partitions in (0, -2):
        create(f"{partitions} partitions", Name="bad", NumPartitions=partitions)
    for factor in (0, -2, 2):
        create(f"replication factor {factor}", Name="bad", ReplicationFactor=factor)
    answer = s.main.call("CreateTopics", 7, {"timeoutMs": 30000, "Topics": [
        {"Name": "create-default", "NumPartitions": -1, "ReplicationFactor": -1}]})
    s.note("default counts", [(row["ErrorCode"], row["NumPartitions"], row["ReplicationFactor"])
                              for row in answer["Topics"]])
    answer = s.main.call("CreateTopics", 7, {"timeoutMs": 30000, "validateOnly": True, "Topics": [
        {"Name": "create-only-checked", "NumPartitions": 3, "ReplicationFactor": 1}]})
    s.note("validate only", [(row["ErrorCode"], row["NumPartitions"], set(row["TopicId"]) == {0})
                             for row in answer["Topics"]])
    s.call("validated is not made", "Metadata", 12, {"Topics": [{"Name": "create-only-checked"}],
                                                     "AllowAutoTopicCreation": False})
    create("validate an existing one", validate=True, Name="create-7")
    create("unknown config", Name="bad", Configs=config("no.such.key", "1"))
    create("bad config value", Name="bad", Configs=config("retention.ms", "soon"))
    create("config out of range", Name="bad", Configs=config("segment.bytes", "-1"))
    create("bad cleanup policy", Name="bad", Configs=config("cleanup.policy", "shred"))
    create("null config value", Name="bad", Configs=config("retention.ms", None))
    create("assignment and counts", Name="bad", NumPartitions=1, ReplicationFactor=1,
           Assignments=[{"PartitionIndex": 0, "BrokerIds": [1]}])
    for label, rows in (("one", [(0, [1])]), ("unknown broker", [(0, [99])]), ("twice", [(0, [1, 1])]),
                        ("gap", [(0, [1]), (2, [1])]), ("empty", [(0, [])])):
        answer = s.main.call("CreateTopics", 7, {"timeoutMs": 30000, "Topics": [
            {"Name": f"create-assigned-{label.replace(' ', '-')}", "NumPartitions": -1,
             "ReplicationFactor": -1, "Assignments": [
                 {"PartitionIndex": partition, "BrokerIds": brokers} for partition, brokers in rows]}]})
        s.note(f"assignment {label}", [(row["ErrorCode"], row["NumPartitions"])
                                       for row in answer["Topics"]])
    same = {"NumPartitions": 1, "ReplicationFactor": 1}
    create("twice in one request", topics=[{"Name": "create-twin", **same}, {"Name": "create-twin", **same}])
    s.main.call("CreateTopics", 7, {"timeoutMs": 30000, "Topics": [{"Name": "create.col", **same}]})
    create("colliding name", Name="create_col")
    answer = s.main.call("CreateTopics", 7, {"timeoutMs": 30000, "validateOnly": True, "Topics": [
        {"Name": "__consumer_offsets_x", **same}]})
    s.note("name like an internal one", [row["ErrorCode"] for row in answer["Topics"]])
    s.call("nothing", "CreateTopics", 7, {"timeoutMs": 30000, "Topics": []})

    _partitions(s)
    _delete(s)


def _chosen(configs):
    """Of the configurations in the answer only what the request set: defaults are a script of their own."""
    return None if configs is None else [row for row in configs if row["Name"] == "retention.ms"]


def _partitions(s):
    for version in range(4):
        s.call(f"more partitions v{version}", "CreatePartitions", version, {
            "TimeoutMs": 30000, "Topics": [{"Name": "create-7", "Count": 3 + version,
                                            "Assignments": None}]})
    for label, count in (("same count", 6), ("fewer", 1), ("zero", 0), ("negative", -1)):
        s.call(f"{label} partitions", "CreatePartitions", 3, {
            "TimeoutMs": 30000, "Topics": [{"Name": "create-7", "Count": count, "Assignments": None}]})
    s.call("partitions of an unknown topic", "CreatePartitions", 3, {
        "TimeoutMs": 30000, "Topics": [{"Name": "not-there", "Count": 3, "Assignments": None}]})
    for label, brokers in (("good", [[1]]), ("unknown broker", [[88]]), ("too many", [[1], [1]])):
        s.call(f"partition assignment {label}", "CreatePartitions", 3, {
            "TimeoutMs": 30000, "ValidateOnly": True, "Topics": [
                {"Name": "create-7", "Count": 7, "Assignments": [{"BrokerIds": b} for b in brokers]}]})
    s.call("topic twice", "CreatePartitions", 3, {"TimeoutMs": 30000, "Topics": [
        {"Name": "create-7", "Count": 8, "Assignments": None},
        {"Name": "create-7", "Count": 9, "Assignments": None}]})
    _until_partitions(s, "create-7", 6)
    s.call("partitions now", "Metadata", 12, {"Topics": [{"Name": "create-7"}]})


def _until_partitions(s, name, count):
    """Apache Kafka's metadata follows its controller a moment later."""
    for _ in range(200):
        answer = s.main.call("Metadata", 12, {"Topics": [{"Name": name}]})
        partitions = answer["Topics"][0]["Partitions"]
        if len(partitions) == count and all(p["ErrorCode"] == 0 for p in partitions):
            return
        time.sleep(0.02)


def _delete(s):
    for version in range(1, 6):
        s.call(f"delete v{version}", "DeleteTopics", version, {
            "TopicNames": [f"create-{version}", "not-there"], "TimeoutMs": 30000})
    topic = s.topic("delete-by-id")
    s.call("delete by id", "DeleteTopics", 6, {"TimeoutMs": 30000, "Topics": [{"TopicId": topic}]})
    s.call("delete by id again", "DeleteTopics", 6, {"TimeoutMs": 30000, "Topics": [{"TopicId": topic}]})
    s.call("delete by name", "DeleteTopics", 6, {"TimeoutMs": 30000, "Topics": [
        {"Name": "create-6", "TopicId": bytes(16)}]})
    s.call("delete by name and id", "DeleteTopics", 6, {"TimeoutMs": 30000, "Topics": [
        {"Name": "create-7", "TopicId": topic}]})
    s.call("delete by nothing", "DeleteTopics", 6, {"TimeoutMs": 30000, "Topics": [
        {"TopicId": bytes(16)}]})
    s.call("delete twice in one", "DeleteTopics", 5, {"TopicNames": ["create-7", "create-7"],
                                                      "TimeoutMs": 30000})
