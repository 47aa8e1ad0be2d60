"""Writes the tables over all schemas: API keys, API infos, message types, error codes."""

import re

from .cpp import Code, banner, boolean
from .emit_source import type_name
from .model import OPEN, SchemaError


def namespaced(head, code):
    return head + "namespace pelton::proto {\n\n" + code.text() + "\n}  // namespace pelton::proto\n"


def api_key_header(files):
    code = Code()
    code.open("enum class ApiKey : int16_t")
    for file in files:
        if file.api:
            code.add(f"k{file.api.name} = {file.api.key},")
    code.close(";")
    return namespaced(banner("proto/schema/api") + "#pragma once\n\n#include <cstdint>\n\n", code)


def api_table(files):
    code = Code()
    code.open("const ApiInfo kApiTable[] =")
    apis = [f for f in files if f.api]
    for file in apis:
        request = file.messages[0]
        flexible = OPEN if request.flexible.empty else request.flexible.lo
        code.add(f'{{ApiKey::k{file.api.name}, "{file.api.name}", {request.versions.lo}, '
                 f"{request.versions.hi}, {flexible}, {boolean(request.unstable)}, "
                 f"{boolean('broker' in file.api.listeners)}, "
                 f"{boolean('controller' in file.api.listeners)}}},")
    code.close(";")
    code.add(f"const size_t kApiTableSize = {len(apis)};")
    head = banner("proto/schema/api") + '#include "proto/api.h"\n\n#include <cstddef>\n\n'
    declared = Code()
    declared.add("extern const ApiInfo kApiTable[];")
    declared.add("extern const size_t kApiTableSize;")
    declared.add()
    declared.extend(code)
    return namespaced(head, declared)


def message_table(files):
    messages = [m for f in files for m in f.messages]
    code = Code()
    for message in messages:
        code.add(f"extern const MessageType {type_name(message)};")
    code.add("extern const MessageType* const kMessageTable[];")
    code.add("extern const size_t kMessageTableSize;")
    code.open("const MessageType* const kMessageTable[] =")
    for message in messages:
        code.add(f"&{type_name(message)},")
    code.close(";")
    code.add(f"const size_t kMessageTableSize = {len(messages)};")
    return namespaced(banner("proto/schema") + '#include "proto/any_message.h"\n\n', code)


def parse_error_codes(text, path):
    """[(code, NAME, retriable, refresh)] of error_codes.table."""
    rows = []
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.split("#", 1)[0].split()
        if not words:
            continue
        good = (len(words) >= 2 and re.fullmatch(r"-?\d+", words[0])
                and re.fullmatch(r"[A-Z][A-Z0-9_]*", words[1])
                and set(words[2:]) <= {"retriable", "refresh"})
        if not good:
            raise SchemaError(path, number, f"error code expected, not '{raw.strip()}'")
        row = (int(words[0]), words[1], "retriable" in words, "refresh" in words)
        if rows and row[0] != rows[-1][0] + 1:
            raise SchemaError(path, number, f"code {row[0]} does not follow {rows[-1][0]}")
        rows.append(row)
    return rows


def constant(name):
    return "k" + "".join(part.capitalize() for part in name.split("_"))


def error_code_header(rows):
    code = Code()
    code.open("enum class ErrorCode : int16_t")
    for number, name, _, _ in rows:
        code.add(f"{constant(name)} = {number},")
    code.close(";")
    head = banner("proto/schema/error_codes.table") + "#pragma once\n\n#include <cstdint>\n\n"
    return namespaced(head, code)


def error_code_table(rows):
    code = Code()
    code.add("extern const ErrorCodeInfo kErrorCodeTable[];")
    code.add("extern const int16_t kFirstErrorCode;")
    code.add("extern const int16_t kLastErrorCode;")
    code.open("const ErrorCodeInfo kErrorCodeTable[] =")
    for _, name, retriable, refresh in rows:
        code.add(f'{{"{name}", {boolean(retriable)}, {boolean(refresh)}}},')
    code.close(";")
    code.add(f"const int16_t kFirstErrorCode = {rows[0][0]};")
    code.add(f"const int16_t kLastErrorCode = {rows[-1][0]};")
    head = banner("proto/schema/error_codes.table") + '#include "proto/error_code.h"\n\n'
    return namespaced(head, code)
