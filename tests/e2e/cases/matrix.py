"""Every client reads what all clients wrote: one topic a codec, in it two partitions a writer, the second
one without null header values, which a few clients cannot read."""

import collections
import functools

from tests.e2e import records, stored
from tests.e2e.case import case, expect_equal
from tests.support import clients
from tests.support.connection import Connection

_COUNT = 50


def read_all(context, reader):
    """Reads, in one group, every topic whose codec the client has; each byte compared."""
    broker, dump = context.shared(), context.folder(f"matrix-{reader.name}") / "dump"
    corpus = _corpus(context)
    for codec, reason in (reader.missing | reader.unreadable).items():
        context.note(f"{reader.name} reads no {codec} of others: {reason}")
    codecs = [codec for codec in reader.codecs() if codec not in reader.unreadable]
    wanted = {place: written for place, written in corpus.written.items() if place.codec in codecs}
    if not reader.reads_null_headers:
        context.note(f"{reader.name} cannot read null header values: it reads the partitions without any")
        wanted = {place: written for place, written in wanted.items() if place.partition % 2}
    total = sum(map(len, wanted.values()))
    job = {"op": "read", "topics": [corpus.topics[codec] for codec in codecs],
           "group": f"matrix-{reader.name}", "count": total, "extra_ms": 0, "file": str(dump),
           "from": [[corpus.topics[place.codec], place.partition, 0] for place in wanted]}
    expect_equal(reader.run(broker.bootstrap, [job]), [total], f"read by {reader.name}")
    read = {}
    for record in records.load(dump):
        read.setdefault((record["topic"], record["p"]), []).append(record)
    for place, written in wanted.items():
        writer, topic = corpus.writers[place.partition // 2], corpus.topics[place.codec]
        records.expect_same(read.get((topic, place.partition), []), written,
                            f"{topic} by {writer.name}", reader, writer)


_Place = collections.namedtuple("_Place", "codec partition")


class _Corpus:
    """The topics of a run, and what each client wrote to its partitions of them."""

    def __init__(self, context):
        self.writers = [client for client in clients.ALL.values() if context.long or not client.long]
        self.topics = {codec: context.topic(f"corpus-{codec}") for codec in clients.CODECS}
        self.written = {}
        broker, self._folder = context.shared(), context.folder("corpus")
        with Connection(broker.port) as connection:
            for topic in self.topics.values():
                connection.create_topic(topic, 2 * len(self.writers))
        for number, writer in enumerate(self.writers):
            self._write(broker, 2 * number, writer)

    def _write(self, broker, partition, writer):
        jobs = []
        for codec in writer.codecs():
            name = f"{codec}-{writer.name}"
            first = records.make(name, _COUNT, writer, partition)
            second = records.make(name, _COUNT, writer, partition + 1, [records.NULL_HEADER])
            self.written |= {_Place(codec, partition): first, _Place(codec, partition + 1): second}
            source = records.save(self._folder / name, first + second)
            jobs.append({"op": "write", "topic": self.topics[codec], "codec": codec, "file": str(source)})
        expect_equal(writer.run(broker.bootstrap, jobs), [2 * _COUNT] * len(jobs),
                     f"written by {writer.name}")
        for codec in writer.codecs():
            both = self.written[_Place(codec, partition)] + self.written[_Place(codec, partition + 1)]
            stored.expect_stored(broker, self.topics[codec], both, codec)


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
