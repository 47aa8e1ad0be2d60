"""Records for the clients: every shape of key, value and header, and the comparison of what came back."""

import json
import random
import time

from tests.e2e.case import expect, expect_equal

COUNT = 1000
PARTITIONS = 2


def make(seed, count=COUNT, writer=None, partition=None, without=()):
    """Records as the clients' jobs take them, for two partitions or for the given one. Timestamps lie an
    hour back, so that retention leaves them. They keep to what the writer can say, and leave out the
    shapes in `without`: for kcat (plain) one set of headers a partition; nulls in an even partition,
    empty keys and values in an odd one."""
    chance = random.Random(seed)
    start = int(time.time() * 1000) - 3_600_000
    if writer is not None and writer.plain:
        return [_plain(chance, number, start, partition) for number in range(count)]
    made = [_any(chance, number, start, partition) for number in range(count)]
    for record in made:
        for shape in [*without, *(writer.unable if writer is not None else ())]:
            _WITHOUT[shape](record)
        if writer is not None:
            record["h"] = _HEADER_FORMS[writer.headers](record["h"])
    return made


# What some clients cannot write.
NULL_HEADER = "a null header value"
NULL_RECORD = "a record of neither key nor value"
EMPTY_FIELD = "an empty key or value"
BINARY_HEADER = "a header value that is no text"


def _without_null_header(record):
    record["h"] = [[name, value or ""] for name, value in record["h"]]


def _without_null_record(record):
    if record["k"] is None and record["v"] is None:
        record["k"] = ""


def _without_empty_field(record):
    record["k"], record["v"] = record["k"] or None, record["v"] or None


def _without_binary_header(record):
    record["h"] = [[name, value and value.encode().hex()] for name, value in record["h"]]


_WITHOUT = {NULL_HEADER: _without_null_header, NULL_RECORD: _without_null_record,
            EMPTY_FIELD: _without_empty_field, BINARY_HEADER: _without_binary_header}


def _grouped(headers):
    names = {}
    for name, value in headers:
        names.setdefault(name, []).append([name, value])
    return [header for group in names.values() for header in group]


# What a client keeps of the list of headers: all of it, the values of each name together, or a sorted map
# with one value a name.
_HEADER_FORMS = {"list": lambda headers: headers, "grouped": _grouped,
                 "map": lambda headers: [list(pair) for pair in sorted(dict(headers).items())]}


def _any(chance, number, start, partition):
    key = chance.choice([None, b"", f"key-{number}".encode(), chance.randbytes(9)])
    if number % 13 == 5:
        value = None
    elif number % 17 == 3:
        value = b""
    elif number % 200 == 27:
        value = chance.randbytes(chance.randrange(20_000, 60_000))
    elif number % 2:
        value = f"value {number} ".encode() * chance.randrange(1, 60)
    else:
        value = chance.randbytes(chance.randrange(1, 300))
    headers = [[chance.choice(["a", "b", "name with space", "\u00e9\u4e2d"]), _header_value(chance)]
               for _ in range(chance.choice([0, 0, 1, 3]))]
    anywhere = chance.randrange(PARTITIONS)
    return {"p": anywhere if partition is None else partition, "k": _hex(key), "v": _hex(value), "h": headers,
            "t": start + number * 3 - (number % 5) * 1000}


def _header_value(chance):
    # No line feed: kcat's output ends the headers with one.
    return _hex(chance.choice([None, b"", b"text", bytes(b for b in chance.randbytes(12) if b != 10)]))


def _plain(chance, number, start, partition):
    partition = number % PARTITIONS if partition is None else partition
    empty = None if partition % 2 == 0 else b""
    key = chance.choice([empty, f"key-{number}".encode()])
    value = empty if number % 13 < 2 else f"value {number} ".encode() * chance.randrange(1, 60)
    headers = [["h", b"one".hex()]] if partition % 2 == 0 else [["h", b"two".hex()], ["i", b"x".hex()]]
    return {"p": partition, "k": _hex(key), "v": _hex(value), "h": headers, "t": start}


def _hex(data):
    return None if data is None else data.hex()


def save(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def load(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def expect_same(dumped, written, what, reader, writer):
    """The dumps of one topic hold the written records: each once, in order, at offsets from 0, every
    byte the same. Reader and writer are the clients."""
    for partition in sorted({r["p"] for r in dumped} | {r["p"] for r in written}):
        got = sorted((r for r in dumped if r["p"] == partition), key=lambda r: r["o"])
        wanted = [r for r in written if r["p"] == partition]
        expect_equal([r["o"] for r in got], list(range(len(wanted))), f"{what}-{partition} offsets")
        for record, original in zip(got, wanted):
            _expect_same_record(record, original, f"{what}-{partition}@{record['o']}", reader, writer)


def _expect_same_record(record, original, where, reader, writer):
    def blurred(text):
        return text if reader.tells_empty_from_null else text or None

    for field, name in (("k", "key"), ("v", "value")):
        expect_equal(blurred(record[field]), blurred(original[field]), f"{where} {name}")
    if "h_text" in record:
        expect_equal(record["h_text"], _kcat_headers(original["h"]), f"{where} headers")
    else:
        got, wanted = ([[name, blurred(value)] for name, value in headers]
                       for headers in (record["h"], original["h"]))
        expect_equal(got, _HEADER_FORMS[reader.headers](wanted), f"{where} headers")
    if writer.sets_timestamps:
        expect_equal(record["t"], original["t"], f"{where} timestamp")
    else:
        age = time.time() * 1000 - record["t"]
        expect(-1000 < age < 600_000, f"{where} timestamp {record['t']} is {age} ms old")


def _kcat_headers(headers):
    """As kcat prints them with %h: values as C strings, which end at the first zero byte."""
    parts = [name.encode() + b"=" + (b"NULL" if value is None else bytes.fromhex(value).split(b"\0")[0])
             for name, value in headers]
    return b",".join(parts).decode(errors="backslashreplace")
