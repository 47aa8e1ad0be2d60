"""IncrementalAlterConfigs and AlterConfigs: every version, kind of resource and operation; what is refused;
ListConfigResources."""

import time

_TOPIC, _BROKER, _LOGGER, _METRICS, _GROUP = 2, 4, 8, 16, 32
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
OVERRIDES = {"log.retention.hours": "168"}  # a synonym


class Script:
    def __init__(self, s):
        self.s = s

    def alter(self, label, kind, name, operations, version=1, validate=False):
        self.s.call(label, "IncrementalAlterConfigs", version, {"ValidateOnly": validate, "Resources": [
            {"ResourceType": kind, "ResourceName": name, "Configs": [
                {"Name": key, "ConfigOperation": operation, "Value": value}
                for key, operation, value in operations]}]})

    def replace(self, label, kind, name, configs, version=2, validate=False):
        self.s.call(label, "AlterConfigs", version, {"ValidateOnly": validate, "Resources": [
            {"ResourceType": kind, "ResourceName": name, "Configs": [
                {"Name": key, "Value": value} for key, value in configs]}]})

    def rows(self, kind, name, keys):
        answer = self.s.main.call("DescribeConfigs", 4, {"IncludeSynonyms": True, "Resources": [
            {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": keys}]})
        rows = answer["Results"][0]["Configs"]
        for row in rows:  # their order counts
            row["Synonyms"] = [f"{one['Name']}={one['Value']} from {one['Source']}" for one in row["Synonyms"]]
        return rows

    def show(self, label, kind, name, wanted):
        """Records the keys of `wanted` once they have those values: Apache Kafka applies them after its answer.
        None stands for a key that is not told."""
        end = time.monotonic() + 15
        while True:
            rows = self.rows(kind, name, list(wanted))
            values = {row["Name"]: row["Value"] for row in rows}
            if all(values.get(key) == value for key, value in wanted.items()) or time.monotonic() > end:
                self.s.note(label, sorted(rows, key=lambda row: row["Name"]))
                return
            time.sleep(0.05)


def run(s):
    script = Script(s)
    s.topic("altered", 1)
    try:
        _topic(script)
        _replace(script)
        _broker(script)
        _loggers(script)
        _metrics(script)
        _groups(script)
        _resources(script)
    finally:
        for kind, name in ((_BROKER, "1"), (_METRICS, "subscription"), (_GROUP, "altered-group")):
            s.main.call("AlterConfigs", 2, {"Resources": [
                {"ResourceType": kind, "ResourceName": name, "Configs": []}]})
        s.main.call("IncrementalAlterConfigs", 1, {"Resources": [
            {"ResourceType": _BROKER, "ResourceName": "", "Configs": [
                {"Name": key, "ConfigOperation": _DELETE, "Value": None}
                for key in ("log.retention.ms", "message.max.bytes", "log.cleanup.policy")]}]})


def _topic(script):
    def alter(label, *operations, **more):
        script.alter(label, _TOPIC, "altered", operations, **more)

    for version in range(2):
        alter(f"set v{version}", ("retention.ms", _SET, "86400001"), ("segment.bytes", _SET, " +1048577 "),
              version=version)
    script.show("after set", _TOPIC, "altered", {"retention.ms": "86400001", "segment.bytes": "1048577"})
    alter("validate", ("retention.ms", _SET, "1"), validate=True)
    alter("validate a bad one", ("retention.ms", _SET, "x"), validate=True)
    alter("append", ("cleanup.policy", _APPEND, "compact"))
    script.show("after append", _TOPIC, "altered", {"cleanup.policy": "delete,compact",
                                                    "retention.ms": "86400001"})
    alter("append again", ("cleanup.policy", _APPEND, "compact"))
    alter("append a bad one", ("cleanup.policy", _APPEND, "shred"))
    alter("append to a number", ("retention.ms", _APPEND, "1"))
    alter("append to an unknown one", ("no.such.key", _APPEND, "1"))
    alter("subtract", ("cleanup.policy", _SUBTRACT, "delete"))
    script.show("after subtract", _TOPIC, "altered", {"cleanup.policy": "compact"})
    alter("subtract what is not there", ("cleanup.policy", _SUBTRACT, "delete"))
    alter("subtract the last", ("cleanup.policy", _SUBTRACT, "compact"))
    script.show("after the last", _TOPIC, "altered", {"cleanup.policy": ""})
    alter("delete", ("cleanup.policy", _DELETE, None), ("retention.ms", _DELETE, "ignored"))
    script.show("after delete", _TOPIC, "altered", {"cleanup.policy": "delete", "retention.ms": "604800000"})
    alter("delete what is not set", ("cleanup.policy", _DELETE, None))
    alter("delete an unknown one", ("no.such.key", _DELETE, None))
    alter("nothing")
    for label, key, value in (
            ("unknown key", "no.such.key", "1"), ("key without a name", "", "1"),
            ("text for a number", "retention.ms", "soon"), ("out of range", "retention.ms", "-2"),
            ("too large for its type", "segment.bytes", "2147483648"), ("null", "retention.ms", None),
            ("empty", "retention.ms", ""), ("bad codec", "compression.type", "brotli"),
            ("bad gzip level", "compression.gzip.level", "0"), ("no boolean", "preallocate", "yes"),
            ("ratio above one", "min.cleanable.dirty.ratio", "1.1"),
            ("bad throttled replicas", "leader.replication.throttled.replicas", "x"),
            ("throttled replicas", "leader.replication.throttled.replicas", "0:1,1:1"),
            ("remote storage", "remote.storage.enable", "true"),
            ("internal key", "internal.segment.bytes", "14")):
        alter(label, (key, _SET, value))
    alter("contradiction", ("min.compaction.lag.ms", _SET, "10"), ("max.compaction.lag.ms", _SET, "5"))
    alter("one of two is bad", ("retention.ms", _SET, "5"), ("segment.bytes", _SET, "5"))
    alter("a key twice", ("retention.ms", _SET, "5"), ("retention.ms", _SET, "5"))
    alter("unknown operation", ("retention.ms", 9, "5"))
    for label, name in (("unknown topic", "no-such-topic"), ("invalid topic", "a b"), ("empty topic", "")):
        script.alter(label, _TOPIC, name, [("retention.ms", _SET, "5")])
        script.alter(f"{label}, nothing", _TOPIC, name, [])
        script.replace(f"{label}, replaced", _TOPIC, name, [("retention.ms", "5")])
    script.alter("unknown topic, bad value", _TOPIC, "no-such-topic", [("retention.ms", _SET, "x")])


def _replace(script):
    def replace(label, *configs, **more):
        script.replace(label, _TOPIC, "altered", configs, **more)

    for version in range(3):
        replace(f"replace v{version}", ("retention.ms", f"{version + 1}"), ("preallocate", "TRUE"),
                version=version)
    script.show("after replace", _TOPIC, "altered", {"retention.ms": "3", "preallocate": "true",
                                                     "segment.bytes": "1073741824"})
    replace("replace with less", ("retention.ms", "4"))
    script.show("after less", _TOPIC, "altered", {"retention.ms": "4", "preallocate": "false"})
    replace("replace, validate", ("retention.ms", "5"), validate=True)
    for label, configs in (("unknown", [("no.such.key", "1")]), ("bad", [("retention.ms", "x")]),
                           ("null", [("retention.ms", None)]),
                           ("twice", [("retention.ms", "1"), ("retention.ms", "2")])):
        replace(f"replace {label}", *configs)
    replace("replace with nothing")
    script.show("after nothing", _TOPIC, "altered", {"retention.ms": "604800000"})


def _broker(script):
    def alter(label, *operations, name="1", **more):
        script.alter(label, _BROKER, name, operations, **more)

    keys = {"log.retention.ms": "5000"}
    alter("broker", ("log.retention.ms", _SET, "5000"))
    script.show("after broker", _BROKER, "1", keys)
    alter("all brokers", ("log.retention.ms", _SET, "6000"), ("message.max.bytes", _SET, "2000000"), name="")
    script.show("after all brokers", _BROKER, "", {"log.retention.ms": "6000", "message.max.bytes": "2000000"})
    script.show("of one broker", _BROKER, "1", {**keys, "message.max.bytes": "2000000"})
    script.show("topic without its own", _TOPIC, "altered", {"retention.ms": "5000",
                                                             "max.message.bytes": "2000000"})
    alter("broker deleted", ("log.retention.ms", _DELETE, None))
    script.show("after broker deleted", _BROKER, "1", {"log.retention.ms": "6000"})
    script.show("topic after broker deleted", _TOPIC, "altered", {"retention.ms": "6000"})
    alter("broker deleted again", ("log.retention.ms", _DELETE, None))
    alter("broker, validate", ("log.retention.ms", _SET, "1"), validate=True)
    alter("broker append", ("log.cleanup.policy", _APPEND, "compact"))
    script.show("after broker append", _BROKER, "1", {"log.cleanup.policy": "delete,compact"})
    alter("broker subtract", ("log.cleanup.policy", _SUBTRACT, "delete"))
    script.show("after broker subtract", _BROKER, "1", {"log.cleanup.policy": "compact"})
    alter("broker append to a number", ("log.retention.ms", _APPEND, "1"))
    alter("broker append to an unknown one", ("no.such.key", _APPEND, "1"))
    alter("broker unknown operation", ("log.retention.ms", 7, "1"))
    alter("unknown key of a broker", ("no.such.key", _SET, "1"))
    alter("unknown key of all brokers", ("no.such.key", _SET, "2"), name="")
    end = time.monotonic() + 15
    while time.monotonic() < end and not all(script.rows(_BROKER, name, ["no.such.key"]) for name in ("1", "")):
        time.sleep(0.05)
    script.s.note("unknown key told", script.rows(_BROKER, "", ["no.such.key"]))
    alter("unknown key deleted", ("no.such.key", _DELETE, None))
    alter("unknown key deleted of all", ("no.such.key", _DELETE, None), name="")
    alter("a listener's secret", ("listener.name.plaintext.ssl.key.password", _SET, "secret"),
          ("listener.name.plaintext.ssl.keystore.type", _SET, "PEM"))
    script.show("the secret is not told", _BROKER, "1", {"listener.name.plaintext.ssl.key.password": None,
                                                         "listener.name.plaintext.ssl.keystore.type": "PEM"})
    for name in ("1", ""):
        for label, key, value in (
                ("read-only", "num.partitions", "3"), ("read-only node.id", "node.id", "1"),
                ("text for a number", "log.retention.ms", "soon"),
                ("out of range", "log.segment.bytes", "5"), ("null", "log.retention.ms", None),
                ("retention of zero", "log.retention.ms", "0"),
                ("TLS of no listener", "ssl.keystore.location", "/x"),
                ("a listener's own", "listener.name.plaintext.ssl.keystore.type", "JKS"),
                ("bad class", "principal.builder.class", "no.such.Class")):
            alter(f"broker '{name}' {label}", (key, _SET, value), name=name)
    alter("listeners of all brokers", ("listeners", _SET, "PLAINTEXT://:1"), name="")
    for label, name in (("another broker", "7"), ("no number", "x"), ("negative", "-1")):
        alter(label, ("log.retention.ms", _SET, "5"), name=name)
        script.replace(f"{label}, replaced", _BROKER, name, [])
    alter("broker nothing")
    script.replace("replace broker", _BROKER, "1", [("log.retention.ms", "9")])
    script.show("after replace broker", _BROKER, "1", {"log.retention.ms": "9", "log.cleanup.policy": "delete"})
    script.replace("replace broker, read-only", _BROKER, "1", [("num.partitions", "9")])
    script.replace("replace broker with nothing", _BROKER, "1", [])
    script.show("after replace with nothing", _BROKER, "1", {"log.retention.ms": "6000"})


def _loggers(script):
    def alter(label, key, operation, value, name="1", **more):
        script.alter(f"logger {label}", _LOGGER, name, [(key, operation, value)], **more)

    level = script.rows(_LOGGER, "1", ["root"])[0]["Value"]
    alter("debug", "root", _SET, "DEBUG")
    script.show("logger after debug", _LOGGER, "1", {"root": "DEBUG"})
    alter("back", "root", _SET, level)
    alter("validate", "root", _SET, "TRACE", validate=True)
    for value in ("warn", "LOUD", "OFF", "", None):
        alter(f"level {value}", "root", _SET, value)
    alter("delete root", "root", _DELETE, None)
    alter("append", "root", _APPEND, "INFO")
    alter("subtract", "root", _SUBTRACT, "INFO")
    alter("unknown operation", "root", 9, "INFO")
    alter("unknown", "no.such.logger", _SET, "INFO")
    alter("unknown deleted", "no.such.logger", _DELETE, None)
    for name in ("2", "x", ""):
        alter(f"of '{name}'", "root", _SET, "INFO", name=name)
    script.replace("loggers replaced", _LOGGER, "1", [("root", "INFO")])


def _metrics(script):
    def alter(label, *operations, name="subscription", **more):
        script.alter(f"metrics {label}", _METRICS, name, operations, **more)

    alter("set", ("interval.ms", _SET, "5000"), ("metrics", _SET, "a,a, b"), ("match", _SET, "client_id=x.*"))
    script.show("metrics after set", _METRICS, "subscription", {"interval.ms": "5000", "metrics": "a,b",
                                                                "match": "client_id=x.*"})
    script.s.call("metrics listed v0", "ListConfigResources", 0, {})
    alter("without a name", ("interval.ms", _SET, "5000"), name="")
    for label, key, value in (
            ("unknown key", "no.such.key", "1"), ("interval too short", "interval.ms", "99"),
            ("interval too long", "interval.ms", "3600001"), ("interval no number", "interval.ms", "x"),
            ("match of nothing", "match", "client_id"), ("match of an unknown name", "match", "who=x"),
            ("match of no pattern", "match", "client_id=["), ("null", "interval.ms", None)):
        alter(label, (key, _SET, value))
    alter("append", ("metrics", _APPEND, "c"))
    alter("subtract", ("metrics", _SUBTRACT, "a"))
    script.replace("metrics replaced", _METRICS, "subscription", [("interval.ms", "1000")])
    script.show("metrics after replace", _METRICS, "subscription", {"interval.ms": "1000", "metrics": "",
                                                                    "match": ""})
    alter("delete", ("interval.ms", _DELETE, None))
    script.show("metrics after delete", _METRICS, "subscription", {"interval.ms": "300000"})


def _groups(script):
    def alter(label, *operations, name="altered-group", **more):
        script.alter(f"group {label}", _GROUP, name, operations, **more)

    alter("set", ("consumer.session.timeout.ms", _SET, "50000"))
    script.show("group after set", _GROUP, "altered-group", {"consumer.session.timeout.ms": "50000"})
    for label, key, value in (
            ("too low", "consumer.session.timeout.ms", "5"), ("too high", "consumer.session.timeout.ms", "500000"),
            ("no number", "consumer.session.timeout.ms", "x"), ("unknown", "no.such.key", "1"),
            ("heartbeat too long", "consumer.heartbeat.interval.ms", "15001"),
            ("offset reset", "share.auto.offset.reset", "by_duration:PT5M"),
            ("bad offset reset", "share.auto.offset.reset", "never"),
            ("bad isolation", "share.isolation.level", "none"),
            ("lock too long", "share.record.lock.duration.ms", "3600001"),
            ("assignor", "streams.assignor.name", "sticky"), ("bad assignor", "streams.assignor.name", "x"),
            ("replicas", "streams.num.standby.replicas", "2"),
            ("too many replicas", "streams.num.standby.replicas", "3"),
            ("dead letters in an internal topic", "errors.deadletterqueue.topic.name", "__x"),
            ("null", "consumer.session.timeout.ms", None)):
        alter(label, (key, _SET, value))
    alter("append", ("streams.rack.aware.assignment.tags", _APPEND, "a"))
    alter("without a name", ("consumer.session.timeout.ms", _SET, "50000"), name="")
    script.replace("group replaced", _GROUP, "altered-group", [("consumer.session.timeout.ms", "50001")])
    script.show("group after replace", _GROUP, "altered-group", {"consumer.session.timeout.ms": "50001",
                                                                 "share.auto.offset.reset": "latest"})


def _resources(script):
    s = script.s
    alone = {"ResourceType": _TOPIC, "ResourceName": "altered", "Configs": []}
    for api, version in (("IncrementalAlterConfigs", 1), ("AlterConfigs", 2)):
        s.call(f"{api} a resource twice", api, version, {"Resources": [
            alone, alone, {"ResourceType": _BROKER, "ResourceName": "1", "Configs": []}]})
        s.call(f"{api} several", api, version, {"Resources": [
            alone, {"ResourceType": _TOPIC, "ResourceName": "no-such-topic", "Configs": []},
            {"ResourceType": _GROUP, "ResourceName": "no-such-group", "Configs": []}]})
        s.call(f"{api} nothing", api, version, {"Resources": []})
        for kind in (0, 1, 3, 64, 99, -1):
            s.call(f"{api} type {kind}", api, version, {"Resources": [
                {"ResourceType": kind, "ResourceName": "x", "Configs": []}]})
    script.alter("metrics again", _METRICS, "subscription", [("interval.ms", _SET, "7000")])
    for kinds in ([_BROKER], [_LOGGER], [_METRICS], [_GROUP], [0], [99], [_BROKER, 99]):
        s.call(f"list {kinds}", "ListConfigResources", 1, {"ResourceTypes": kinds})
    for kinds in ([_TOPIC], [_BROKER, _METRICS, _BROKER], []):
        answer = s.main.call("ListConfigResources", 1, {"ResourceTypes": kinds})
        s.note(f"list {kinds}", sorted((row["ResourceType"], row["ResourceName"])
                                       for row in answer["ConfigResources"]))
