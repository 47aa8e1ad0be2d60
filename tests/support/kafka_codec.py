"""Requests and responses as Python dictionaries, encoded and decoded after our schema files, in every
version; and a small builder of record batches. Independent of the C++ codec but for the schemas.

    request = codec.encode_request("Metadata", 9, correlation, {"Topics": None})
    header, body = codec.decode_response("Metadata", 9, payload)

A dictionary needs only the fields that differ from their defaults; a field that the version does not
have is refused, so that a script does not believe it sent it. decode_* refuses left-over bytes.
UUIDs are bytes of 16, records and bytes are bytes, unknown tagged fields land under "unknown tags"."""

import functools
import struct

from proto.gen import model, parser
from tests.support import compression, processes

ZERO_UUID = bytes(16)
_FIXED = {"bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
          "int64": "q", "float64": "d"}


class CodecError(Exception):
    """A dictionary that does not fit its schema, or bytes that do not."""


@functools.cache
def schemas():
    """(API name, "request" | "response") -> Message."""
    files = parser.parse_all(processes.ROOT / "proto" / "schema")
    return {(file.api.name, message.kind): message
            for file in files if file.api for message in file.messages}


def versions(api):
    """The request's range of versions."""
    return schemas()[api, "request"].versions


def api_key(api):
    return schemas()[api, "request"].key


class Writer:
    def __init__(self):
        self.data = bytearray()

    def fixed(self, base, value):
        self.data += struct.pack(">" + _FIXED[base], value)

    def varint(self, value):
        self.data += unsigned_varint(value)

    def length(self, count, compact, width):
        """The length of a string (width h) or of bytes and arrays (width i); None is null."""
        if compact:
            self.varint(0 if count is None else count + 1)
        else:
            self.data += struct.pack(">" + width, -1 if count is None else count)


class Reader:
    def __init__(self, data):
        self.data, self.position = memoryview(data), 0

    def take(self, count):
        if count < 0 or self.position + count > len(self.data):
            raise CodecError(f"{count} bytes at {self.position} of {len(self.data)}")
        self.position += count
        return bytes(self.data[self.position - count:self.position])

    def fixed(self, base):
        code = ">" + _FIXED[base]
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def varint(self):
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7
            if shift > 28:
                raise CodecError("varint too long")

    def long_varint(self):
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7

    def length(self, compact, width):
        count = self.varint() - 1 if compact else struct.unpack(">" + width, self.take(
            struct.calcsize(width)))[0]
        return None if count < 0 else count


def unsigned_varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed_varint(value):
    return unsigned_varint((value << 1) ^ (value >> 63) if value >= 0 else ((-value) << 1) - 1)


class _Message:
    """One message in one version."""

    def __init__(self, message, version):
        self.message, self.version = message, version
        self.flexible = version in message.flexible

    # A field is one of three: absent, regular or tagged.
    def regular(self, fields):
        return [f for f in fields if self.version in f.versions and not self.is_tagged(f)]

    def tagged(self, fields):
        return sorted((f for f in fields if self.is_tagged(f)), key=lambda f: f.tag)

    def is_tagged(self, field):
        return field.tag is not None and self.version in field.tagged and self.version in field.versions

    def default(self, field):
        if field.default is model.NULL:
            return None
        if field.default is not None:
            return field.default
        if field.type.array:
            return []
        if field.type.struct:
            return {f.name: self.default(f) for f in self.fields_of(field)
                    if self.version in f.versions}
        return {"string": "", "bytes": b"", "records": None, "uuid": ZERO_UUID, "bool": False,
                "float64": 0.0}.get(field.type.base, 0)

    def fields_of(self, field):
        return self.message.structs[field.type.base].fields

    # Encoding.
    def encode(self, writer, fields, values, where):
        present = {f.name for f in fields if self.version in f.versions}
        for name in values:
            if name not in present:
                raise CodecError(f"{where} has no field {name} in version {self.version}")
        for field in self.regular(fields):
            value = values.get(field.name, self.default(field))
            self.encode_field(writer, field, value, f"{where}.{field.name}")
        if not self.flexible:
            return
        tags = []
        for field in self.tagged(fields):
            value = values.get(field.name, self.default(field))
            if value != self.default(field):
                inner = Writer()
                self.encode_field(inner, field, value, f"{where}.{field.name}")
                tags.append((field.tag, inner.data))
        writer.varint(len(tags))
        for tag, data in tags:
            writer.varint(tag)
            writer.varint(len(data))
            writer.data += data

    def encode_field(self, writer, field, value, where):
        if value is None and self.version not in field.nullable:
            raise CodecError(f"{where} cannot be null in version {self.version}")
        compact = self.flexible and field.flexible
        if not field.type.array:
            self.encode_value(writer, field, value, compact, where)
            return
        writer.length(None if value is None else len(value), compact, "i")
        for number, element in enumerate(value or []):
            self.encode_element(writer, field, element, compact, f"{where}[{number}]")

    def encode_element(self, writer, field, value, compact, where):
        if field.type.struct:
            self.encode(writer, self.fields_of(field), value, where)
        else:
            self.encode_value(writer, field, value, compact, where)

    def encode_value(self, writer, field, value, compact, where):
        base = field.type.base
        if field.type.struct:
            if self.version in field.nullable:
                writer.fixed("int8", -1 if value is None else 1)
            if value is not None:
                self.encode(writer, self.fields_of(field), value, where)
        elif base == "string":
            data = None if value is None else value.encode("utf-8", "surrogateescape")
            writer.length(None if data is None else len(data), compact, "h")
            writer.data += data or b""
        elif base in ("bytes", "records"):
            writer.length(None if value is None else len(value), compact, "i")
            writer.data += value or b""
        elif base == "uuid":
            writer.data += value
        else:
            try:
                writer.fixed(base, value)
            except struct.error as problem:
                raise CodecError(f"{where}: {value!r}: {problem}") from None

    # Decoding.
    def decode(self, reader, fields):
        values = {}
        for field in self.regular(fields):
            values[field.name] = self.decode_field(reader, field)
        if self.flexible:
            self.decode_tags(reader, fields, values)
        return values

    def decode_tags(self, reader, fields, values):
        tagged = {field.tag: field for field in self.tagged(fields)}
        for field in tagged.values():
            values[field.name] = self.default(field)
        last = -1
        for _ in range(reader.varint()):
            tag, data = reader.varint(), None
            if tag <= last:
                raise CodecError(f"tag {tag} after {last}")
            last, data = tag, reader.take(reader.varint())
            if tag not in tagged:
                values.setdefault("unknown tags", []).append((tag, data))
                continue
            inner = Reader(data)
            values[tagged[tag].name] = self.decode_field(inner, tagged[tag])
            if inner.position != len(data):
                raise CodecError(f"bytes left in tag {tag}")

    def decode_field(self, reader, field):
        compact = self.flexible and field.flexible
        if not field.type.array:
            return self.decode_value(reader, field, compact)
        count = reader.length(compact, "i")
        if count is None:
            self.check_null(field)
            return None
        if field.type.struct:
            return [self.decode(reader, self.fields_of(field)) for _ in range(count)]
        return [self.decode_value(reader, field, compact) for _ in range(count)]

    def decode_value(self, reader, field, compact):
        base = field.type.base
        if field.type.struct:
            if self.version in field.nullable and reader.fixed("int8") < 0:
                return None
            return self.decode(reader, self.fields_of(field))
        if base in ("string", "bytes", "records"):
            count = reader.length(compact, "h" if base == "string" else "i")
            if count is None:
                self.check_null(field)
                return None
            data = reader.take(count)
            return data.decode("utf-8", "surrogateescape") if base == "string" else data
        return reader.take(16) if base == "uuid" else reader.fixed(base)

    def check_null(self, field):
        # An array's nullability covers the array, not its elements.
        if self.version not in field.nullable:
            raise CodecError(f"{field.name} is null in version {self.version}")


def encode_body(api, kind, version, values):
    message = schemas()[api, kind]
    writer = Writer()
    _Message(message, version).encode(writer, message.fields, values, message.name)
    return bytes(writer.data)


def decode_body(api, kind, version, data):
    message = schemas()[api, kind]
    reader = Reader(data)
    values = _Message(message, version).decode(reader, message.fields)
    if reader.position != len(data):
        raise CodecError(f"{message.name} v{version}: {len(data) - reader.position} bytes left over")
    return values


def fitting(api, version, values):
    """The request's values without the fields that this version does not have: for loops over versions."""
    message = schemas()[api, "request"]

    def fit(fields, given):
        known = {f.name: f for f in fields if version in f.versions}
        return {name: fit_value(known[name], value) for name, value in given.items() if name in known}

    def fit_value(field, value):
        if not field.type.struct or value is None:
            return value
        fields = message.structs[field.type.base].fields
        return [fit(fields, one) for one in value] if field.type.array else fit(fields, value)

    return fit(message.fields, values)


def encode_request(api, version, correlation, values, client_id="script"):
    """A whole frame: size, header, body."""
    message = schemas()[api, "request"]
    name = None if client_id is None else client_id.encode()
    header = struct.pack(">hhih", message.key, version, correlation, -1 if name is None else len(name))
    tags = b"\0" if version in message.flexible else b""
    payload = header + (name or b"") + tags + encode_body(api, "request", version, values)
    return struct.pack(">i", len(payload)) + payload


def decode_response(api, version, payload):
    """The correlation id and the body of a response frame without its size."""
    message = schemas()[api, "response"]
    # A client cannot know the broker's versions yet: this header never became flexible.
    flexible = version in message.flexible and api != "ApiVersions"
    (correlation,) = struct.unpack_from(">i", payload)
    if flexible and payload[4] != 0:
        raise CodecError("tagged fields in a response header")
    return correlation, decode_body(api, "response", version, payload[5 if flexible else 4:])


# Record batches.
def _crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC32C = _crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _field(data):
    return signed_varint(-1) if data is None else signed_varint(len(data)) + data


def record(offset_delta, key, value, timestamp_delta=0, headers=()):
    body = b"\0" + signed_varint(timestamp_delta) + signed_varint(offset_delta) + _field(key) + _field(value)
    body += signed_varint(len(headers))
    for name, content in headers:
        body += _field(name.encode()) + _field(content)
    return signed_varint(len(body)) + body


def batch(records, *, base_offset=0, timestamp=0, producer_id=-1, producer_epoch=-1, sequence=-1,
          codec="none", attributes=0, leader_epoch=-1, magic=2, crc=None, count=None, last_delta=None,
          max_timestamp=None, length=None, payload=None):
    """A record batch v2 of (key, value) pairs or ready record() bytes; `payload` stands for the compressed
    records. The others from `crc` on lie."""
    encoded = [entry if isinstance(entry, bytes) else record(number, *entry)
               for number, entry in enumerate(records)]
    covered = struct.pack(
        ">hiqqqhii", attributes | compression.CODEC_BITS[codec],
        len(encoded) - 1 if last_delta is None else last_delta, timestamp,
        timestamp if max_timestamp is None else max_timestamp, producer_id, producer_epoch, sequence,
        len(encoded) if count is None else count)
    covered += compression.compress(codec, b"".join(encoded)) if payload is None else payload
    size = 4 + 1 + 4 + len(covered) if length is None else length
    return struct.pack(">qiibI", base_offset, size, leader_epoch, magic,
                       crc32c(covered) if crc is None else crc) + covered


def read_batch(data, position=0):
    """The batch there, as a dictionary of its header's fields and its records: (offset delta, timestamp delta,
    attributes, key, value, headers)."""
    base, size, epoch, magic, crc, attributes, last, first_time, max_time, producer, producer_epoch, sequence, \
        count = struct.unpack_from(">qiibIhiqqqhii", data, position)
    end = position + 12 + size
    codec = compression.CODECS[attributes & 7]
    plain = Reader(compression.decompress(codec, bytes(data[position + 61:end])))
    return {"base": base, "leader epoch": epoch, "magic": magic, "crc": crc == crc32c(data[position + 21:end]),
            "codec": codec, "attributes": attributes, "last delta": last, "base timestamp": first_time,
            "max timestamp": max_time, "producer": (producer, producer_epoch, sequence), "count": count,
            "records": [_read_record(plain) for _ in range(count)], "end": end,
            "left": len(plain.data) - plain.position}


def _signed(reader):
    value = reader.long_varint()
    return (value >> 1) ^ -(value & 1)


def _read_field(reader):
    size = _signed(reader)
    return None if size < 0 else reader.take(size)


def _read_record(reader):
    _signed(reader)
    attributes = reader.fixed("int8")
    timestamp, offset = _signed(reader), _signed(reader)
    key, value = _read_field(reader), _read_field(reader)
    headers = [(_read_field(reader), _read_field(reader)) for _ in range(_signed(reader))]
    return offset, timestamp, attributes, key, value, headers
