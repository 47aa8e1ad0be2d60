"""Restarts: SIGTERM and kill -9, torn tails, lost derived files. What was acknowledged stays, at its
offset, and groups go on where they committed."""

import random
import time

from tests.e2e import records
from tests.e2e.case import case, expect, expect_equal
from tests.support import clients, kafka_codec, kafka_tools
from tests.support.connection import Connection

_CLIENT = clients.ALL["confluent"]
_DERIVED = ("*.index", "*.timeindex", "*.snapshot")


class Log:
    """A topic of 2 partitions and what was written to it so far, across restarts of the broker."""

    def __init__(self, context, broker):
        self.broker, self.folder = broker, context.folder("restart")
        self.topic = context.topic("restart")
        self.written, self.taken, self.steps = [], [], 0
        self._run({"op": "create", "topic": self.topic, "partitions": records.PARTITIONS})

    def write(self, count, codec="lz4"):
        more = records.make(f"{self.topic}-{self.steps}", count)
        self._run({"op": "write", "topic": self.topic, "codec": codec,
                   "file": str(records.save(self._file("in"), more)),
                   "settings": {"enable.idempotence": True, "batch.num.messages": 50}})
        self.written += more

    def take(self, count):
        """The group takes `count` records and commits."""
        path = self._file("out")
        done = self._run({"op": "read", "topics": [self.topic], "group": f"g-{self.topic}",
                          "count": count, "extra_ms": 0, "file": str(path)})
        expect_equal(done, count, "taken by the group")
        self.taken += records.load(path)

    def expect_all_taken(self):
        """The group's takes, over all restarts, are exactly the written records."""
        records.expect_same(self.taken, self.written, self.topic, _CLIENT, _CLIENT)

    def expect_all_there(self):
        """A new group reads exactly the written records, and not one more."""
        path = self._file("all")
        done = self._run({"op": "read", "topics": [self.topic], "group": f"all-{self.steps}-{self.topic}",
                          "count": len(self.written), "extra_ms": 300, "file": str(path)})
        expect_equal(done, len(self.written), "records there")
        records.expect_same(records.load(path), self.written, self.topic, _CLIENT, _CLIENT)

    def active_segments(self):
        folders = self.broker.partition_dirs(self.topic)
        expect_equal(len(folders), records.PARTITIONS, "partition folders")
        return [max(folder.glob("*.log")) for folder in folders]

    def _file(self, kind):
        self.steps += 1
        return self.folder / f"{self.steps}.{kind}"

    def _run(self, job):
        return _CLIENT.run(self.broker.bootstrap, [job])[0]


@case(smoke=True)
def sigterm(context):
    """Clean stops between writes and reads: records, group offsets and topics stay."""
    broker = context.own()
    log = Log(context, broker)
    log.write(500)
    log.take(300)
    broker.stop()
    expect((broker.data_dir / ".kafka_cleanshutdown").exists(), "no clean-shutdown marker")
    broker.start()
    log.take(100)
    log.write(500, "zstd")
    broker.stop()
    broker.start()
    log.take(600)
    log.expect_all_taken()
    log.expect_all_there()


@case(smoke=True)
def kill(context):
    """kill -9 right after acknowledgements and commits."""
    broker = context.own()
    log = Log(context, broker)
    for round_number in range(2):
        log.write(500)
        log.take(300)
        broker.kill9()
        broker.start()
        log.take(200)
    log.expect_all_taken()
    log.expect_all_there()


@case()
def torn_tail(context):
    """Garbage and half a batch after the last good batch: truncated, and the log goes on behind it."""
    broker = context.own()
    log = Log(context, broker)
    chance = random.Random(7)
    for tail in (lambda data: chance.randbytes(137), lambda data: data[:61 + 20],
                 lambda data: b"\0" * 4096, lambda data: data[:11]):
        log.write(200)
        broker.kill9()
        for segment in log.active_segments():
            good = segment.read_bytes()
            segment.write_bytes(good + tail(good))
        broker.start()
        log.expect_all_there()


@case()
def lost_derived_files(context):
    """All .index, .timeindex and .snapshot files deleted after a kill: rebuilt, nothing missing; the
    producer state too, so that lookups by time and the tools' view agree."""
    broker = context.own({"log.segment.bytes": 1048576, "log.index.interval.bytes": 512})
    log = Log(context, broker)
    for _ in range(3):
        log.write(4000, "none")
    broker.kill9()
    removed = 0
    for folder in broker.data_dir.iterdir():
        if folder.is_dir() and folder.name != "__cluster_metadata-0":
            for pattern in _DERIVED:
                for path in folder.glob(pattern):
                    path.unlink()
                    removed += 1
    expect(removed >= 2 * 2, f"only {removed} derived files found")
    broker.start()
    log.expect_all_there()
    log.write(300)
    log.expect_all_there()
    _expect_time_lookup(broker, log)


def _expect_time_lookup(broker, log):
    """get-offsets by timestamp against the records: the first offset at or after that time."""
    middle = sorted(record["t"] for record in log.written)[len(log.written) // 2]
    out = kafka_tools.run("kafka-get-offsets", "--bootstrap-server", broker.bootstrap, "--topic",
                          log.topic, "--time", middle).stdout
    for partition in range(records.PARTITIONS):
        times = [r["t"] for r in log.written if r["p"] == partition]
        wanted = next(offset for offset, time in enumerate(times) if time >= middle)
        expect(f"{log.topic}:{partition}:{wanted}\n" in out, f"time {middle}: {out}, wanted {wanted}")


@case(brokers=("pelton",))
def deleted_directories(context):
    """Thousands of partition directories whose deletion had begun: the start does not wait for them, clients are
    served while they go, and they go."""
    count = 2000
    broker = context.own()
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic("stays")
        expect_equal(connection.produce(topic_id, 0, kafka_codec.batch([(b"k", b"v")]))["ErrorCode"], 0, "before")
    broker.kill9()
    for number in range(count):
        folder = broker.data_dir / f"gone-{number}.{number:032x}-delete"
        folder.mkdir()
        (folder / "partition.metadata").write_text("version: 0\n")
        for suffix in ("log", "index", "timeindex"):
            (folder / f"{0:020}.{suffix}").write_bytes(b"x" * 100)

    def left():
        return sum(1 for _ in broker.data_dir.glob("*-delete"))

    broker.start()
    expect(left() > 0, "the start waited until they were gone")
    context.note(f"start with {count} of them: {broker.start_seconds:.2f} s")
    end, served = time.monotonic() + 180, 0
    with Connection(broker.port) as connection:
        while left() > 0:
            expect(time.monotonic() < end, f"{left()} directories stay")
            expect_equal(connection.produce(topic_id, 0, kafka_codec.batch([(b"k", b"v")]))["ErrorCode"], 0, "produce")
            served += 1
    expect(f"{count} directories of deleted partitions are being removed" in broker.log_tail(100), "no line says it")
    expect((broker.data_dir / "stays-0").is_dir(), "the topic's own directory")
