"""Four clients: each writes with every codec it has, reads in a group, is restarted, resumes; then each
reads what the others wrote."""

import functools

from tests.e2e import records
from tests.e2e.case import case, expect_equal
from tests.support import clients

_FIRST, _REST = 600, 400


@case()
def java(context):
    write_and_resume(context, "java")


@case(smoke=True)
def confluent(context):
    write_and_resume(context, "confluent")


@case()
def franz(context):
    write_and_resume(context, "franz")


@case()
def kcat(context):
    write_and_resume(context, "kcat")


def write_and_resume(context, name):
    """Write, take 600 in a group, commit, end; in a new process with the same group id take the rest."""
    broker, client, folder = context.shared(), clients.ALL[name], context.folder(name)
    topics = written(context, name)
    for stage, count, extra_ms in (("first", _FIRST, 0), ("rest", _REST, 150)):
        jobs = [{"op": "read", "topics": [topic], "group": f"resume-{topic}", "count": count,
                 "extra_ms": extra_ms, "file": str(folder / f"{topic}.{stage}")}
                for topic in topics]
        expect_equal(client.run(broker.bootstrap, jobs), [count] * len(topics), f"{stage} reads")
    for topic, originals in topics.items():
        dumped = records.load(folder / f"{topic}.first") + records.load(folder / f"{topic}.rest")
        records.expect_same(dumped, originals, name, topic, set_timestamps=name != "kcat")


@case()
def matrix(context):
    """Each client reads in one group the topics that the other three wrote."""
    broker, folder = context.shared(), context.folder("matrix")
    for reader, client in clients.ALL.items():
        others = {topic: (originals, writer) for writer in clients.ALL if writer != reader
                  for topic, originals in written(context, writer).items()}
        dump = folder / f"{reader}.dump"
        total = sum(len(originals) for originals, _ in others.values())
        jobs = [{"op": "read", "topics": list(others), "group": f"matrix-{reader}", "count": total,
                 "file": str(dump)}]
        expect_equal(client.run(broker.bootstrap, jobs), [total], f"read by {reader}")
        by_topic = {}
        for record in records.load(dump):
            by_topic.setdefault(record["topic"], []).append(record)
        for topic, (originals, writer) in others.items():
            records.expect_same(by_topic.get(topic, []), originals, reader, topic,
                                set_timestamps=writer != "kcat")


@functools.cache
def written(context, name):
    """The client's topics of this run, one a codec: name -> records. Written at the first call."""
    broker, folder, jobs, topics = context.shared(), context.folder(f"{name}-input"), [], {}
    for codec in clients.CODECS:
        topic = context.topic(f"{name}-{codec}")
        topics[topic] = records.make(topic, plain=name == "kcat")
        source = records.save(folder / codec, topics[topic])
        jobs.append({"op": "create", "topic": topic, "partitions": records.PARTITIONS})
        jobs.append({"op": "write", "topic": topic, "codec": codec, "file": str(source)})
    done = clients.ALL[name].run(broker.bootstrap, jobs)
    expect_equal(done, [0, records.COUNT] * len(topics), f"written by {name}")
    return topics
