"""Writes the JSON dump of a schema file's structs."""

from .cpp import (Code, both, condition, function, is_optional, is_pointer, json_key, not_default,
                  strong)
from .emit_codec import bodies, guarded

CALLS = {"bool": "boolean", "float64": "real", "uuid": "uuid", "string": "text", "bytes": "bytes",
         "records": "records"}


def dump_one(field, value):
    if field.type.struct:
        return f"dump_struct(json, {value}, version);"
    call = CALLS.get(field.type.base, "integer")
    return f"json.{call}({value + '.value' if strong(field) else value});"


def dump_value(code, field, value):
    null = is_optional(field) or is_pointer(field)
    inner = f"*{value}" if null else value
    if null:
        code.open(f"if ({value})" if is_optional(field) else f"if ({value} != nullptr)")
    if field.type.array:
        code.add("json.begin_array();")
        code.add(f"for (const auto& item : {inner}) {dump_one(field, 'item')}")
        code.add("json.end_array();")
    else:
        code.add(dump_one(field, inner))
    if null:
        code.depth -= 1
        code.open("} else")
        code.add("json.null();")
        code.close()


def dump_field(code, field, value):
    code.add(f'json.key("{json_key(field)}");')
    dump_value(code, field, value)


def emit_dump(code, body, name):
    made = Code()
    made.add("json.begin_object();")
    tagged = {f.name: here for f, here, _ in body.tagged()}
    regular = {f.name: when for f, _, when in body.regular()}
    for field in body.fields:
        value = body.member(field)
        if field.name in regular:
            guarded(made, regular[field.name], lambda: dump_field(made, field, value))
        if field.name in tagged:
            when = both(condition(tagged[field.name], body.context), not_default(field, value))
            guarded(made, when, lambda: dump_field(made, field, value))
    made.add("json.end_object();")
    function(code, f"void dump_struct(JsonDump& json, const {name}& x, int16_t version)", made,
             body.context, body.message)


def emit_functions(code, message):
    for body, name in bodies(message):
        emit_dump(code, body, name)
        code.add()
