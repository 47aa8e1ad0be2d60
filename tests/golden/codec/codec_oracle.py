#!/usr/bin/env python3
"""Random messages from Apache Kafka's classes read here, and ours read there.

codec_oracle.py --tool CODEC_TOOL --work DIR [--seeds N]

For every message and version both sides make N seeded random messages as bytes and JSON. The other
side decodes the bytes, and must give the same JSON and, written again, the same bytes (without the
unknown tagged fields, which Kafka's side adds to some). What the random messages covered is checked
against Kafka's definitions: null, empty, default and other values of every field.
"""

import argparse
import collections
import hashlib
import pathlib
import subprocess
import sys

import json_compare
import kafka_definitions
from coverage import Coverage

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
MOST_SHOWN = 30

Written = collections.namedtuple("Written", "head bytes canonical json")
Answer = collections.namedtuple("Answer", "head bytes json")


class Report:
    """Differences, counted; the first few are printed, not more than two of a message version."""

    def __init__(self):
        self.count = 0
        self.shown = collections.Counter()

    def add(self, head, text):
        self.count += 1
        name, version, seed = head
        if self.shown.total() < MOST_SHOWN and self.shown[name, version] < 2:
            self.shown[name, version] += 1
            print(f"{name} version {version} seed {seed}: {text}")


def run(command):
    subprocess.run([str(word) for word in command], check=True)


def compile_java(libs, work):
    sources = sorted((HERE / "java").glob("*.java"))
    digest = hashlib.sha256(str(libs).encode() + b"".join(s.read_bytes() for s in sources))
    classes, stamp = work / "classes", work / "classes.stamp"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != digest.hexdigest():
        run(["javac", "-nowarn", "-d", classes, "-cp", f"{libs}/*", *sources])
        stamp.write_text(digest.hexdigest(), encoding="utf-8")
    return classes


def write_message_list(definitions, path):
    lines = [f"{d.name}\t{d.class_name}\t{d.versions.lo}\t{d.versions.hi}\n"
             for d in definitions.values()]
    path.write_text("".join(lines), encoding="utf-8")


def rows(path):
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        yield line.split("\t")


def kafka_written(path):
    return [Written(tuple(r[:3]), r[3], r[4], r[5]) for r in rows(path)]


def our_written(path):
    return [Written(tuple(r[:3]), r[3], r[3], r[4]) for r in rows(path)]


def answers(path):
    return [Answer(tuple(r[:3]), r[3], r[4]) for r in rows(path)]


def difference(written, answer, kafka_wrote):
    """What is wrong with an answer, or None."""
    if answer.head != written.head:
        return f"answered with {answer.head}"
    if answer.bytes.startswith("error") or written.bytes.startswith("error"):
        return f"{written.bytes if written.bytes.startswith('error') else answer.bytes} " \
               f"({written.bytes[:120]})"
    theirs, ours = (written, answer) if kafka_wrote else (answer, written)
    text = json_compare.difference(theirs.json, ours.json)
    if text:
        return f"values: {text}"
    if answer.bytes != written.canonical:
        at = next((i for i, (a, b) in enumerate(zip(answer.bytes, written.canonical)) if a != b),
                  min(len(answer.bytes), len(written.canonical))) // 2
        return f"bytes differ at {at}: wrote {written.canonical[2 * at:2 * at + 32]}, " \
               f"again {answer.bytes[2 * at:2 * at + 32]}"
    return None


def expected_heads(definitions, seeds):
    return {(d.name, str(version), str(seed)) for d in definitions.values()
            for version in range(d.versions.lo, d.versions.hi + 1) for seed in range(seeds)}


def compare(title, written, answered, expected, kafka_wrote, report):
    heads = {w.head for w in written}
    for head in sorted(expected - heads)[:5]:
        report.add(head, f"{title}: not made")
    for head in sorted(heads - expected)[:5]:
        report.add(head, f"{title}: made, but unknown to Kafka")
    if len(written) != len(answered):
        report.add(("all", "-", "-"), f"{title}: {len(written)} made, {len(answered)} answered")
    for one, other in zip(written, answered):
        text = difference(one, other, kafka_wrote)
        if text:
            report.add(one.head, f"{title}: {text}")
    print(f"{title}: {len(written)} messages, {sum(len(w.bytes) for w in written) // 2} bytes")


def self_test(written, answered):
    """Every kind of damage to a good answer must be seen."""
    index = next(i for i, w in enumerate(written) if w.head == ("FetchRequest", "13", "1"))
    good, answer = written[index], answered[index]
    damaged = [
        answer._replace(bytes=answer.bytes[:-2] + "ff"),
        answer._replace(bytes=answer.bytes + "00"),
        answer._replace(bytes="error: any"),
        answer._replace(head=("FetchRequest", "14", "1")),
        answer._replace(json=answer.json.replace('"maxWaitMs":', '"maxWaitMs":1')),
        answer._replace(json=answer.json.replace('"maxWaitMs":', '"other":')),
        answer._replace(json=answer.json.replace('{"', '{"more":1,"', 1)),
    ]
    for number, bad in enumerate(damaged):
        if difference(good, bad, True) is None:
            raise SystemExit(f"self-test: damage {number} was not seen")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--tool", required=True, type=pathlib.Path)
    arguments.add_argument("--work", required=True, type=pathlib.Path)
    arguments.add_argument("--seeds", type=int, default=24)
    arguments.add_argument("--libs", help="folder of Kafka's jars (default: fetched)")
    options = arguments.parse_args()
    work = options.work
    work.mkdir(parents=True, exist_ok=True)

    libs = options.libs or kafka_definitions.fetch()
    definitions = kafka_definitions.read_all(libs)
    write_message_list(definitions, work / "messages")
    classes = compile_java(libs, work)
    run([options.tool, "write", options.seeds, work / "ours"])
    run(["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{classes}:{libs}/*",
         "CodecOracle", work / "messages", options.seeds, work / "kafkas", work / "ours",
         work / "ours_read"])
    run([options.tool, "read", work / "kafkas", work / "kafkas_read"])

    report, expected = Report(), expected_heads(definitions, options.seeds)
    kafkas, kafkas_read = kafka_written(work / "kafkas"), answers(work / "kafkas_read")
    ours, ours_read = our_written(work / "ours"), answers(work / "ours_read")
    compare("Kafka to us", kafkas, kafkas_read, expected, True, report)
    compare("us to Kafka", ours, ours_read, expected, False, report)
    for title, lines in (("Kafka to us", kafkas), ("us to Kafka", ours_read)):
        coverage = Coverage(definitions)
        for line in lines:
            coverage.add(line.head[0], int(line.head[1]), line.json)
        for text in coverage.missing():
            report.add(("coverage", title, "-"), text)
    if sum(k.bytes != k.canonical for k in kafkas) < len(kafkas) // 10:
        report.add(("coverage", "Kafka to us", "-"), "few messages with unknown tagged fields")
    self_test(kafkas, kafkas_read)
    print(f"{report.count} differences")
    return 1 if report.count else 0


if __name__ == "__main__":
    sys.exit(main())
