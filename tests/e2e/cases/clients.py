"""Every client: writes with each codec it has, reads in a group, is restarted, resumes."""

import functools

from tests.e2e import records, stored
from tests.e2e.case import case, expect_equal
from tests.support import clients

_FIRST, _REST = 600, 400


def write_and_resume(context, client):
    """Write, take 600 in a group, commit, end; in a new process with the same group id take the rest."""
    broker, folder = context.shared(), context.folder(client.name)
    for codec, reason in client.missing.items():
        context.note(f"{client.name} without {codec}: {reason}")
    for shape in client.unable:
        context.note(f"{client.name} cannot write {shape}")
    topics = _written(context, client)
    if not client.tells_empty_from_null:
        context.note(f"{client.name} does not tell empty from null when it reads")
    if client.headers != "list":
        context.note(f"{client.name} keeps headers as {client.headers}")
    if not client.groups:
        context.note(f"{client.name} knows no groups: it reads partitions and remembers its offsets itself")
    begin = {topic: _behind(topic, []) for topic in topics}
    for stage, count, extra_ms in (("first", _FIRST, 0), ("rest", _REST, 150)):
        jobs = [{"op": "read", "topics": [topic], "group": f"resume-{topic}", "count": count,
                 "from": begin[topic], "extra_ms": extra_ms,
                 "file": str(folder / f"{topic}.{stage}")}
                for topic in topics]
        expect_equal(client.run(broker.bootstrap, jobs), [count] * len(topics), f"{stage} reads")
        begin = {topic: _behind(topic, records.load(folder / f"{topic}.first")) for topic in topics}
    for topic, originals in topics.items():
        dumped = records.load(folder / f"{topic}.first") + records.load(folder / f"{topic}.rest")
        records.expect_same(dumped, originals, topic, client, client)


def _behind(topic, dumped):
    """Where a client without groups goes on: [topic, partition, offset] behind what it took."""
    ends = {partition: 0 for partition in range(records.PARTITIONS)}
    for record in dumped:
        ends[record["p"]] = record["o"] + 1
    return [[topic, partition, offset] for partition, offset in ends.items()]


def _written(context, client):
    """The client's topics, one a codec: name -> records."""
    broker, folder, jobs, topics = context.shared(), context.folder(f"{client.name}-input"), [], {}
    for codec in client.codecs():
        topic = context.topic(f"{client.name}-{codec}")
        topics[topic] = records.make(topic, writer=client)
        source = records.save(folder / codec, topics[topic])
        jobs.append({"op": "create", "topic": topic, "partitions": records.PARTITIONS})
        jobs.append({"op": "write", "topic": topic, "codec": codec, "file": str(source)})
    done = client.run(broker.bootstrap, jobs)
    expect_equal(done, [0, records.COUNT] * len(topics), f"written by {client.name}")
    for codec, (topic, originals) in zip(client.codecs(), topics.items()):
        stored.expect_stored(broker, topic, originals, codec)
    return topics


def _cases():
    for client in clients.ALL.values():
        function = functools.partial(write_and_resume, client=client)
        function.__module__ = __name__
        function.__doc__ = f"{client.name}: {write_and_resume.__doc__}"
        yield client.name, case(smoke=client.name == "confluent", long=client.long)(function)


globals().update(_cases())
