"""Batches that decompress to far more than they are (reliability check B3): refused, in bounded memory and time,
while others are served."""

import struct
import threading
import time
import zlib

from tests.e2e.case import case, expect, expect_equal
from tests.support import compression, kafka_codec
from tests.support.connection import Connection

_MIB = 1 << 20
_PLAIN = 256 * _MIB
_INVALID_RECORD = 87
_TRIES = 20


def _head(size):
    """The bytes of a record before its value of `size` bytes, and those behind it."""
    fields = b"\0\0\0" + kafka_codec.signed_varint(-1) + kafka_codec.signed_varint(size)
    return kafka_codec.signed_varint(len(fields) + size + 1) + fields, b"\0"


def _gzip_bomb():
    head, tail = _head(_PLAIN)
    squeeze = zlib.compressobj(9, wbits=31)
    parts = [squeeze.compress(head)]
    parts += [squeeze.compress(bytes(_MIB)) for _ in range(_PLAIN // _MIB)]
    return b"".join(parts) + squeeze.compress(tail) + squeeze.flush()


def _zstd_bomb():
    head, tail = _head(_PLAIN)
    return compression.compress("zstd", head + bytes(_PLAIN) + tail)


def _zstd_window():
    """A frame of one block that asks for 128 MiB of history."""
    head, tail = _head(10)
    block = head + bytes(10) + tail
    window = bytes([(27 - 10) << 3])
    return b"\x28\xb5\x2f\xfd\x00" + window + (len(block) << 3 | 1).to_bytes(3, "little") + block


def _zstd_wider():
    """More history than any reader gives."""
    return b"\x28\xb5\x2f\xfd\x00" + bytes([(31 - 10) << 3]) + b"\x01\0\0"


def _lz4_bomb():
    head, tail = _head(100 * _MIB)
    return compression.compress("lz4", head + bytes(100 * _MIB) + tail)


def _snappy_bomb():
    head, tail = _head(24 * _MIB)
    return compression.compress("snappy", head + bytes(24 * _MIB) + tail)


def _snappy_announces():
    """A few bytes that say they are gigabytes."""
    return b"\xff\xff\xff\xff\x0f\x00\x61"


def _snappy_announces_framed():
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + struct.pack(">i", 7) + _snappy_announces()


_BOMBS = {
    "gzip": ("gzip", _gzip_bomb, _INVALID_RECORD),
    "zstd": ("zstd", _zstd_bomb, _INVALID_RECORD),
    "zstd with the widest window": ("zstd", _zstd_window, 0),
    "zstd with a wider window": ("zstd", _zstd_wider, _INVALID_RECORD),
    "lz4": ("lz4", _lz4_bomb, _INVALID_RECORD),
    "snappy, framed": ("snappy", _snappy_bomb, _INVALID_RECORD),
    "snappy that announces": ("snappy", _snappy_announces, _INVALID_RECORD),
    "snappy that announces, framed": ("snappy", _snappy_announces_framed, _INVALID_RECORD),
}


@case(brokers=("pelton",))
def decompression_bombs(context):
    """Every codec's worst batch below message.max.bytes: refused, below 50 ms of CPU each (twice that here, as
    other tests run beside), below 64 MiB of memory; a producer beside it does not notice."""
    broker = context.own({"message.max.bytes": 2 * _MIB})
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic(context.topic("bombs"))
        waited, stop = [], threading.Event()
        beside = threading.Thread(target=_produce_beside, args=(broker, context.topic("beside"), waited, stop))
        beside.start()
        try:
            for name, (codec, make, wanted) in _BOMBS.items():
                batch = kafka_codec.batch([b""], codec=codec, payload=make())
                expect(len(batch) < 2 * _MIB, f"{name}: {len(batch)} bytes")
                rss, cpu = broker.rss_bytes(), broker.cpu_seconds()
                for _ in range(_TRIES):
                    expect_equal(connection.produce(topic_id, 0, batch)["ErrorCode"], wanted, name)
                each = (broker.cpu_seconds() - cpu) / _TRIES
                grown = (broker.rss_bytes() - rss) / _MIB
                expect(each < 0.1, f"{name}: {each * 1000:.0f} ms of CPU each")
                expect(grown < 64, f"{name}: resident memory grew by {grown:.0f} MiB")
        finally:
            stop.set()
            beside.join()
    expect(len(waited) > 20 and max(waited) < 1, f"{len(waited)} batches beside, the slowest {max(waited):.2f} s")


def _produce_beside(broker, topic, waited, stop):
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic(topic)
        while not stop.is_set():
            started = time.monotonic()
            expect_equal(connection.produce(topic_id, 0, kafka_codec.batch([(b"k", b"v")]))["ErrorCode"], 0, "beside")
            waited.append(time.monotonic() - started)
            time.sleep(0.01)
