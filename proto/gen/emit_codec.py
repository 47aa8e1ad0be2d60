"""Writes decode, encode, size and is_default of a schema file's structs."""

from .cpp import (WIRE, Code, boolean, both, closed, condition, element_type, function,
                  is_optional, is_pointer, member, min_element_bytes, not_default, strong,
                  structs_in_order)
from .model import FIXED_SIZES, NULL


class Body:
    """One struct, or the message itself, as the functions see it: `x`, in `context` versions."""

    def __init__(self, message, fields, versions, top):
        self.message, self.fields, self.top = message, fields, top
        self.context = closed(versions, message)
        self.flexible = condition(message.flexible, self.context)

    def member(self, field):
        return "x." + member(field, self.top)

    def regular(self):
        """(field, its versions here, condition) in wire order."""
        for field in self.fields:
            here = field.regular & self.context
            if not here.empty:
                yield field, here, condition(here, self.context)

    def tagged(self):
        found = [f for f in self.fields
                 if f.tag is not None and not (f.tagged & self.context).empty]
        for field in sorted(found, key=lambda f: f.tag):
            here = field.tagged & self.context
            inner = self.context & self.message.flexible
            yield field, here, condition(here, inner)


def nullable(field, here):
    return boolean(condition(field.nullable, here))


def flag(field):
    return "flexible" if field.flexible else "false"


def guarded(code, when, emit):
    if when is True:
        return emit()
    code.open(f"if ({when})")
    emit()
    code.close()
    return None


# --- decode ---------------------------------------------------------------------------------------


def read_one(field, message, target):
    """A statement that reads one element into `target`."""
    base = field.type.base
    if field.type.struct:
        return f"read_struct(in, {target}, version);"
    if base in WIRE:
        value = f"in.read_{WIRE[base]}()"
        return f"{target} = {strong(field)}({value});" if strong(field) else f"{target} = {value};"
    return f"{target} = in.read_{base}({flag(field)});"


def read_array(code, field, body, here):
    value, message = body.member(field), body.message
    least = min_element_bytes(field, message, here)
    kind = element_type(field, message)
    count = f"in.read_count({flag(field)}, {nullable(field, here)}, {least})"
    if not is_optional(field):
        code.add(f"{value} = in.array<{kind}>({count});")
        code.add(f"for (auto& item : {value}) {read_one(field, message, 'item')}")
        return
    code.open(f"if (const int32_t count = {count}; count < 0)")
    code.add(f"{value}.reset();")
    code.depth -= 1
    code.open("} else")
    code.add(f"{value} = in.array<{kind}>(count);")
    code.add(f"for (auto& item : *{value}) {read_one(field, message, 'item')}")
    code.close()


# The mark before a nullable struct is a signed byte, negative for null; in a tagged field it is a
# varint, 0 for null. Both have one byte.
def present_in(field):
    return "in.read_present()" if field.tag is None else "in.read_uvarint() != 0"


def present_out(field, value):
    if field.tag is None:
        return f"out.write_present({value});"
    return f"out.write_uvarint({value} ? 1 : 0);"


def read_field(code, field, body, here):
    value, message = body.member(field), body.message
    if field.type.array:
        read_array(code, field, body, here)
    elif is_pointer(field):
        kind = element_type(field, message)
        code.add(f"{value} = {present_in(field)} ? in.make<{kind}>() : nullptr;")
        code.add(f"if ({value} != nullptr) read_struct(in, *{value}, version);")
    elif field.type.base == "records":
        code.add(f"{value} = in.read_records({flag(field)}, {nullable(field, here)});")
    elif is_optional(field):
        code.add(f"{value} = in.read_nullable_{field.type.base}({flag(field)}, "
                 f"{nullable(field, here)});")
    else:
        code.add(read_one(field, message, value))


def emit_read(code, body, name):
    made = Code()
    for field, here, when in body.regular():
        guarded(made, when, lambda: read_field(made, field, body, here))
    if body.flexible is not False:
        guarded(made, True if body.flexible is True else "flexible",
                lambda: read_tags(made, body))
    function(code, f"void read_struct(WireReader& in, {name}& x, int16_t version)", made,
             body.context, body.message)


def read_tags(code, body):
    tags = list(body.tagged())
    if not tags:
        code.add("in.skip_tagged_fields();")
        return
    for field, _, when in tags:
        if is_pointer(field) and field.default is not NULL:
            kind = element_type(field, body.message)
            guarded(code, when, lambda: code.add(f"{body.member(field)} = in.make<{kind}>();"))
    code.add("TagReader tags(in);")
    code.open("while (tags.next())")
    code.open("switch (tags.tag())")
    for field, here, when in tags:
        code.open(f"case {field.tag}:")
        if when is not True:
            code.open(f"if (!({when}))")
            code.add("tags.skip();")
            code.add("break;")
            code.close()
        read_field(code, field, body, here)
        code.add("break;")
        code.close()
    code.add("default:")
    code.add("  tags.skip();")
    code.close()
    code.close()


# --- encode ---------------------------------------------------------------------------------------


def write_one(field, value):
    base = field.type.base
    if field.type.struct:
        return f"write_struct(out, {value}, version);"
    if base in WIRE:
        return f"out.write_{WIRE[base]}({value + '.value' if strong(field) else value});"
    return f"out.write_{base}({flag(field)}, {value});"


def write_field(code, field, body, here):
    value = body.member(field)
    if field.type.array:
        items = f"*{value}" if is_optional(field) else value
        if is_optional(field):
            code.open(f"if (!{value})")
            code.add(f"out.write_null_array({flag(field)}, {nullable(field, here)});")
            code.depth -= 1
            code.open("} else")
        size = f"{value}->size()" if is_optional(field) else f"{value}.size()"
        code.add(f"out.write_count({flag(field)}, {size});")
        code.add(f"for (const auto& item : {items}) {write_one(field, 'item')}")
        if is_optional(field):
            code.close()
    elif is_pointer(field):
        code.add(present_out(field, f"{value} != nullptr"))
        code.add(f"if ({value} != nullptr) write_struct(out, *{value}, version);")
    elif field.type.base == "records":
        code.add(f"out.write_records({flag(field)}, {nullable(field, here)}, {value});")
    elif is_optional(field):
        code.add(f"out.write_nullable_{field.type.base}({flag(field)}, "
                 f"{nullable(field, here)}, {value});")
    else:
        code.add(write_one(field, value))


def emit_write(code, body, name):
    made = Code()
    for field, here, when in body.regular():
        guarded(made, when, lambda: write_field(made, field, body, here))
    if body.flexible is not False:
        guarded(made, True if body.flexible is True else "flexible",
                lambda: write_tags(made, body))
    function(code, f"void write_struct(WireWriter& out, const {name}& x, int16_t version)", made,
             body.context, body.message)


def write_tags(code, body):
    tags = list(body.tagged())
    if not tags:
        code.add("out.write_uvarint(0);")
        return
    code.add("uint32_t tags = 0;")
    for field, _, when in tags:
        code.add(f"if ({both(when, not_default(field, body.member(field)))}) ++tags;")
    code.add("out.write_uvarint(tags);")
    for field, here, when in tags:
        code.open(f"if ({both(when, not_default(field, body.member(field)))})")
        code.add("size_t bytes = 0;")
        add_size(code, field, body, here, "bytes")
        code.add(f"out.write_uvarint({field.tag});")
        code.add("out.write_uvarint(static_cast<uint32_t>(bytes));")
        write_field(code, field, body, here)
        code.close()


# --- size -----------------------------------------------------------------------------------------


def size_of_one(field, value):
    base = field.type.base
    if field.type.struct:
        return f"struct_size({value}, version)"
    if base in FIXED_SIZES:
        return str(FIXED_SIZES[base])
    return f"{base}_size({flag(field)}, {value})"


def add_size(code, field, body, here, total):
    value = body.member(field)
    if field.type.array:
        items = f"*{value}" if is_optional(field) else value
        size = f"{value}->size()" if is_optional(field) else f"{value}.size()"
        count = f"{value} ? {value}->size() : 0" if is_optional(field) else size
        code.add(f"{total} += count_size({flag(field)}, {count});")
        when = f"if ({value}) " if is_optional(field) else ""
        if field.type.base in FIXED_SIZES:
            code.add(f"{when}{total} += {FIXED_SIZES[field.type.base]} * {size};")
        elif when:
            code.open(f"if ({value})")
            code.add(f"for (const auto& item : {items}) {total} += {size_of_one(field, 'item')};")
            code.close()
        else:
            code.add(f"for (const auto& item : {items}) {total} += {size_of_one(field, 'item')};")
    elif is_pointer(field):
        code.add(f"{total} += 1;")
        code.add(f"if ({value} != nullptr) {total} += struct_size(*{value}, version);")
    else:
        code.add(f"{total} += {size_of_one(field, value)};")


def is_fixed(field):
    return not field.type.array and field.type.base in FIXED_SIZES


def emit_size(code, body, name):
    made = Code()
    regular = list(body.regular())
    always = sum(FIXED_SIZES[f.type.base] for f, _, when in regular if when is True and is_fixed(f))
    made.add(f"size_t n = {always};")
    for field, here, when in regular:
        if not (when is True and is_fixed(field)):
            guarded(made, when, lambda: add_size(made, field, body, here, "n"))
    if body.flexible is not False:
        guarded(made, True if body.flexible is True else "flexible",
                lambda: add_tag_sizes(made, body))
    made.add("return n;")
    function(code, f"size_t struct_size(const {name}& x, int16_t version)", made, body.context,
             body.message)


def add_tag_sizes(code, body):
    code.add("n += 1;")
    for field, here, when in body.tagged():
        code.open(f"if ({both(when, not_default(field, body.member(field)))})")
        code.add("size_t bytes = 0;")
        add_size(code, field, body, here, "bytes")
        code.add("n += 1 + uvarint_size(static_cast<uint32_t>(bytes)) + bytes;")
        code.close()


# --- the file -------------------------------------------------------------------------------------


def needing_is_default(message):
    """Structs compared with their defaults: values of tagged fields, and what those hold."""
    need = set()

    def visit(name):
        if name in need:
            return
        need.add(name)
        for field in message.structs[name].fields:
            if by_value(field):
                visit(field.type.base)

    def by_value(field):
        return field.type.struct and not field.type.array and not (
            is_pointer(field) and field.default is NULL)

    for fields in [message.fields] + [s.fields for s in message.structs.values()]:
        for field in fields:
            if field.tag is not None and by_value(field):
                visit(field.type.base)
    return need


def emit_is_default(code, message, struct):
    terms = [not_default(f, "x." + member(f, False)) for f in struct.fields]
    code.open(f"bool is_default(const {message.name}::{struct.name}& x)")
    code.add(f"return !({' || '.join(terms)});")
    code.close()


def bodies(message):
    """(Body, C++ name) of every struct, then of the message."""
    for struct in structs_in_order(message):
        yield Body(message, struct.fields, struct.versions, False), f"{message.name}::{struct.name}"
    yield Body(message, message.fields, message.versions, True), message.name


def emit_functions(code, message):
    need = needing_is_default(message)
    for struct in structs_in_order(message):
        if struct.name in need:
            emit_is_default(code, message, struct)
            code.add()
    for emit in (emit_read, emit_size, emit_write):
        for body, name in bodies(message):
            emit(code, body, name)
            code.add()
