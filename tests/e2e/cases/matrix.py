"""Every client reads what all clients wrote: one topic a codec, in it one partition a writer."""

import functools

from tests.e2e import records, stored
from tests.e2e.case import case, expect_equal
from tests.support import clients
from tests.support.connection import Connection

_COUNT = 100


def read_all(context, reader):
    """Reads, in one group, every topic whose codec the client has; each byte compared."""
    broker, dump = context.shared(), context.folder(f"matrix-{reader.name}") / "dump"
    corpus = _corpus(context)
    for codec, reason in reader.missing.items():
        context.note(f"{reader.name} reads no {codec}: {reason}")
    topics = [corpus.topics[codec] for codec in reader.codecs()]
    total = sum(len(originals) for (topic, _), originals in corpus.written.items() if topic in topics)
    job = {"op": "read", "topics": topics, "group": f"matrix-{reader.name}", "from": [], "count": total,
           "extra_ms": 0, "file": str(dump)}
    expect_equal(reader.run(broker.bootstrap, [job]), [total], f"read by {reader.name}")
    by_writer = {}
    for record in records.load(dump):
        by_writer.setdefault((record["topic"], corpus.writers[record["p"]].name), []).append(record)
    for (topic, writer), originals in corpus.written.items():
        if topic in topics:
            records.expect_same(by_writer.get((topic, writer), []), originals,
                                f"{topic} by {writer}", reader, clients.ALL[writer])


class _Corpus:
    """The topics of a run, and what each client wrote to its partition of them."""

    def __init__(self, context):
        self.writers = [client for client in clients.ALL.values() if context.long or not client.long]
        self.topics = {codec: context.topic(f"corpus-{codec}") for codec in clients.CODECS}
        self.written = {}
        broker, self._folder = context.shared(), context.folder("corpus")
        with Connection(broker.port) as connection:
            for topic in self.topics.values():
                connection.create_topic(topic, len(self.writers))
        for partition, writer in enumerate(self.writers):
            self._write(broker, partition, writer)

    def _write(self, broker, partition, writer):
        jobs = []
        for codec in writer.codecs():
            topic = self.topics[codec]
            originals = records.make(f"{topic}-{writer.name}", _COUNT, writer, partition)
            self.written[topic, writer.name] = originals
            source = records.save(self._folder / f"{codec}-{writer.name}", originals)
            jobs.append({"op": "write", "topic": topic, "codec": codec, "file": str(source)})
        expect_equal(writer.run(broker.bootstrap, jobs), [_COUNT] * len(jobs), f"written by {writer.name}")
        for codec in writer.codecs():
            topic = self.topics[codec]
            stored.expect_stored(broker, topic, self.written[topic, writer.name], codec)


_tried = {}


def _corpus(context):
    """The corpus of this run. It is tried once: when a client cannot write, every reader's case fails."""
    if context in _tried and _tried[context] is None:
        raise AssertionError("no corpus: see the first case of the matrix")
    if context not in _tried:
        _tried[context] = None
        _tried[context] = _Corpus(context)
    return _tried[context]


def _cases():
    for client in clients.ALL.values():
        function = functools.partial(read_all, reader=client)
        function.__module__ = __name__
        yield client.name, case(long=client.long)(function)


globals().update(_cases())
