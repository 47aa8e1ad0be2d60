"""kafka-dump-log over every file of a data directory that was written under load: after kill -9 and after
a clean stop. Any complaint in its output is a failure."""

import re

from tests.e2e import records
from tests.e2e.case import case, expect, expect_equal
from tests.support import clients, kafka_tools

_COMPLAINT = re.compile(
    r"Error at|Exception|Failed to|Unknown record type|not found in|out of order|mismatch|Mismatch|"
    r"Non-consecutive|isvalid: false|isValid: false|invalid bytes|Ignoring unknown file|WARN|corrupt")


# The tool takes every segment but a log's first for a gap: "-1 is followed by" its own base offset.
_SECOND_SEGMENT = re.compile(
    r"Non-consecutive offsets in \S*/0*(\d+)\.log\n *-1 is followed by \1\n(?! )", re.M)
_DUMPED = (".log", ".index", ".timeindex", ".snapshot", ".txnindex", ".checkpoint")


@case(smoke=True)
def after_kill(context):
    broker, written = _loaded(context)
    broker.kill9()
    _dump_everything(broker, written)


@case()
def after_stop(context):
    broker, written = _loaded(context)
    broker.stop()
    _dump_everything(broker, written)


def _loaded(context):
    """A broker with small segments after idempotent producers of all codecs, consumers in groups, a
    deleted topic and more partitions; and how many records it was given."""
    broker = context.own({"log.segment.bytes": 1048576, "log.index.interval.bytes": 512})
    folder, client = context.folder("dump"), clients.ALL["confluent"]
    jobs, written = [], {}
    for codec in clients.CODECS:
        topic = context.topic(f"dump-{codec}")
        # One topic is large enough to roll segments, the others show the codecs.
        written[topic] = 8000 if codec == "none" else 1200
        source = records.save(folder / codec, records.make(codec, written[topic]))
        jobs += [{"op": "create", "topic": topic, "partitions": 2},
                 {"op": "write", "topic": topic, "codec": codec, "file": str(source),
                  "settings": {"enable.idempotence": True, "batch.num.messages": 20}}]
        jobs += [{"op": "read", "topics": [topic], "group": f"group-{codec}", "count": 400 * turn,
                  "file": str(folder / f"{codec}.{turn}")} for turn in (1, 2)]
    client.run(broker.bootstrap, jobs)
    return broker, written


def _dump_everything(broker, written):
    data = broker.data_dir
    special = {"__consumer_offsets": "--offsets-decoder", "__cluster_metadata": "--cluster-metadata-decoder"}
    groups = {"--offsets-decoder": [], "--cluster-metadata-decoder": [], "--deep-iteration": []}
    for path in sorted(data.glob("*-[0-9]*/*")):
        if path.suffix in _DUMPED and not _preallocated_for_nothing(path):
            decoder = special.get(path.parent.name.rpartition("-")[0], "--deep-iteration")
            groups[decoder].append(path)
    suffixes = {path.suffix for files in groups.values() for path in files}
    expect({".log", ".index", ".timeindex", ".snapshot"} <= suffixes, f"only {suffixes} to dump")
    for decoder, files in groups.items():
        expect(files, f"nothing to dump with {decoder}")
        out = kafka_tools.run("kafka-dump-log", "--deep-iteration", decoder, "--files",
                              ",".join(map(str, files)), timeout=120)
        text = out.stdout + _SECOND_SEGMENT.sub("", out.stderr)
        complaint = _COMPLAINT.search(text)
        expect(not complaint, f"{decoder}: " + (text[complaint.start():][:800] if complaint else ""))
        _expect_dumped(decoder, files, out.stdout, written)


def _preallocated_for_nothing(path):
    """Apache Kafka fills the indexes of an empty log with zeros, and its own tool fails on them."""
    log = path.with_suffix(".log")
    return (path.suffix in (".index", ".timeindex") and log.exists() and log.stat().st_size == 0
            and path.read_bytes().count(0) == path.stat().st_size > 0)


def _expect_dumped(decoder, files, text, written):
    """The dump names every file and shows as many records as were written."""
    sections = text.split("Dumping ")
    expect_equal(len(sections) - 1, len(files), f"{decoder}: files dumped")
    if decoder == "--deep-iteration":
        for topic, count in written.items():
            shown = sum(section.count("| offset: ") for section in sections if f"/{topic}-" in
                        section.partition("\n")[0] and ".log" in section.partition("\n")[0])
            expect_equal(shown, count, f"records of {topic} in the dump")
    elif decoder == "--offsets-decoder":
        expect(re.search(r"group-zstd.*dump-zstd", text), "no committed offset in the dump")
    else:
        for topic in written:
            expect(re.search(rf'"TOPIC_RECORD".*"{topic}"', text), f"no TopicRecord of {topic}")
