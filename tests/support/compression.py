"""The codecs of record batches for scripts: gzip by zlib, the others by the system's libraries, which the broker
is built with. compress() frames as Kafka's clients do (snappy: xerial); decompress() reads what brokers store."""

import ctypes
import functools
import struct
import zlib

CODEC_BITS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
CODECS = tuple(CODEC_BITS)
_XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
_LARGEST = 1 << 26
_LZ4F_VERSION = 100


@functools.cache
def _library(name):
    library = ctypes.CDLL(name)
    for function in ("ZSTD_compress", "ZSTD_compressBound", "ZSTD_decompress", "LZ4F_compressFrame",
                     "LZ4F_compressFrameBound", "LZ4F_decompress", "snappy_max_compressed_length"):
        if hasattr(library, function):
            getattr(library, function).restype = ctypes.c_size_t
    return library


def _gzip(data):
    squeeze = zlib.compressobj(wbits=31)
    return squeeze.compress(data) + squeeze.flush()


def snappy_block(data):
    library = _library("libsnappy.so.1")
    room = library.snappy_max_compressed_length(ctypes.c_size_t(len(data)))
    out, size = ctypes.create_string_buffer(room), ctypes.c_size_t(room)
    assert library.snappy_compress(data, ctypes.c_size_t(len(data)), out, ctypes.byref(size)) == 0
    return out.raw[:size.value]


def _snappy(data):
    blocks = [snappy_block(data[at:at + 32768]) for at in range(0, len(data), 32768)]
    return _XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def _lz4(data):
    library = _library("liblz4.so.1")
    # LZ4F_frameInfo_t begins with block size id (4: 64 KiB) and block mode (1: independent).
    preferences = struct.pack("=ii", 4, 1).ljust(64, b"\0")
    room = library.LZ4F_compressFrameBound(ctypes.c_size_t(len(data)), preferences)
    out = ctypes.create_string_buffer(room)
    size = library.LZ4F_compressFrame(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), preferences)
    return out.raw[:size]


def _zstd(data, level=3):
    library = _library("libzstd.so.1")
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), level)
    return out.raw[:size]


def compress(codec, data):
    return {"none": bytes, "gzip": _gzip, "snappy": _snappy, "lz4": _lz4, "zstd": _zstd}[codec](data)


def _unsnappy_block(block):
    library = _library("libsnappy.so.1")
    size = ctypes.c_size_t()
    assert library.snappy_uncompressed_length(block, ctypes.c_size_t(len(block)), ctypes.byref(size)) == 0
    out = ctypes.create_string_buffer(max(size.value, 1))
    assert library.snappy_uncompress(block, ctypes.c_size_t(len(block)), out, ctypes.byref(size)) == 0
    return out.raw[:size.value]


def _unsnappy(data):
    if not data.startswith(_XERIAL[:8]):
        return _unsnappy_block(data)
    out, at = b"", len(_XERIAL)
    while at + 4 <= len(data):
        (size,) = struct.unpack_from(">i", data, at)
        out += _unsnappy_block(data[at + 4:at + 4 + size])
        at += 4 + size
    return out


def _unlz4(data):
    library = _library("liblz4.so.1")
    context = ctypes.c_void_p()
    library.LZ4F_createDecompressionContext(ctypes.byref(context), _LZ4F_VERSION)
    out, source, result = ctypes.create_string_buffer(1 << 20), ctypes.create_string_buffer(data, len(data)), b""
    at = 0
    while True:
        room, taken = ctypes.c_size_t(len(out)), ctypes.c_size_t(len(data) - at)
        hint = library.LZ4F_decompress(context, out, ctypes.byref(room), ctypes.byref(source, at),
                                       ctypes.byref(taken), None)
        assert not library.LZ4F_isError(ctypes.c_size_t(hint)), "lz4"
        result += out.raw[:room.value]
        at += taken.value
        if hint == 0 or (room.value == 0 and taken.value == 0):
            break
    library.LZ4F_freeDecompressionContext(context)
    return result


def _unzstd(data):
    library = _library("libzstd.so.1")
    out = ctypes.create_string_buffer(_LARGEST)
    size = library.ZSTD_decompress(out, ctypes.c_size_t(_LARGEST), data, ctypes.c_size_t(len(data)))
    assert size <= _LARGEST, "zstd"
    return ctypes.string_at(out, size)


def decompress(codec, data):
    return {"none": bytes, "gzip": lambda d: zlib.decompress(d, 31), "snappy": _unsnappy, "lz4": _unlz4,
            "zstd": _unzstd}[codec](data)
