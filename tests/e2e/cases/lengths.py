"""Numbers on the wire that lie (reliability checks B1, B2 and B9): every length, count and tag of every API and
version, unknown APIs and versions, and frames of 100 MB that hold nothing but very many very small things."""

import contextlib
import pathlib
import struct
import time

from tests.e2e.case import case, expect, expect_equal
from tests.support import kafka_codec, wire
from tests.support.connection import Connection

_MIB = 1 << 20


class _Marking(kafka_codec.Writer):
    """Remembers where lengths and counts are: (position, end, form)."""

    def __init__(self):
        super().__init__()
        self.marks = []
        self._inside = False

    def length(self, count, compact, width):
        start = len(self.data)
        self._inside = True
        super().length(count, compact, width)
        self._inside = False
        self.marks.append((start, len(self.data), "varint" if compact else width))

    def varint(self, value):
        start = len(self.data)
        super().varint(value)
        if not self._inside:  # the number of tagged fields
            self.marks.append((start, len(self.data), "varint"))


def _filled(message, version, fields, given):
    """One of everything: arrays of one element, strings of one letter."""
    values = {}
    for field in fields:
        if version not in field.versions or field.tag is not None:
            continue
        if field.name in given:
            values[field.name] = given[field.name]
            continue
        if field.type.struct:
            one = _filled(message, version, message.structs[field.type.base].fields, given)
        else:
            one = {"string": "a", "bytes": b"ab", "records": None, "uuid": bytes(16), "bool": False,
                   "float64": 0.0}.get(field.type.base, 0)
            if one is None:
                one = kafka_codec.batch([(b"k", b"v")])
        values[field.name] = [one] if field.type.array else one
    return values


# Answered, and at once.
_GIVEN = {"Acks": -1, "TimeoutMs": 10, "timeoutMs": 10, "MaxWaitMs": 0, "IncludeClusterAuthorizedOperations": False}


def _lies(form, left):
    if form == "varint":
        return [b"\x00", b"\x01", kafka_codec.unsigned_varint(left + 2), b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f",
                b"\xff\xff\xff\xff\xff\xff\xff"]
    width = {"h": 15, "i": 31}[form]
    return [struct.pack(">" + form, value) for value in (-2, -1, 0, 2**width - 1, min(left + 1, 2**width - 1))]


def _frames(api, version):
    message = kafka_codec.schemas()[api, "request"]
    writer = _Marking()
    kafka_codec._Message(message, version).encode(
        writer, message.fields, _filled(message, version, message.fields, _GIVEN), api)
    body = bytes(writer.data)
    head = struct.pack(">hhih", message.key, version, 1, 1) + b"x" + (
        b"\0" if version in message.flexible else b"")
    for start, end, form in writer.marks:
        for lie in _lies(form, len(body) - end):
            payload = head + body[:start] + lie + body[end:]
            yield struct.pack(">i", len(payload)) + payload


class _Sender:
    """Sends frames, each on the connection of the one before, if that is still there."""

    def __init__(self, broker):
        self._broker, self._socket = broker, None
        self.answered = self.closed = 0

    def send(self, frame, what):
        if self._socket is None:
            self._socket = wire.connect(self._broker.port)
        try:
            self._socket.sendall(frame)
            wire.receive(self._socket)
            self.answered += 1
        except TimeoutError:
            raise AssertionError(f"{what}: neither an answer nor an end: {frame.hex()}") from None
        except OSError:
            self.close()
            self.closed += 1

    def close(self):
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def _served(broker):
    """Served API names and their versions."""
    with Connection(broker.port) as connection:
        answer = connection.call("ApiVersions", 3, {"ClientSoftwareName": "e2e", "ClientSoftwareVersion": "1"})
    names = {message.key: api for (api, kind), message in kafka_codec.schemas().items() if kind == "request"}
    return {names[row["ApiKey"]]: range(row["MinVersion"], row["MaxVersion"] + 1) for row in answer["ApiKeys"]}


def _peak_bytes(broker):
    for line in pathlib.Path(f"/proc/{broker.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def _forget_peak(broker):
    pathlib.Path(f"/proc/{broker.pid}/clear_refs").write_text("5")


@case(brokers=("pelton",))
def of_everything(context):
    """Every length, count and number of tags of every API in every version, each set to -2, -1, 0, the largest
    number, and more than is left: an answer or an end, and no memory."""
    broker = context.own()
    sender = _Sender(broker)
    apis = _served(broker)

    def send_all():
        for api, versions in apis.items():
            for version in versions:
                for frame in _frames(api, version):
                    sender.send(frame, f"{api} v{version}")

    send_all()  # what every API needs once is there from now on
    _forget_peak(broker)
    before = broker.rss_bytes()
    send_all()
    grown = (_peak_bytes(broker) - before) / _MIB
    sender.close()
    context.note(f"{sender.answered} answered, {sender.closed} closed; peak memory grew by {grown:.1f} MiB")
    expect(sender.closed > 4000 and sender.answered > 500, f"{sender.answered} answered, {sender.closed} closed")
    expect(grown < 1, f"peak memory grew by {grown:.1f} MiB")


@case(brokers=("pelton",))
def unknown_apis_and_versions(context):
    """Every API key from -1 to 127 in the versions around what is served, with a body of nothing: what is not
    served ends the connection, but for ApiVersions, which says what there is."""
    broker = context.own()
    sender = _Sender(broker)
    served = {kafka_codec.api_key(api): versions for api, versions in _served(broker).items()}
    for key in [*range(-1, 128), 1000, 32767, -32768]:
        versions = served.get(key, range(0, 1))
        for version in (-32768, -1, versions[-1] + 1, 99, 32767) if key in served else (0, 1, 99):
            answered = sender.answered
            sender.send(wire.request(key, version, 9, bytes(4)), f"key {key}, version {version}")
            wanted = int(key == wire.API_VERSIONS and version > 0)
            expect_equal(sender.answered - answered, wanted, f"answers to {key} v{version}")
    sender.close()
    with wire.connect(broker.port) as connection:
        expect_equal(wire.metadata_brokers(connection), 1, "brokers afterwards")


# ---------------------------------------------------------------- 100 MB of nearly nothing


def _tags(size):
    """A flexible header whose tagged fields are empty: as many as fit."""
    tags, count = bytearray(), 0
    while len(tags) < size:
        tags += kafka_codec.unsigned_varint(count) + b"\0"
        count += 1
    return struct.pack(">hhih", wire.METADATA, 9, 1, -1) + kafka_codec.unsigned_varint(count) + bytes(tags)


def _empty_names(size):
    """Metadata of topics without a name."""
    return struct.pack(">hhihi", wire.METADATA, 1, 1, -1, size // 2) + bytes(size // 2 * 2)


def _fetched_partitions(size):
    """A Fetch v4 of one topic with partitions that are all the same."""
    count = size // 16
    head = struct.pack(">hhih", 1, 4, 1, -1) + struct.pack(">iiiibi", -1, 0, 1, 1, 0, 1)
    return head + struct.pack(">h1si", 1, b"t", count) + struct.pack(">iqi", 0, 0, 1) * count


def _fetched_topics(size):
    """A Fetch v4 of topics without partitions."""
    count = size // 6
    head = struct.pack(">hhih", 1, 4, 1, -1) + struct.pack(">iiiibi", -1, 0, 1, 1, 0, count)
    return head + bytes(count * 6)


def _offset_fetch_groups(size):
    """An OffsetFetch v8 of groups without a name."""
    count = size // 3
    return (struct.pack(">hhih", 9, 8, 1, -1) + b"\0" + kafka_codec.unsigned_varint(count + 1) + b"\x01\x00\x00" * count +
            b"\0\0")


_HUGE = {"tagged fields": _tags, "empty names": _empty_names, "partitions": _fetched_partitions,
         "topics without partitions": _fetched_topics, "groups without a name": _offset_fetch_groups}


def _send_huge(context, mib):
    broker = context.own()
    before = broker.rss_bytes()
    for what, make in _HUGE.items():
        payload = make(mib * _MIB)
        _forget_peak(broker)
        with wire.connect(broker.port, timeout=60) as connection:
            cpu = broker.cpu_seconds()
            with contextlib.suppress(ConnectionError):
                connection.sendall(struct.pack(">i", len(payload)) + payload)
            started = time.monotonic()
            with wire.connect(broker.port) as other:
                expect_equal(wire.metadata_brokers(other), 1, "brokers")
            waited = time.monotonic() - started
            try:
                end = f"an answer of {len(wire.receive(connection))} bytes"
            except OSError as problem:
                end = str(problem)
        grown = (_peak_bytes(broker) - before) / _MIB
        context.note(f"{what}: peak +{grown:.0f} MiB, {broker.cpu_seconds() - cpu:.2f} s of CPU, "
                     f"others waited {waited:.2f} s, {end}")
        expect(grown < 2 * mib + 300, f"{what}: peak memory grew by {grown:.0f} MiB")
        expect(waited < 5, f"{what}: another client waited {waited:.1f} s")
    end = time.monotonic() + 20
    while (broker.rss_bytes() - before) / _MIB > 64:
        expect(time.monotonic() < end, f"{(broker.rss_bytes() - before) / _MIB:.0f} MiB stay in use")
        time.sleep(0.1)


@case(brokers=("pelton",))
def very_many_very_small(context):
    """Frames of 4 MB of tagged fields, empty strings, nested arrays: memory stays within what a frame, its decoding
    and its answer may take, others are served meanwhile, and the memory comes back."""
    _send_huge(context, 4)


@case(long=True, brokers=("pelton",))
def very_many_very_small_in_100_mb(context):
    """The same with nearly 100 MB."""
    _send_huge(context, 96)
