#!/usr/bin/env python3
"""Compares proto/schema with the message definitions inside Apache Kafka's jars.

Both sides are brought into one flat form: {place: {property: value}}, a place being a message, a
struct or a field. Everything that changes a byte, a value or who may ask is compared. Prints one
line per difference and fails if there is any. With --self-test it proves first that changes of
every kind in a schema are noticed.

A range that reaches a message's latest version is the same as one with an open end, and a field
that is in none of its message's versions is the same as no field.

Not compared, because a codec has no use for it: documentation (about), what Java does with
collections and buffers (mapKey, zeroCopy), and whether its writer may drop a value (ignorable).
"""

import argparse
import copy
import sys

import kafka_definitions
from kafka_definitions import ROOT, parse_versions
from proto.gen import model, parser

KINDS = {"request": "request", "response": "response", "header": "header", "data": "data",
         "metadata": "record", "coordinator-key": "key", "coordinator-value": "value"}
MESSAGE_KEYS = {"type", "name", "validVersions", "flexibleVersions", "fields", "commonStructs",
                "apiKey", "listeners", "latestVersionUnstable"}
STRUCT_KEYS = {"name", "versions", "fields"}
FIELD_KEYS = {"name", "type", "versions", "about", "default", "fields", "nullableVersions",
              "entityType", "ignorable", "mapKey", "taggedVersions", "tag", "zeroCopy",
              "flexibleVersions"}


def type_default(kind):
    if kind.startswith("[]"):
        return "[]"
    if kind == "bool":
        return False
    if kind == "float64":
        return 0.0
    if kind in model.INTEGER_BITS:
        return 0
    if kind == "string":
        return '""'
    if kind == "bytes":
        return "bytes()"
    if kind == "records":
        return "null"
    return f"{kind}()"


def kafka_default(kind, default):
    """The value a fresh object has. The JSON has it as text or as a plain value, or not at all; a
    plain null counts as not at all: Kafka's Java objects then hold the type's own default."""
    if default is None or default == "":
        return type_default(kind)
    if default == "null":
        return "null"
    if kind == "bool":
        return str(default).lower() == "true"
    if kind == "float64":
        return float(default)
    if kind in model.INTEGER_BITS:
        return default if isinstance(default, int) else int(default, 0)
    return f'"{default}"'


def our_default(field):
    if field.default is None:
        return type_default(str(field.type))
    if field.default is model.NULL:
        return "null"
    return f'"{field.default}"' if isinstance(field.default, str) else field.default


class KafkaForm:
    """Flattens one definition of Kafka's."""

    def __init__(self, definition):
        self.definition, self.body = definition, definition.body
        self.valid = definition.versions
        self.whole = model.Versions(self.valid.lo, model.OPEN)
        self.places = {}
        self.flatten()

    def clip(self, versions, within):
        """The part of a range that can ever be used, open if it reaches the latest version."""
        both = versions & within
        if not both.empty and both.lo <= self.valid.hi <= both.hi:
            return model.Versions(both.lo, model.OPEN)
        return both

    def listed(self, fields, within):
        return [f for f in fields if not self.versions(f, within).empty]

    def versions(self, field, within):
        stated = field.get("versions", field.get("taggedVersions"))
        return self.clip(parse_versions(stated), within)

    def only(self, keys, known, where):
        unknown = set(keys) - known
        if unknown:
            raise SystemExit(f"{self.definition.where}: {where}: unknown {sorted(unknown)}")

    def flatten(self):
        body, name = self.body, self.body["name"]
        self.only(body, MESSAGE_KEYS, name)
        self.flexible = parse_versions(body["flexibleVersions"]) & self.whole
        self.places[name] = {
            "kind": KINDS[body["type"]],
            "number": body.get("apiKey"),
            "valid versions": str(self.valid),
            "flexible versions": str(self.flexible),
            "latest version unstable": body.get("latestVersionUnstable", False),
            "fields": [f["name"] for f in self.listed(body["fields"], self.whole)],
        }
        if body["type"] == "request":
            self.places[name]["listeners"] = sorted(body["listeners"])
        for struct in body.get("commonStructs", []):
            self.only(struct, STRUCT_KEYS, struct["name"])
            versions = self.clip(parse_versions(struct["versions"]), self.whole)
            self.struct(struct["name"], versions, struct["fields"])
        self.fields(name, self.whole, body["fields"])

    def struct(self, name, versions, fields):
        owner = f"{self.body['name']}.{name}"
        self.places[f"struct {owner}"] = {
            "versions": str(versions),
            "fields": [f["name"] for f in self.listed(fields, versions)],
        }
        self.fields(owner, versions, fields)

    def fields(self, owner, within, fields):
        for field in fields:
            self.only(field, FIELD_KEYS, f"{owner}.{field['name']}")
            versions = self.versions(field, within)
            if versions.empty:
                continue
            kind = field["type"]
            compact = field.get("flexibleVersions", self.body["flexibleVersions"])

            def part(key):
                return str(self.clip(parse_versions(field.get(key, "none")), versions))

            self.places[f"{owner}.{field['name']}"] = {
                "type": kind,
                "versions": str(versions),
                "nullable versions": part("nullableVersions"),
                "tag": field.get("tag"),
                "tagged versions": part("taggedVersions"),
                "flexible versions": str(parse_versions(compact) & self.whole),
                "entity": field.get("entityType"),
                "default": kafka_default(kind, field.get("default")),
            }
            if "fields" in field:
                self.struct(kind.removeprefix("[]"), versions, field["fields"])


class OurForm:
    """Flattens one message of the schema."""

    def __init__(self, file, message):
        self.message, self.places = message, {}
        place = self.places[message.name] = {
            "kind": message.kind,
            "number": message.key,
            "valid versions": str(message.versions),
            "flexible versions": str(message.flexible),
            "latest version unstable": message.unstable,
            "fields": [f.name for f in message.fields],
        }
        if message.kind == "request":
            place["listeners"] = sorted(file.api.listeners)
        self.fields(message.name, message.fields)
        for struct in message.structs.values():
            owner = f"{message.name}.{struct.name}"
            self.places[f"struct {owner}"] = {"versions": str(struct.versions),
                                              "fields": [f.name for f in struct.fields]}
            self.fields(owner, struct.fields)

    def fields(self, owner, fields):
        for field in fields:
            self.places[f"{owner}.{field.name}"] = {
                "type": str(field.type),
                "versions": str(field.versions),
                "nullable versions": str(field.nullable),
                "tag": field.tag,
                "tagged versions": str(field.tagged),
                "flexible versions": str(self.message.flexible if field.flexible else model.NONE),
                "entity": field.entity,
                "default": our_default(field),
            }


def kafka_places(definitions):
    places = {}
    for definition in definitions.values():
        places.update(KafkaForm(definition).places)
    return places


def our_places(files):
    places = {}
    for file in files:
        for message in file.messages:
            places.update(OurForm(file, message).places)
    return places


def differences(kafka, ours):
    found = []
    for place in sorted(kafka.keys() | ours.keys()):
        if place not in ours:
            found.append(f"{place}: only in Kafka")
        elif place not in kafka:
            found.append(f"{place}: only in our schemas")
        else:
            for key in sorted(kafka[place].keys() | ours[place].keys()):
                theirs, mine = kafka[place].get(key), ours[place].get(key)
                if type(theirs) is not type(mine) or theirs != mine:
                    found.append(f"{place}: {key}: Kafka {theirs!r}, ours {mine!r}")
    return found


def mutations():
    """Changes of a schema, each of which must be found: (what, function on the parsed files)."""
    def message(files, name):
        return next(m for f in files for m in f.messages if m.name == name)

    def field(files, name, *path):
        fields = message(files, name).fields
        for step in path[:-1]:
            base = next(f for f in fields if f.name == step).type.base
            fields = message(files, name).structs[base].fields
        return next(f for f in fields if f.name == path[-1])

    def change(name, path, **values):
        def apply(files):
            made = field(files, name, *path)
            for key, value in values.items():
                setattr(made, key, value)
        return f"{name}.{'.'.join(path)} {' '.join(values)}", apply

    def change_message(name, **values):
        def apply(files):
            for key, value in values.items():
                setattr(message(files, name), key, value)
        return f"{name} {' '.join(values)}", apply

    def swap(files):
        fields = message(files, "FetchRequest").fields
        fields[0], fields[1] = fields[1], fields[0]

    def drop_message(files):
        files.pop()

    def drop_field(files):
        message(files, "TopicRecord").fields.pop()

    def listen(files):
        next(f for f in files if f.api and f.api.name == "Fetch").api.listeners.pop()

    return [
        change("FetchRequest", ["Topics", "Partitions", "FetchOffset"], type=model.Type("int32")),
        change("FetchRequest", ["Topics", "TopicId"], versions=parse_versions("12+")),
        change("FetchRequest", ["MaxBytes"], default=None),
        change("FetchRequest", ["ClusterId"], default=None),
        change("FetchRequest", ["ClusterId"], nullable=model.NONE),
        change("FetchRequest", ["ReplicaState"], tag=2),
        change("FetchRequest", ["ReplicaId"], entity=None),
        change("MetadataRequest", ["Topics"], nullable=parse_versions("2+")),
        change("RequestHeader", ["ClientId"], flexible=True),
        change("OffsetCommitValue", ["topicId"], tag=None),
        change("PartitionRecord", ["Leader"], default=-2),
        change_message("FetchResponse", flexible=parse_versions("11+")),
        change_message("FetchResponse", versions=parse_versions("4-17")),
        change_message("TopicRecord", key=3),
        change_message("VoteRequest", unstable=True),
        ("order of fields", swap),
        ("a missing message", drop_message),
        ("a missing field", drop_field),
        ("listeners", listen),
    ]


def self_test(kafka, files):
    for what, apply in mutations():
        changed = copy.deepcopy(files)
        apply(changed)
        before, after = our_places(files), our_places(changed)
        if before == after:
            raise SystemExit(f"self-test: the change '{what}' changes nothing")
        missed = set(differences(kafka, after)) - set(differences(kafka, before))
        if not missed:
            raise SystemExit(f"self-test: the change '{what}' was not noticed")
    print(f"self-test: {len(mutations())} changes noticed")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--libs", help="folder of Kafka's jars (default: fetched)")
    arguments.add_argument("--self-test", action="store_true")
    options = arguments.parse_args()

    definitions = kafka_definitions.read_all(options.libs or kafka_definitions.fetch())
    files = parser.parse_all(ROOT / "proto/schema")
    kafka = kafka_places(definitions)
    if options.self_test:
        self_test(kafka, files)
    found = differences(kafka, our_places(files))
    for line in found:
        print(line)
    counts = f"{len(definitions)} messages, {len(kafka)} places"
    print(f"{len(found)} differences in {counts}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
