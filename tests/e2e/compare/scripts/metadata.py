"""Metadata: every version, unknown and invalid names, by id, all topics, auto-creation."""

import time

from tests.support import kafka_codec as codec


def run(s):
    topic = s.topic("metadata", 3)
    for version in range(14):
        s.call(f"known v{version}", "Metadata", version,
               {"Topics": [{"Name": "metadata"}], "AllowAutoTopicCreation": False}, fit=True)
        if version >= 4:
            s.call(f"unknown v{version}", "Metadata", version,
                   {"Topics": [{"Name": "not-there"}, {"Name": "metadata"}],
                    "AllowAutoTopicCreation": False})
        if version >= 1:
            s.call(f"none v{version}", "Metadata", version, {"Topics": []})
            all_topics = s.main.call("Metadata", version, {"Topics": None})
            s.note(f"all v{version}", _mine(all_topics))
    s.note("all v0", _mine(s.main.call("Metadata", 0, {"Topics": []})))
    for label, name in (("empty", ""), ("space", "a b"), ("dot", "."), ("dots", ".."), ("long", "x" * 250),
                        ("slash", "a/b"), ("not ascii", "\u00e9")):
        for allow in (False, True):
            s.call(f"name {label} create {allow}", "Metadata", 12,
                   {"Topics": [{"Name": name}], "AllowAutoTopicCreation": allow})
    s.call("longest name", "Metadata", 12, {"Topics": [{"Name": "x" * 249}],
                                            "AllowAutoTopicCreation": False})
    for version in (10, 11, 12, 13):
        answer = s.call(f"by id v{version}", "Metadata", version,
                        {"Topics": [{"TopicId": topic, "Name": None}], "AllowAutoTopicCreation": False})
        s.note(f"answered v{version}", "Topics" in answer)
    s.call("by unknown id", "Metadata", 12, {"Topics": [{"TopicId": b"\x44" * 16, "Name": None}]})
    s.call("by id and name", "Metadata", 12, {"Topics": [{"TopicId": topic, "Name": "metadata"}]})
    s.call("by no id and no name", "Metadata", 12, {"Topics": [{"TopicId": codec.ZERO_UUID,
                                                                "Name": None}]})
    s.call("topic twice", "Metadata", 12, {"Topics": [{"Name": "metadata"}, {"Name": "metadata"}],
                                           "AllowAutoTopicCreation": False})
    for version in (8, 12):
        s.call(f"authorized operations v{version}", "Metadata", version, {
            "Topics": [{"Name": "metadata"}], "IncludeTopicAuthorizedOperations": True,
            "IncludeClusterAuthorizedOperations": True}, fit=True)
    first = s.main.call("Metadata", 12, {"Topics": [{"Name": "made-by-metadata"}],
                                         "AllowAutoTopicCreation": True})
    # Apache Kafka says "unknown" or "no leader" until the topic has one.
    s.note("auto-creation begins with", first["Topics"][0]["ErrorCode"] in (0, 3, 5))
    end = time.monotonic() + 10
    while time.monotonic() < end:
        made = s.main.call("Metadata", 12, {"Topics": [{"Name": "made-by-metadata"}]})
        if made["Topics"][0]["ErrorCode"] == 0:
            break
    s.record("made by itself", "Metadata", 12, made)


def _mine(answer):
    return sorted((row["Name"], row["ErrorCode"], len(row["Partitions"])) for row in answer["Topics"]
                  if row["Name"].startswith("metadata"))
