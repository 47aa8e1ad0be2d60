"""Which kinds of values the random messages gave each field, judged by Kafka's definitions."""

import collections
import json

import kafka_definitions

WITH_EMPTY = ("string", "bytes", "records")
SIZE = "SizeInBytes"


class Coverage:
    def __init__(self, definitions):
        self.definitions = definitions
        self.structs = {name: self.structs_of(d) for name, d in definitions.items()}
        self.seen = collections.defaultdict(set)   # (message, owner, field) -> kinds
        self.fields = {}                           # the same -> (field, nullable somewhere)

    @staticmethod
    def structs_of(definition):
        """{struct name: fields}, from wherever it is declared."""
        found = {s["name"]: s["fields"] for s in definition.body.get("commonStructs", [])}

        def visit(fields):
            for field in fields:
                if "fields" in field:
                    found[field["type"].removeprefix("[]")] = field["fields"]
                    visit(field["fields"])

        visit(definition.body["fields"])
        for fields in list(found.values()):
            visit(fields)
        return found

    def add(self, name, version, text):
        definition = self.definitions[name]
        self.walk(name, name, definition.body["fields"], version, json.loads(text))

    def walk(self, message, owner, fields, version, values):
        for field in fields:
            stated = kafka_definitions.parse_versions(
                field.get("versions", field.get("taggedVersions")))
            if version not in stated:
                continue
            place = message, owner, field["name"]
            null = version in kafka_definitions.parse_versions(
                field.get("nullableVersions", "none"))
            self.fields[place] = field, null or self.fields.get(place, (None, False))[1]
            key = field["name"][0].lower() + field["name"][1:]
            if key in values:
                self.value(message, place, field, version, values[key])
            elif key + SIZE in values:
                self.seen[place].add("full" if values[key + SIZE] else "empty")
            else:
                self.seen[place].add("left out")

    def value(self, message, place, field, version, value):
        base = field["type"].removeprefix("[]")
        seen = self.seen[place]
        if value is None:
            seen.add("null")
        elif base in self.structs[message]:
            items = value if isinstance(value, list) else [value]
            seen.add("full" if items else "empty")
            for item in items:
                self.walk(message, base, self.structs[message][base], version, item)
        elif isinstance(value, (list, str)) and base != "uuid" or isinstance(value, list):
            seen.add("full" if value else "empty")
        else:
            seen.add("full")
            if len(seen) < 8:
                seen.add(("value", value))

    def missing(self):
        """Lines of what was never seen. A tagged field at its default is left out of the JSON."""
        for place, (field, nullable) in self.fields.items():
            seen = self.seen[place]
            left_out = "left out" in seen
            name = ".".join(place)
            if "full" not in seen:
                yield f"{name}: never set"
            if nullable and "null" not in seen and not (left_out and field.get("default") == "null"):
                yield f"{name}: never null"
            many = field["type"].startswith("[]") or field["type"] in WITH_EMPTY
            if many and "empty" not in seen and not left_out:
                yield f"{name}: never empty"
            if not many and field["type"] not in self.structs[place[0]] and \
                    len([v for v in seen if isinstance(v, tuple)]) + left_out < 2:
                yield f"{name}: always the same"
