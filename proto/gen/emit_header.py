"""Writes the .h of one schema file: the structs."""

from .cpp import Code, banner, field_type, initializer, member, snake, structs_in_order
from .model import OPEN


def emit(file):
    code = Code()
    for message in file.messages:
        code.add()
        emit_message(code, file, message)
    includes = ["<cstddef>", "<cstdint>", "<optional>", "<span>", "<string>", "<string_view>"]
    own = (['"proto/api.h"'] if file.api else []) + ['"proto/types.h"']
    head = banner(file.path) + "#pragma once\n\n"
    head += "".join(f"#include {i}\n" for i in includes) + "\n"
    head += "".join(f"#include {i}\n" for i in own)
    head += "\nnamespace pelton::proto {\n\nclass WireReader;\nclass WireWriter;\n"
    return head + code.text() + "\n}  // namespace pelton::proto\n"


def emit_message(code, file, message):
    code.open(f"struct {message.name}")
    if file.api:
        code.add(f"static constexpr ApiKey kApiKey = ApiKey::k{file.api.name};")
    elif message.key is not None:
        code.add(f"static constexpr int16_t kRecordType = {message.key};")
    code.add(f"static constexpr int16_t kMinVersion = {message.versions.lo};")
    code.add(f"static constexpr int16_t kMaxVersion = {message.versions.hi};")
    first = OPEN if message.flexible.empty else message.flexible.lo
    code.add(f"static constexpr int16_t kFlexibleFrom = {first};")
    code.add()
    for struct in structs_in_order(message):
        code.open(f"struct {struct.name}")
        emit_fields(code, message, struct.fields, top=False)
        code.close(";")
    if message.structs:
        code.add()
    emit_fields(code, message, message.fields, top=True)
    if message.fields:
        code.add()
    code.add("void decode(WireReader& in, int16_t version);")
    code.add("void encode(WireWriter& out, int16_t version) const;")
    code.add("size_t size(int16_t version) const;")
    code.add("void dump(std::string& out, int16_t version) const;")
    code.close(";")


def emit_fields(code, message, fields, top):
    for field in fields:
        note = "" if field.versions.lo <= message.versions.lo and field.versions.hi == OPEN \
            else f"  // {field.versions}"
        code.add(f"{field_type(field, message)} {member(field, top)}{initializer(field)};{note}")


def header_name(file):
    return snake(file.stem) + ".h"
