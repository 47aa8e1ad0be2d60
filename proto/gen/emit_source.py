"""Writes the .cc of one schema file: the functions of emit_codec and emit_dump, the members that
call them, and each message's entry for the message table."""

from . import emit_codec, emit_dump
from .cpp import Code, banner
from .emit_header import header_name


def emit(file):
    code = Code()
    for message in file.messages:
        emit_codec.emit_functions(code, message)
        emit_dump.emit_functions(code, message)
    head = banner(file.path)
    head += f'#include "proto/messages/{header_name(file)}"\n\n'
    head += "".join(f'#include "proto/{h}.h"\n' for h in ("any_message", "json_dump", "wire"))
    head += "\nnamespace pelton::proto {\nnamespace {\n\n"
    tail = Code()
    for message in file.messages:
        emit_members(tail, file, message)
    return head + code.text() + "}  // namespace\n" + tail.text() + \
        "\n}  // namespace pelton::proto\n"


def emit_members(code, file, message):
    name = message.name
    code.add()
    code.open(f"void {name}::decode(WireReader& in, int16_t version)")
    code.add("*this = {};")
    code.add("if (version < kMinVersion || version > kMaxVersion)")
    code.add("  return in.fail(DecodeError::kUnsupportedVersion);")
    code.add("read_struct(in, *this, version);")
    code.close()
    code.open(f"void {name}::encode(WireWriter& out, int16_t version) const")
    code.add("CHECK(version >= kMinVersion && version <= kMaxVersion);")
    code.add("write_struct(out, *this, version);")
    code.close()
    code.open(f"size_t {name}::size(int16_t version) const")
    code.add("return struct_size(*this, version);")
    code.close()
    code.open(f"void {name}::dump(std::string& out, int16_t version) const")
    code.add("JsonDump json(out);")
    code.add("dump_struct(json, *this, version);")
    code.close()
    key = -1 if message.key is None else message.key
    code.add(f"extern const MessageType {type_name(message)};")
    code.add(f'const MessageType {type_name(message)} = make_message_type<{name}>("{name}", '
             f'MessageKind::k{message.kind.capitalize()}, {key}, "{file.family or ""}");')


def type_name(message):
    return f"k{message.name}Type"
