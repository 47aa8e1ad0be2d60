"""DescribeConfigs: every kind of resource, chosen keys and all, synonyms, unknown resources."""

_TOPIC, _BROKER, _LOGGER, _METRICS, _GROUP = 2, 4, 8, 16, 32
_TOPIC_KEYS = ["retention.ms", "retention.bytes", "segment.bytes", "cleanup.policy", "max.message.bytes"]
# Set at start, for their part in answers. The sources of the others' values differ: Apache Kafka runs with a
# larger file.
OVERRIDES = {"log.retention.hours": "168", "log.roll.ms": "604800000",
             "log.cleaner.delete.retention.ms": "+86400000", "log.preallocate": "FALSE",
             "my.own.setting": "x"}


def run(s):
    s.topic("configured", 1, {"retention.ms": 86400000})

    def ask(label, resource, name, keys, version=4, **more):
        return s.call(label, "DescribeConfigs", version, {"Resources": [
            {"ResourceType": resource, "ResourceName": name, "ConfigurationKeys": keys}], **more}, fit=True)

    def rows(resource, name, keys=None):
        answer = s.main.call("DescribeConfigs", 4, {"Resources": [
            {"ResourceType": resource, "ResourceName": name, "ConfigurationKeys": keys}]})
        return answer["Results"][0]["Configs"]

    for version in range(1, 5):
        ask(f"topic v{version}", _TOPIC, "configured", _TOPIC_KEYS, version)
        ask(f"unknown topic v{version}", _TOPIC, "no-such-topic", None, version)
    ask("with synonyms", _TOPIC, "configured", None, IncludeSynonyms=True, IncludeDocumentation=True)
    ask("unknown key", _TOPIC, "configured", ["no.such.key"])
    ask("no keys", _TOPIC, "configured", [])
    ask("null keys", _TOPIC, "configured", None)
    ask("invalid topic", _TOPIC, "a b", None)
    ask("empty topic", _TOPIC, "", None)

    ask("broker", _BROKER, "1", ["num.partitions", "message.max.bytes"])
    ask("broker with synonyms", _BROKER, "1", [
        "log.retention.hours", "log.retention.ms", "log.roll.ms", "log.roll.hours", "log.preallocate",
        "log.cleaner.delete.retention.ms", "ssl.key.password", "my.own.setting", "node.id", "broker.id"],
        IncludeSynonyms=True, IncludeDocumentation=True)
    s.note("keys of a broker", {row["Name"]: (row["ConfigType"], row["ReadOnly"], row["IsSensitive"])
                                for row in rows(_BROKER, "1")})
    s.note("documented", sorted(row["Name"] for row in s.main.call("DescribeConfigs", 4, {
        "IncludeDocumentation": True, "Resources": [
            {"ResourceType": _BROKER, "ResourceName": "1", "ConfigurationKeys": None}]})["Results"][0]["Configs"]
        if not row["Documentation"]))
    ask("unknown broker", _BROKER, "77", ["num.partitions"])
    ask("broker that is no number", _BROKER, "x", ["num.partitions"])
    ask("all brokers, unset key", _BROKER, "", ["log.retention.ms"])

    for row in rows(_LOGGER, "1", ["root"]):
        s.note("logger", {**row, "Value": None})
    ask("unknown logger", _LOGGER, "1", ["no.such.logger"])
    for label, name in (("of another broker", "2"), ("of no number", "x"), ("without a name", "")):
        ask(f"loggers {label}", _LOGGER, name, None)

    ask("group", _GROUP, "some-group", None, IncludeSynonyms=True, IncludeDocumentation=True)
    ask("group without a name", _GROUP, "", None)
    ask("client metrics", _METRICS, "some-metrics", None, IncludeSynonyms=True, IncludeDocumentation=True)
    ask("client metrics without a name", _METRICS, "", None)

    for kind in (0, 1, 3, 64, 99, -1):
        ask(f"type {kind}", kind, "x", None)
    s.call("several", "DescribeConfigs", 4, {"Resources": [
        {"ResourceType": _TOPIC, "ResourceName": "configured", "ConfigurationKeys": ["retention.ms"]},
        {"ResourceType": _TOPIC, "ResourceName": "configured", "ConfigurationKeys": ["retention.ms"]},
        {"ResourceType": _BROKER, "ResourceName": "1", "ConfigurationKeys": ["node.id"]},
        {"ResourceType": _TOPIC, "ResourceName": "no-such-topic", "ConfigurationKeys": None}]})
    s.call("several, one of an unknown type", "DescribeConfigs", 4, {"Resources": [
        {"ResourceType": _TOPIC, "ResourceName": "configured", "ConfigurationKeys": ["retention.ms"]},
        {"ResourceType": 99, "ResourceName": "x", "ConfigurationKeys": None},
        {"ResourceType": _BROKER, "ResourceName": "77", "ConfigurationKeys": None}]})
    s.call("nothing", "DescribeConfigs", 4, {"Resources": []})
