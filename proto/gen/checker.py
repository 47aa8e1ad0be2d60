"""Refuses schemas that parse but make no sense, or that the emitters cannot express."""

from .model import INTEGER_BITS, NULL, OPEN, SchemaError, Versions

ENTITIES = {
    "topicName": ("string",),
    "groupId": ("string",),
    "transactionalId": ("string",),
    "brokerId": ("int32",),
    "producerId": ("int64",),
}


class Scope:
    """One struct or message body being checked."""

    def __init__(self, message, owner, versions):
        self.message, self.owner, self.versions = message, owner, versions

    def fail(self, line, text):
        raise SchemaError(self.message.path, line, f"{self.owner}: {text}")


def check_file(file):
    seen = set()
    for message in file.messages:
        if message.name in seen:
            raise SchemaError(file.path, message.line, f"{message.name} is there twice")
        seen.add(message.name)
        check_message(message)
    if file.api:
        kinds = [m.kind for m in file.messages]
        if kinds != ["request", "response"]:
            raise SchemaError(file.path, 1, "an API has one request, then one response")
        request, response = file.messages
        if request.versions != response.versions or request.flexible != response.flexible:
            raise SchemaError(file.path, response.line, "request and response versions differ")


def check_message(message):
    whole = Versions(message.versions.lo, OPEN)
    scope = Scope(message, message.name, whole)
    flexible = message.flexible
    if not flexible.empty and (flexible.hi != OPEN or flexible.lo < message.versions.lo
                               or flexible.lo > message.versions.hi):
        scope.fail(message.line, f"flexible {flexible} does not end or begin inside its versions")
    check_fields(scope, message.fields)
    used = {f.type.base for _, fields in bodies(message) for f in fields}
    for struct in message.structs.values():
        if struct.name not in used:
            scope.fail(struct.line, f"struct {struct.name} is not used")
        check_fields(Scope(message, f"{message.name}.{struct.name}", struct.versions),
                     struct.fields)
    check_no_recursion(message)


def bodies(message):
    yield message.name, message.fields
    for struct in message.structs.values():
        yield struct.name, struct.fields


def check_no_recursion(message):
    done, open_now = set(), []

    def visit(name):
        if name in open_now:
            raise SchemaError(message.path, message.line, f"struct {name} contains itself")
        if name in done:
            return
        open_now.append(name)
        for field in message.structs[name].fields:
            if field.type.struct:
                visit(field.type.base)
        open_now.pop()
        done.add(name)

    for name in message.structs:
        visit(name)


def check_fields(scope, fields):
    names, tags = set(), set()
    for field in fields:
        if field.name in names:
            scope.fail(field.line, f"field {field.name} is there twice")
        names.add(field.name)
        check_versions(scope, field)
        check_type(scope, field)
        check_tag(scope, field, tags)
        check_default(scope, field)
    if tags and tags != set(range(len(tags))):
        scope.fail(fields[0].line, f"tags {sorted(tags)} have a gap")


def check_versions(scope, field):
    if not scope.versions.covers(field.versions):
        scope.fail(field.line, f"{field.name}: versions {field.versions} leave {scope.versions}")
    if not field.versions.covers(field.nullable):
        scope.fail(field.line, f"{field.name}: nullable {field.nullable} leaves {field.versions}")
    top = scope.message.versions.hi
    for versions in (field.versions, field.nullable):
        if versions.empty:
            continue
        if versions.lo > top or (versions.hi != OPEN and versions.hi >= top > versions.lo):
            scope.fail(field.line,
                       f"{field.name}: versions {versions} reach the latest ({top}): write +")


def check_type(scope, field):
    if field.type.struct and field.type.base not in scope.message.structs:
        scope.fail(field.line, f"{field.name}: unknown type {field.type}")
    if field.type.array and field.type.base in ("records", "bytes"):
        scope.fail(field.line, f"{field.name}: no arrays of {field.type.base}")
    can_be_null = field.type.array or field.type.struct or field.type.base in (
        "string", "bytes", "records")
    if not field.nullable.empty and not can_be_null:
        scope.fail(field.line, f"{field.name}: {field.type} cannot be null")
    if field.type.struct and not field.type.array and not field.nullable.empty:
        if field.nullable != field.versions:
            scope.fail(field.line, f"{field.name}: a struct is nullable in all versions or none")
    if field.entity is not None and field.type.base not in ENTITIES.get(field.entity, ()):
        scope.fail(field.line, f"{field.name}: entity {field.entity} of type {field.type}")
    if not field.flexible and (field.type.array or field.type.base != "string"):
        scope.fail(field.line, f"{field.name}: 'flexible none' is for strings")


def check_tag(scope, field, tags):
    if field.tag is None:
        return
    if field.tag < 0 or field.tag in tags:
        scope.fail(field.line, f"{field.name}: tag {field.tag} is taken or negative")
    tags.add(field.tag)
    if field.tag > 127:
        scope.fail(field.line, f"{field.name}: tag {field.tag} needs more than one byte")
    if not scope.message.flexible.covers(field.tagged):
        scope.fail(field.line, f"{field.name}: tagged in versions that are not flexible")


def check_default(scope, field):
    default, base = field.default, field.type.base
    if default is None:
        return
    if default is NULL:
        if field.nullable != field.versions:
            scope.fail(field.line, f"{field.name}: default null needs null in every version")
    elif base in INTEGER_BITS:
        signed, bits = INTEGER_BITS[base]
        lo, hi = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        if not lo <= default <= hi:
            scope.fail(field.line, f"{field.name}: default {default} does not fit {base}")


def check_together(files):
    keys, names, stems = {}, {}, {}
    for file in files:
        if file.stem in stems:
            raise SchemaError(file.path, 1, f"the name {file.stem} is taken: {stems[file.stem]}")
        stems[file.stem] = file.path
        if file.api:
            if file.api.key in keys:
                raise SchemaError(file.path, 1, f"API key {file.api.key} is taken")
            keys[file.api.key] = file.path
        for message in file.messages:
            if message.name in names:
                raise SchemaError(file.path, message.line, f"{message.name} is declared twice")
            names[message.name] = file.path
            number = (file.family, message.kind, message.key)
            if message.kind in ("record", "key", "value"):
                if number in keys:
                    raise SchemaError(file.path, message.line, f"number {message.key} is taken")
                keys[number] = file.path
