#!/usr/bin/env python3
"""Holds the tables of broker/config against the key definitions in Apache Kafka's jars.

Compared: which keys there are; their type, default, valid values, importance, update mode and synonyms; which of
the texts in `texts` each key takes, and how it writes them; which of the property files in `blocks` are taken.
known_differences lists what differs on purpose. Last line: `N passed, N failed`."""

import argparse
import fnmatch
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent))
sys.dont_write_bytecode = True

from tests.support import kafka_tools  # noqa: E402

_FIELDS = ("type", "default", "valid", "importance", "internal", "mode", "synonyms")
# How Kafka describes what its own validators take, and our words for it.
_FORMS = {
    "[1,...,9] or -1": "-1 or 1 to 9",
    "[partitionId]:[brokerId],[partitionId]:[brokerId],...": "* or a list of partition:broker",
    "[latest, earliest, by_duration:PnDTnHnMn.nS]":
        "earliest, latest or by_duration:<ISO 8601 duration>",
    "non-null string": "-",
}
_LIST_FORMS = {"controller.quorum.voters": "a list of id@host:port",
               "controller.quorum.bootstrap.servers": "a list of host:port"}


class Facts:
    def __init__(self, output):
        self.keys, self.values, self.files = {}, {}, {}
        for line in output.splitlines():
            what, *fields = line.split("\t")
            if what == "key":
                self.keys[fields[0], fields[1]] = dict(zip(_FIELDS, fields[2:]))
            elif what == "value":
                self.values[fields[0], fields[1], int(fields[2])] = fields[3]
            elif what == "file":
                self.files[int(fields[0])] = fields[1]


class Known:
    def __init__(self, path):
        self.entries = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                parts = [part.strip() for part in line.split("|")]
                if len(parts) != 4 or not parts[3]:
                    sys.exit(f"{path}:{number}: kind | key | what | reason expected")
                self.entries.append([number, parts[:3], 0])

    def explains(self, *found):
        hit = False
        for entry in self.entries:
            if all(fnmatch.fnmatchcase(text, pattern) for text, pattern in zip(found, entry[1])):
                entry[2] += 1
                hit = True
        return hit

    def unused(self):
        return [entry for entry in self.entries if entry[2] == 0]


def differences(kafka, ours, texts):
    """(kind, key, what, Kafka's, ours)"""
    for kind, name in sorted(kafka.keys.keys() | ours.keys.keys()):
        one, other = kafka.keys.get((kind, name)), ours.keys.get((kind, name))
        if one is None or other is None:
            yield kind, name, "key", one, other
            continue
        wanted = dict(one, valid=_form(name, one))
        for field in _FIELDS:
            if wanted[field] != other[field]:
                yield kind, name, field, wanted[field], other[field]
        if one["type"] == "CLASS":
            continue  # Kafka looks for the class
        for number, text in enumerate(texts):
            taken, also = (side.values.get((kind, name, number)) for side in (kafka, ours))
            if taken != also:
                yield kind, name, text.strip() or "blank", taken, also


def _form(name, key):
    return _LIST_FORMS.get(name, _FORMS.get(key["valid"], key["valid"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    options = parser.parse_args()
    inputs = [HERE / "texts", HERE / "blocks"]
    java = subprocess.run(["java", "-cp", kafka_tools.classpath(), HERE / "ConfigKeys.java", *inputs],
                          capture_output=True, text=True, check=False)
    if java.returncode != 0:
        sys.exit(f"ConfigKeys.java: {java.stderr}")
    kafka = Facts(java.stdout)
    ours = Facts(subprocess.run([options.tool, *inputs], capture_output=True, text=True,
                                check=True).stdout)
    known = Known(HERE / "known_differences")
    failures = []
    for kind, name, what, one, other in differences(kafka, ours, inputs[0].read_text().splitlines()):
        if not known.explains(kind, name, what):
            failures.append(f"{kind} {name}: {what}: Kafka {one!r}, here {other!r}")
    blocks = inputs[1].read_text().strip().split("\n\n")
    for number, block in enumerate(blocks):
        if kafka.files.get(number) != ours.files.get(number):
            failures.append(f"properties {block!r}: Kafka {kafka.files.get(number)}, "
                            f"here {ours.files.get(number)}")
    for number, entry, _ in known.unused():
        failures.append(f"known_differences:{number} no longer applies: {' | '.join(entry)}")
    if len(kafka.keys) < 400 or len(kafka.values) < 5000 or len(kafka.files) != len(blocks):
        failures.append(f"only {len(kafka.keys)} keys, {len(kafka.values)} values, {len(kafka.files)} files")
    for failure in failures:
        print("failed ", failure)
    print(f"{len(kafka.keys)} keys, {len(kafka.values)} values, {len(kafka.files)} property files compared")
    print(f"{0 if failures else 1} passed, {1 if failures else 0} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
