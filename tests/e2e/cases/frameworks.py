"""Kafka Streams and Kafka Connect on the broker, each with a restart."""

import collections
import random
import re
import struct
import subprocess
import time

from tests.e2e import records
from tests.e2e.case import case, expect, expect_equal
from tests.e2e.cases.tools import create, tool
from tests.support import clients, java_clients, kafka_tools, processes

_STREAMS = ("WordCount.java", "streams_pom.xml", "4.4.0")
_CONNECT = ("connect_pom.xml", "4.3.1")


@case(long=True)
def streams(context):
    """A word count of Kafka Streams: stopped and started again without its state, it goes on from the
    changelog where it was; then the reset tool takes the application back to the start."""
    broker, application = context.shared(), context.topic("wordcount")
    source, counts = context.topic("lines"), context.topic("counts")
    for topic in (source, counts):
        create(broker, topic, 2)
    words, expected = _Words(context, broker, source), collections.Counter()
    for attempt in range(2):
        # The folder is new: the second start restores the store from the changelog topic.
        with _running(context, "WordCount", java_clients.command(
                *_STREAMS, broker.bootstrap, application, source, counts, context.folder("state"))):
            expected += words.write(300)
            total = sum(expected.values())
            counted = _counts(context, broker, counts, total, f"after start {attempt + 1}")
            expect_equal(dict(counted), dict(expected), f"counts after start {attempt + 1}")
    listed = set(tool(broker, "kafka-topics", "--list").split())
    internal = {f"{application}-words-repartition", f"{application}-counts-changelog"}
    expect(internal <= listed, f"{internal} not in {listed}")
    changelog = tool(broker, "kafka-topics", "--describe", "--topic", f"{application}-counts-changelog")
    expect("cleanup.policy=compact" in changelog, changelog)
    _expect_purged(context, broker, f"{application}-words-repartition")
    _wait_for_empty_group(broker, application)
    said = tool(broker, "kafka-streams-application-reset", "--application-id", application,
                "--input-topics", source)
    expect("Done." in said, said)
    listed = set(tool(broker, "kafka-topics", "--list").split())
    expect(not internal & listed, f"after the reset: {listed}")
    rows = tool(broker, "kafka-consumer-groups", "--describe", "--group", application)
    expect(all(line.split()[3] == "0" for line in rows.splitlines() if line.startswith(application)), rows)


def _expect_purged(context, broker, topic):
    """Streams deletes from the repartition topic what it has counted, if the broker lets it."""
    if "DeleteRecords(21): UNSUPPORTED" in tool(broker, "kafka-broker-api-versions"):
        context.note("DeleteRecords is not served: nothing is deleted from the repartition topic")
        return
    said = tool(broker, "kafka-get-offsets", "--topic", topic, "--time", "earliest")
    expect(sum(int(offset) for offset in re.findall(r":(\d+)$", said, re.M)) > 0, f"earliest: {said}")


class _Words:
    """Lines of words for the input topic, and how often each word was written."""

    def __init__(self, context, broker, topic):
        self._context, self._broker, self._topic = context, broker, topic
        self._chance = random.Random(topic)

    def write(self, lines):
        written, total = [], collections.Counter()
        for number in range(lines):
            words = [f"word{self._chance.randrange(40)}" for _ in range(self._chance.randrange(1, 8))]
            total.update(words)
            written.append({"p": number % 2, "k": None, "v": " ".join(words).encode().hex(), "h": [],
                            "t": int(time.time() * 1000)})
        source = records.save(self._context.folder("lines") / "in", written)
        job = {"op": "write", "topic": self._topic, "codec": "lz4", "file": str(source)}
        expect_equal(clients.ALL["franz"].run(self._broker.bootstrap, [job]), [lines], "lines written")
        return total


def _counts(context, broker, topic, total, what):
    """The last count of each word in the output topic, which has one record for each word of the input; each
    word's counts are 1, 2, 3 and so on."""
    dump = context.folder("counts") / "out"
    job = {"op": "read", "topics": [topic], "group": f"{topic} {what}", "count": total, "extra_ms": 500,
           "file": str(dump)}
    expect_equal(clients.ALL["franz"].run(broker.bootstrap, [job]), [total], f"counts {what}")
    last = collections.Counter()
    for record in sorted(records.load(dump), key=lambda r: (r["p"], r["o"])):
        word, count = bytes.fromhex(record["k"]).decode(), struct.unpack(">q", bytes.fromhex(record["v"]))[0]
        expect_equal(count, last[word] + 1, f"the next count of {word} {what}")
        last[word] = count
    return last


class _running:
    """A program that says "running" and ends, with code 0, when its standard input does."""

    def __init__(self, context, name, command):
        self._name, self._command = name, command
        self._log = context.folder(name) / "log"

    def __enter__(self):
        with open(self._log, "w") as log:
            self._child = processes.spawn(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=log, text=True)
        expect_equal(processes.read_line(self._child, 90), "running\n", f"{self._name}: {self._tail()}")

    def __exit__(self, failure, *_):
        if failure:
            self._child.kill()
        self._child.communicate(timeout=60)
        if not failure:
            expect_equal(self._child.returncode, 0, f"{self._name}: {self._tail()}")

    def _tail(self):
        return self._log.read_text()[-3000:]


def _wait_for_empty_group(broker, group):
    """Streams does not leave its group: its members' sessions have to end."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if "Empty" in tool(broker, "kafka-consumer-groups", "--describe", "--group", group, "--state"):
            return
    raise AssertionError(f"group {group} is still not empty")


@case(long=True)
def connect(context):
    """Kafka Connect standalone: a file into a topic and into a file again; restarted, it goes on at the
    offsets that it stored."""
    broker, topic, folder = context.shared(), context.topic("connect"), context.folder("connect")
    create(broker, topic, 1)
    source, sink = folder / "source.txt", folder / "sink.txt"
    source.touch()
    configs = _connect_configs(broker, topic, folder, source, sink)
    lines = []
    for attempt in range(2):
        more = [f"line {attempt}-{number} " + "x" * (number % 200) for number in range(500)]
        lines += more
        with open(source, "a") as out:
            out.write("".join(line + "\n" for line in more))
        _connect_until(folder, configs, sink, len(lines))
        expect_equal(sink.read_text().splitlines(), lines, f"sink after start {attempt + 1}")
    offsets = kafka_tools.run("kafka-get-offsets", "--bootstrap-server", broker.bootstrap, "--topic", topic)
    expect_equal(offsets.stdout.strip(), f"{topic}:0:{len(lines)}", "records in the topic")


def _connect_configs(broker, topic, folder, source, sink):
    texts = {
        "worker": {"bootstrap.servers": broker.bootstrap, "offset.storage.file.filename": folder / "offsets",
                   "offset.flush.interval.ms": 500, "plugin.discovery": "service_load",
                   "listeners": f"http://127.0.0.1:{processes.free_port()}",
                   "key.converter": "org.apache.kafka.connect.storage.StringConverter",
                   "value.converter": "org.apache.kafka.connect.storage.StringConverter"},
        "source": {"name": "source", "connector.class": "FileStreamSource", "tasks.max": 1,
                   "file": source, "topic": topic},
        "sink": {"name": f"sink-{topic}", "connector.class": "FileStreamSink", "tasks.max": 1,
                 "file": sink, "topics": topic, "consumer.override.auto.offset.reset": "earliest"},
    }
    for name, settings in texts.items():
        (folder / f"{name}.properties").write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
    return [folder / f"{name}.properties" for name in texts]


def _connect_until(folder, configs, sink, count):
    """Runs a worker until the sink has that many lines, then ends it with SIGTERM."""
    command = ["java", "-Xmx512m", *java_clients.FLAGS, "-cp", f"{java_clients.libraries(*_CONNECT)}/*",
               "org.apache.kafka.connect.cli.ConnectStandalone", *configs]
    with open(folder / "log", "a") as log:
        worker = processes.spawn(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    end = time.monotonic() + 120
    while not sink.exists() or sink.read_bytes().count(b"\n") < count:
        log = (folder / "log").read_text()
        expect(worker.poll() is None and time.monotonic() < end, f"the worker: {log[-3000:]}")
        time.sleep(0.1)
    time.sleep(1.0)  # A record too many would come now.
    worker.terminate()
    worker.wait(timeout=60)
