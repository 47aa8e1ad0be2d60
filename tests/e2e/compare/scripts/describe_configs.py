"""DescribeConfigs: chosen keys of topics and the broker, unknown resources."""

_TOPIC, _BROKER = 2, 4
_TOPIC_KEYS = ["retention.ms", "retention.bytes", "segment.bytes", "cleanup.policy", "max.message.bytes"]


def run(s):
    s.topic("configured", 1, {"retention.ms": 86400000})

    def ask(label, resource, name, keys, version=4, **more):
        s.call(label, "DescribeConfigs", version, {"Resources": [
            {"ResourceType": resource, "ResourceName": name, "ConfigurationKeys": keys}], **more}, fit=True)

    for version in range(1, 5):
        ask(f"topic v{version}", _TOPIC, "configured", _TOPIC_KEYS, version)
        ask(f"unknown topic v{version}", _TOPIC, "no-such-topic", None, version)
    ask("with synonyms", _TOPIC, "configured", ["retention.ms", "segment.bytes"], IncludeSynonyms=True)
    ask("unknown key", _TOPIC, "configured", ["no.such.key"])
    for label, keys in (("no keys", []), ("null keys", None)):
        # Which keys there are differs; of these the values.
        answer = s.main.call("DescribeConfigs", 4, {"Resources": [
            {"ResourceType": _TOPIC, "ResourceName": "configured", "ConfigurationKeys": keys}]})
        found = {row["Name"]: row["Value"] for row in answer["Results"][0]["Configs"]}
        s.note(label, {key: found.get(key) for key in _TOPIC_KEYS})
    ask("invalid topic", _TOPIC, "a b", None)
    ask("empty topic", _TOPIC, "", None)
    ask("broker", _BROKER, "1", ["num.partitions", "message.max.bytes"])
    ask("unknown broker", _BROKER, "77", ["num.partitions"])
    ask("broker that is no number", _BROKER, "x", ["num.partitions"])
    ask("unknown type", 99, "x", None)
