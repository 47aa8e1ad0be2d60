"""Names, types and conditions in C++ of what a schema says; shared by the emitters."""

import re

from .model import FIXED_SIZES, INTEGER_BITS, NULL

KEYWORDS = set("""alignas alignof and asm auto bool break case catch char class const continue
default delete do double else enum explicit export extern false float for friend goto if inline int
long mutable namespace new not operator or private protected public register return short signed
sizeof static struct switch template this throw true try typedef typeid typename union unsigned
using virtual void volatile while xor""".split())
MEMBERS = {"decode", "encode", "size", "dump", "version"}
VALUES = {"bool": "bool", "int8": "int8_t", "int16": "int16_t", "uint16": "uint16_t",
          "int32": "int32_t", "uint32": "uint32_t", "int64": "int64_t", "float64": "double",
          "uuid": "Uuid", "string": "std::string_view", "bytes": "Bytes", "records": "Records"}
STRONG = {"brokerId": "BrokerId", "producerId": "ProducerId"}
WIRE = {"bool": "bool", "int8": "i8", "int16": "i16", "uint16": "u16", "int32": "i32",
        "uint32": "u32", "int64": "i64", "float64": "f64", "uuid": "uuid"}


def snake(name):
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def member(field, top):
    """The field's C++ name; `top`: in a message, whose functions and their parameters take some."""
    name = snake(field.name)
    return name + "_" if name in KEYWORDS or (top and name in MEMBERS) else name


def json_key(field):
    return field.name[0].lower() + field.name[1:]


def strong(field):
    return STRONG.get(field.entity)


def element_type(field, message):
    if field.type.struct:
        return f"{message.name}::{field.type.base}"
    return strong(field) or VALUES[field.type.base]


def is_pointer(field):
    return field.type.struct and not field.type.array and not field.nullable.empty


def is_optional(field):
    return (not field.nullable.empty and not is_pointer(field)
            and (field.type.array or field.type.base != "records"))


def field_type(field, message):
    one = element_type(field, message).removeprefix(message.name + "::")
    if is_pointer(field):
        return one + "*"
    if field.type.array:
        one = f"std::span<{one}>"
    return f"std::optional<{one}>" if is_optional(field) else one


def literal(field):
    """The default as an initialiser's inside; '' is the type's own zero."""
    base, default = field.type.base, field.default
    if field.type.array or field.type.struct or default is NULL:
        return ""
    if default is None:
        return ""
    if base == "bool":
        return "true" if default else ""
    if base in INTEGER_BITS:
        return integer(default, base)
    return repr(default)


def integer(value, base):
    if value == 0:
        return ""
    if base == "int32" and value == -(1 << 31):
        return "INT32_MIN"
    if base == "int64" and value == -(1 << 63):
        return "INT64_MIN"
    return str(value)


def initializer(field):
    if is_pointer(field):
        return " = nullptr"
    if is_optional(field):
        if field.default is NULL:
            return ""
        return "{std::in_place}"
    if field.type.struct and not field.type.array:
        return ""
    if field.type.array or field.type.base in ("string", "bytes", "uuid", "records"):
        return ""
    return "{" + literal(field) + "}"


def not_default(field, value):
    """The condition under which a tagged field is written."""
    if is_pointer(field):
        if field.default is NULL:
            return f"{value} != nullptr"
        return f"({value} == nullptr || !is_default(*{value}))"
    if is_optional(field):
        if field.default is NULL:
            return f"{value}.has_value()"
        return f"(!{value} || !{value}->empty())"
    if field.type.array or field.type.base in ("string", "bytes"):
        return f"!{value}.empty()"
    if field.type.struct:
        return f"!is_default({value})"
    base = field.type.base
    if base == "records":
        return f"!{value}.null"
    if base == "uuid":
        return f"!{value}.is_zero()"
    if base == "bool":
        return f"!{value}" if field.default else value
    return f"{value} != {field_value(field)}"


def field_value(field):
    number = literal(field) or "0"
    return f"{strong(field)}({number})" if strong(field) else number


def condition(versions, context):
    """C++ for `version in versions`, known to lie in `context`: True, False or an expression."""
    inside = versions & context
    if inside.empty:
        return False
    parts = []
    if inside.lo > context.lo:
        parts.append(f"version >= {inside.lo}")
    if inside.hi < context.hi:
        parts.append(f"version <= {inside.hi}")
    if len(parts) == 2 and inside.lo == inside.hi:
        return f"version == {inside.lo}"
    return " && ".join(parts) if parts else True


def boolean(value):
    return value if isinstance(value, str) else ("true" if value else "false")


def both(left, right):
    """`left && right` of two conditions."""
    if left is True:
        return right
    if right is True:
        return left
    return f"{left} && {right}"


def closed(versions, message):
    return versions & message.versions


def structs_in_order(message):
    """Every struct after those it holds."""
    order = []

    def visit(struct):
        if struct in order:
            return
        for field in struct.fields:
            if field.type.struct:
                visit(message.structs[field.type.base])
        order.append(struct)

    for struct in message.structs.values():
        visit(struct)
    return order


def is_flexible(field, message, version):
    return field.flexible and version in message.flexible


def min_bytes_of_value(field, message, version):
    """Fewest bytes of one element (or of the value itself) of the field in a version."""
    base = field.type.base
    if field.type.struct:
        return min_bytes_of_struct(message.structs[base], message, version)
    if base in FIXED_SIZES:
        return FIXED_SIZES[base]
    if is_flexible(field, message, version):
        return 1
    return 2 if base == "string" else 4


def min_bytes_of_field(field, message, version):
    if field.type.array:
        return 1 if is_flexible(field, message, version) else 4
    if is_pointer(field):
        return 1
    return min_bytes_of_value(field, message, version)


def min_bytes_of_struct(struct, message, version):
    total = sum(min_bytes_of_field(f, message, version)
                for f in struct.fields if version in f.regular)
    return total + (1 if version in message.flexible else 0)


def min_element_bytes(field, message, context):
    """An expression in `version`, at least 1, for the elements of an array."""
    runs = []
    for version in range(context.lo, context.hi + 1):
        least = max(1, min_bytes_of_value(field, message, version))
        if not runs or runs[-1][1] != least:
            runs.append([version, least])
    text = str(runs[-1][1])
    for (_, least), (following, _) in zip(reversed(runs[:-1]), reversed(runs[1:])):
        text = f"version < {following} ? {least} : {text}"
    return text


class Code:
    """Lines with indentation."""

    def __init__(self):
        self.lines, self.depth = [], 0

    def add(self, line=""):
        self.lines.append("  " * self.depth + line if line else "")

    def open(self, line):
        self.add(line + " {")
        self.depth += 1

    def close(self, tail=""):
        self.depth -= 1
        self.add("}" + tail)

    def extend(self, other):
        for line in other.lines:
            self.add(line)

    def text(self):
        return "\n".join(self.lines) + "\n"


def banner(path):
    return f"// Generated from {path}. Do not edit.\n"


def function(code, head, body, context, message):
    """A function whose unused parameters and locals are left out."""
    text = re.sub(r'"[^"]*"', '""', body.text()) if body.lines else ""
    uses = lambda word: re.search(rf"\b{word}\b", text) is not None
    flexible = condition(message.flexible, context)
    if not (uses("version") or (uses("flexible") and isinstance(flexible, str))):
        head = head.replace("int16_t version)", "int16_t)")
    for name in ("in", "out", "x"):
        if not uses(name):
            head = re.sub(rf"([&*] ?){name}([,)])", r"\1\2", head)
    code.open(head)
    if uses("flexible"):
        code.add(f"const bool flexible = {boolean(flexible)};")
    code.extend(body)
    code.close()
