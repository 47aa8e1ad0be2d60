"""__consumer_offsets as the broker is configured to make it, and groups that live in it."""

from tests.e2e.compare.group_members import Member

OVERRIDES = {"offsets.topic.num.partitions": 3, "offsets.topic.segment.bytes": 2097152,
             "offsets.topic.compression.codec": 4, "offsets.load.buffer.size": 1000,
             "offsets.commit.timeout.ms": 10000}
NAME = "__consumer_offsets"


def run(s):
    s.topic("in-offsets")
    answer = s.main.call("Metadata", 12, {"Topics": [{"Name": NAME, "TopicId": b"\0" * 16}]})
    s.topic_names[answer["Topics"][0]["TopicId"]] = NAME
    s.record("the topic", "Metadata", 12, answer)
    s.call("its configuration", "DescribeConfigs", 4, {"Resources": [{
        "ResourceType": 2, "ResourceName": NAME, "ConfigurationKeys": [
            "cleanup.policy", "compression.type", "segment.bytes", "retention.ms"]}]})
    s.call("the broker's", "DescribeConfigs", 4, {"Resources": [{
        "ResourceType": 4, "ResourceName": "1", "ConfigurationKeys": list(OVERRIDES)}]})
    member = Member(s, "lives-in-offsets", "member")
    member.join()
    member.sync([(member, b"a" * 10000)])
    member.commit("commits", "in-offsets", 5)
    s.call("described", "DescribeGroups", 5, {"Groups": [member.group]})
    s.call("fetched", "OffsetFetch", 8, {"Groups": [{"GroupId": member.group, "Topics": None}]})
    s.call("a client writes to it", "CreateTopics", 7, {"timeoutMs": 5000, "Topics": [
        {"Name": NAME, "NumPartitions": 1, "ReplicationFactor": 1}]})
