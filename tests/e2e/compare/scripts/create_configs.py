"""CreateTopics with configurations: which texts are taken, and what the answer tells of every key."""

import time

_CLUSTER = {"ResourceType": 4, "ResourceName": ""}
_SET, _DELETE = 0, 1

_GOOD = {
    "several": {"retention.ms": "60000", "segment.bytes": "1048576", "cleanup.policy": "compact,delete"},
    "plus sign": {"retention.ms": "+5"},
    "spaces": {"retention.ms": "  60000 ", "cleanup.policy": " compact , delete ", "preallocate": " TRUE "},
    "ends of ranges": {"retention.ms": "-1", "retention.bytes": "-1", "segment.ms": "1", "flush.messages": "1",
                       "min.cleanable.dirty.ratio": "1", "max.message.bytes": "0"},
    "codecs": {"compression.type": "zstd", "compression.zstd.level": "-5", "compression.gzip.level": "9"},
    "throttles": {"leader.replication.throttled.replicas": "0:1,1:1",
                  "follower.replication.throttled.replicas": "*"},
    "empty policy": {"cleanup.policy": ""},
    "time stamps": {"message.timestamp.type": "LogAppendTime", "message.timestamp.before.max.ms": "1000",
                    "message.timestamp.after.max.ms": "0"},
    "does nothing here": {"remote.log.copy.disable": "true", "local.retention.ms": "1000"},
    "policy twice": {"cleanup.policy": "delete,delete"},
    "local above total": {"retention.ms": "1000", "local.retention.ms": "2000"},
    "local bytes above total": {"retention.bytes": "1000", "local.retention.bytes": "2000"},
    "internal": {"internal.segment.bytes": "1048576"},
}

_BAD = {
    "empty name": {"": "1"},
    "case": {"Retention.ms": "1"},
    "space in name": {"retention.ms ": "1"},
    "empty number": {"retention.ms": ""},
    "hexadecimal": {"retention.ms": "0x10"},
    "fraction": {"retention.ms": "1.5"},
    "too big a long": {"retention.ms": "9223372036854775808"},
    "too big an int": {"segment.bytes": "2147483648"},
    "below": {"segment.bytes": "1048575"},
    "ratio above": {"min.cleanable.dirty.ratio": "1.01"},
    "ratio that is none": {"min.cleanable.dirty.ratio": "NaN"},
    "not a boolean": {"preallocate": "yes"},
    "policy and nonsense": {"cleanup.policy": "delete,shred"},
    "codec": {"compression.type": "lzma"},
    "gzip level": {"compression.gzip.level": "10"},
    "gzip level zero": {"compression.gzip.level": "0"},
    "lz4 level": {"compression.lz4.level": "18"},
    "zstd level": {"compression.zstd.level": "23"},
    "time stamp type": {"message.timestamp.type": "logappendtime"},
    "throttle list": {"leader.replication.throttled.replicas": "0-1"},
    "lags the wrong way": {"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"},
    "no replica in sync": {"min.insync.replicas": "0"},
    "broker key": {"log.retention.ms": "1"},
    "first of two is bad": {"segment.bytes": "1", "retention.ms": "1"},
    "remote storage": {"remote.storage.enable": "true"},
    "remote and compact": {"remote.storage.enable": "true", "cleanup.policy": "compact"},
}


def run(s):
    for version in (2, 4, 5, 6, 7):
        _told(s, f"plain v{version}", {}, version)
    for label, configs in _GOOD.items():
        _told(s, label, configs)
        _told(s, f"{label}, validated", configs, validate=True)
    for label, configs in _BAD.items():
        _create(s, label, configs)
        _create(s, f"{label}, validated", configs, validate=True)
        _create(s, f"{label} v4", configs, version=4)
    _told(s, "key twice", [("retention.ms", "1"), ("retention.ms", "2")])
    _create(s, "key twice, last bad", [("retention.ms", "1"), ("retention.ms", "x")])
    _told(s, "key twice and first bad", [("retention.ms", "x"), ("retention.ms", "1")])
    _create(s, "bad name and config", {"retention.ms": "x"}, name="a b")
    _create(s, "bad count and config", {"retention.ms": "x"}, NumPartitions=0)
    _cluster_defaults(s)


def _pairs(configs):
    return list(configs.items()) if isinstance(configs, dict) else configs


def _request(configs, validate, **topic):
    rows = [{"Name": key, "Value": value} for key, value in _pairs(configs)]
    return {"timeoutMs": 30000, "validateOnly": validate, "Topics": [
        {"NumPartitions": 1, "ReplicationFactor": 1, "Configs": rows, **topic}]}


def _create(s, label, configs, version=7, validate=False, name=None, **topic):
    """A request that should be refused: the answer whole. The names differ: should one be taken, the next is new."""
    name = name or f"create-configs-bad-{len(s.steps)}"
    s.call(label, "CreateTopics", version, _request(configs, validate, Name=name, **topic))


def _told(s, label, configs, version=7, validate=False):
    """A request that should be taken: what the answer says of each key. Apache Kafka sets some keys by itself:
    min.insync.replicas for its eligible leader replicas, log.retention.hours in the file that it comes with;
    flush.messages differs on purpose."""
    name = f"create-configs-{len(s.steps)}"
    answer = s.main.call("CreateTopics", version, _request(configs, validate, Name=name))
    (row,) = answer["Topics"]
    told = {one["Name"]: [one["Value"], one["ConfigSource"], one["ReadOnly"], one["IsSensitive"]]
            for one in row.get("Configs") or []}
    for own in {"flush.messages", "min.insync.replicas", "retention.ms"} - set(dict(configs)):
        told.pop(own, None)
    s.note(label, {"errors": [row["ErrorCode"], row.get("TopicConfigErrorCode")],
                   "partitions": row.get("NumPartitions"), "configs": told})
    if row["ErrorCode"] == 0 and not validate:
        _dynamic(s, f"{label}: stored", name)


def _dynamic(s, label, name):
    """What DescribeConfigs tells as the topic's own."""
    answer = s.main.call("DescribeConfigs", 4, {"Resources": [
        {"ResourceType": 2, "ResourceName": name, "ConfigurationKeys": None}],
        "IncludeSynonyms": False, "IncludeDocumentation": False})
    (result,) = answer["Results"]
    s.note(label, {one["Name"]: one["Value"] for one in result["Configs"] if one["ConfigSource"] == 1})


def _cluster_defaults(s):
    """Values of the brokers' defaults show in the answers for topics made later."""
    def change(label, rows):
        s.call(label, "IncrementalAlterConfigs", 1, {"Resources": [
            {**_CLUSTER, "Configs": [{"Name": key, "ConfigOperation": operation, "Value": value}
                                     for key, operation, value in rows]}], "ValidateOnly": False})

    change("set defaults", [("log.retention.ms", _SET, "7200000"), ("log.cleanup.policy", _SET, "compact"),
                            ("log.roll.hours", _SET, "5"), ("message.max.bytes", _SET, "2000000")])
    _until_answered(s, "retention.ms", "7200000")
    _told(s, "with defaults", {})
    _told(s, "own over defaults", {"retention.ms": "5000"})
    change("delete defaults", [("log.retention.ms", _DELETE, None), ("log.cleanup.policy", _DELETE, None),
                               ("log.roll.hours", _DELETE, None), ("message.max.bytes", _DELETE, None)])


def _until_answered(s, key, value):
    """Apache Kafka's controller follows its own log a moment later."""
    for _ in range(200):
        answer = s.main.call("CreateTopics", 7, _request({}, True, Name="create-configs-none"))
        if (key, value) in {(one["Name"], one["Value"]) for one in answer["Topics"][0]["Configs"]}:
            return
        time.sleep(0.02)
