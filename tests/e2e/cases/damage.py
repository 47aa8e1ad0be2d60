"""Damaged and lost segment files, a disk without room, deleted records across a kill: what was acknowledged is
there, or its partition says that it is not, and nothing else suffers."""

import contextlib
import subprocess
import time

from tests.e2e.case import Skip, case, expect, expect_equal
from tests.support import kafka_tools
from tests.support.connection import Connection, batches
from tests.support.kafka_codec import batch

_STORAGE_ERROR = 56
_OUT_OF_RANGE = 1


def _write(connection, topic_id, partition, count, size=200):
    """Writes `count` batches of one record each; all are acknowledged."""
    for number in range(count):
        answer = connection.produce(topic_id, partition, batch([(b"k%d" % number, b"v" * size)], timestamp=number))
        expect_equal(answer["ErrorCode"], 0, f"batch {number}")


def _count(connection, topic_id, partition):
    """How many batches a reader gets from offset 0 on."""
    offset, found = 0, 0
    while True:
        answer = connection.fetch(topic_id, partition, offset, max_wait=0)
        expect_equal(answer["ErrorCode"], 0, f"fetch at {offset}")
        got = batches(answer["Records"] or b"")
        if not got:
            return found
        found += len(got)
        offset = got[-1][0] + got[-1][1]


def _error_of(connection, topic_id, partition):
    return connection.fetch(topic_id, partition, 0, max_wait=0)["ErrorCode"]


@case(brokers=("pelton",), smoke=True)
def flipped_byte(context):
    """A byte of an acknowledged record is flipped while the broker is down after kill -9: younger than the last
    checkpoint, so that only the marks tell it from a torn tail. The partition is offline and untouched."""
    broker = context.own()
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic("flipped", 2)
        for partition in (0, 1):
            _write(connection, topic_id, partition, 30)
    broker.kill9()
    segment = broker.data_dir / "flipped-0" / f"{0:020}.log"
    good = segment.read_bytes()
    place = len(good) // 2 + 70
    segment.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1:])
    broker.start()
    with Connection(broker.port) as connection:
        expect_equal(_error_of(connection, topic_id, 0), _STORAGE_ERROR, "fetch from the damaged partition")
        refused = connection.produce(topic_id, 0, batch([(b"k", b"v")]))
        expect_equal(refused["ErrorCode"], _STORAGE_ERROR, "produce to the damaged partition")
        expect_equal(_count(connection, topic_id, 1), 30, "the other partition")
        _write(connection, topic_id, 1, 1)
    expect("from offset 15" in broker.log_tail(60), "the log does not say which offsets")
    expect_equal(len(segment.read_bytes()), len(good), "size of the damaged file")
    broker.kill9()
    segment.write_bytes(good)
    broker.start()
    with Connection(broker.port) as connection:
        expect_equal(_count(connection, topic_id, 0), 30, "restored")
        _write(connection, topic_id, 0, 1)


@case(brokers=("pelton",))
def torn_tail_of_a_kill(context):
    """What follows the last acknowledged record is cut off, as ever."""
    broker = context.own()
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic("torn", 1)
        _write(connection, topic_id, 0, 5)
    for tail in (b"\0" * 100, batch([(b"k", b"v")])[:-3], b"x"):
        broker.kill9()
        segment = broker.data_dir / "torn-0" / f"{0:020}.log"
        with open(segment, "ab") as file:
            file.write(tail)
        broker.start()
        with Connection(broker.port) as connection:
            expect_equal(_count(connection, topic_id, 0), 5, "after a torn tail")


@case(brokers=("pelton",))
def lost_segments(context):
    """Every .log file of one partition is gone, after a kill and after an orderly stop: it does not start empty."""
    broker = context.own()
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic("lost", 2)
        for partition in (0, 1):
            _write(connection, topic_id, partition, 10)
    folder = broker.data_dir / "lost-0"
    for stop in (broker.kill9, broker.stop):
        stop()
        kept = {path: path.read_bytes() for path in folder.glob("*.log")}
        for path in kept:
            path.unlink()
        broker.start()
        with Connection(broker.port) as connection:
            expect_equal(_error_of(connection, topic_id, 0), _STORAGE_ERROR, "fetch from the lost partition")
            expect_equal(_count(connection, topic_id, 1), 10, "the other partition")
        expect("no segment files" in broker.log_tail(60), "the log does not say it")
        broker.kill9()
        for path, data in kept.items():
            path.write_bytes(data)
        broker.start()
        with Connection(broker.port) as connection:
            expect_equal(_count(connection, topic_id, 0), 10, "restored")


@contextlib.contextmanager
def _small_disk(folder, megabytes):
    """A file system of its own; removed at the end."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", folder],
                             capture_output=True, check=False)
    if mounted.returncode != 0:
        raise Skip("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


@case(brokers=("pelton",))
def full_disk(context):
    """The disk gets full under a producer: refusals that a client tries again, reading goes on, nothing that was
    acknowledged is lost, and the broker takes records again by itself when there is room."""
    folder = context.folder("disk")
    with _small_disk(folder, 48):
        broker = context.own_unstarted()
        broker.start(context.overrides | {"log.segment.bytes": 1 << 20}, data_dir=folder / "data")
        filler = folder / "filler"
        with Connection(broker.port) as connection:
            topic_id = connection.create_topic("full", 2)
            _write(connection, topic_id, 0, 20, size=50000)
            with open(filler, "wb") as file:
                with contextlib.suppress(OSError):
                    while file.write(b"\0" * 65536):
                        file.flush()
            written, refusals = 20, 0
            while refusals < 3:
                answer = connection.produce(topic_id, 0, batch([(b"k", b"v" * 50000)]))
                if answer["ErrorCode"] == 0:
                    written += 1
                    continue
                expect_equal(answer["ErrorCode"], _STORAGE_ERROR, "a full disk")
                refusals += 1
                expect_equal(_count(connection, topic_id, 0), written, "readable while the disk is full")
                time.sleep(0.7)
            filler.unlink()
            freed = time.monotonic()
            while connection.produce(topic_id, 0, batch([(b"k", b"v" * 50000)]))["ErrorCode"] != 0:
                expect(time.monotonic() < freed + 5, "5 s after there is room again: still refused")
                time.sleep(0.1)
            written += 1
            _write(connection, topic_id, 1, 5)
            expect_equal(_count(connection, topic_id, 0), written, "after the disk was full")
        broker.kill9()
        broker.start()
        with Connection(broker.port) as connection:
            expect_equal(_count(connection, topic_id, 0), written, "after a restart")
            expect_equal(_count(connection, topic_id, 1), 5, "the other partition after a restart")
        broker.close()


@case(smoke=True)
def deleted_records_stay_deleted(context):
    """kafka-delete-records, and kill -9 right after its answer."""
    broker = context.own()
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic("deleted", 1)
        _write(connection, topic_id, 0, 10)
    offsets = context.folder("delete") / "offsets.json"
    offsets.write_text('{"version": 1, "partitions": [{"topic": "deleted", "partition": 0, "offset": 7}]}')
    out = kafka_tools.run("kafka-delete-records", "--bootstrap-server", broker.bootstrap,
                          "--offset-json-file", offsets).stdout
    expect("low_watermark: 7" in out, out)
    if broker.name == "pelton":  # Apache Kafka writes it down later
        broker.kill9()
        broker.start()
    with Connection(broker.port) as connection:
        expect_equal(_error_of(connection, topic_id, 0), _OUT_OF_RANGE, "fetch at 0")
        answer = connection.fetch(topic_id, 0, 7, max_wait=0)
        expect_equal(answer["LogStartOffset"], 7, "log start")
        expect_equal(len(batches(answer["Records"])), 3, "batches left")


@case(brokers=("pelton",), smoke=True)
def lost_directory(context):
    """A partition's directory is gone after a clean stop, and the marks too: only the checkpoint says that it held
    records. It is offline, not begun anew; with the directory back it is as before."""
    broker = context.own()
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic("lost", 2)
        for partition in (0, 1):
            _write(connection, topic_id, partition, 5)
    broker.stop()
    folder, aside = broker.data_dir / "lost-0", broker.work_dir / "aside"
    folder.rename(aside)
    for marks in broker.data_dir.glob(".durable-offsets-*"):
        marks.unlink()
    for _ in range(2):
        broker.start()
        with Connection(broker.port) as connection:
            expect_equal(_error_of(connection, topic_id, 0), _STORAGE_ERROR, "fetch")
            refused = connection.produce(topic_id, 0, batch([(b"k", b"v")]))
            expect_equal(refused["ErrorCode"], _STORAGE_ERROR, "produce")
            expect_equal(_count(connection, topic_id, 1), 5, "the other partition")
        expect("lost-0 is offline" in broker.log_tail(60), "no line says it")
        expect(not folder.exists(), "it was made again")
        broker.kill9()
    aside.rename(folder)
    broker.start()
    with Connection(broker.port) as connection:
        expect_equal(_count(connection, topic_id, 0), 5, "restored")
        _write(connection, topic_id, 0, 1)
