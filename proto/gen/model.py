"""What a schema says, as objects.

SchemaFile  path, stem ("fetch"), api (None | Api), family (None | "group"), messages: [Message]
Api         name "Fetch", key 1, listeners ["broker", "controller"]
Message     kind "request"|"response"|"record"|"key"|"value"|"data"|"header", name "FetchRequest",
            key (api key, record type or None), versions, flexible, unstable (the latest version is),
            fields: [Field], structs: {name: Struct} (every struct used, declared or inline, in the
            order of declaration), path, line
Struct      name, versions, fields, line
Field       name as in Kafka, type, versions (where it is present), nullable (versions), tag
            (None | int), tagged (versions, or none), flexible (False: never compact), entity (None |
            str), default (None = the type's own zero, empty or false; NULL; else bool, int, float),
            line
Type        base ("int32", "string", "uuid", "records", ... or a struct's name), array (bool)
Versions    lo, hi inclusive; hi = OPEN for "3+"; empty when lo > hi; `v in versions` works

Versions of fields are absolute and lie inside their message's range, but for an open end.
"""

from dataclasses import dataclass, field

OPEN = 32767
FIXED_SIZES = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8,
               "float64": 8, "uuid": 16}
PRIMITIVES = set(FIXED_SIZES) | {"string", "bytes", "records"}
INTEGER_BITS = {"int8": (True, 8), "int16": (True, 16), "uint16": (False, 16), "int32": (True, 32),
                "uint32": (False, 32), "int64": (True, 64)}


class Null:
    def __repr__(self):
        return "NULL"


NULL = Null()


class SchemaError(Exception):
    """A mistake in a schema; prints as file:line: text."""

    def __init__(self, path, line, text):
        super().__init__(f"{path}:{line}: {text}")


@dataclass(frozen=True)
class Versions:
    lo: int
    hi: int

    @property
    def empty(self):
        return self.lo > self.hi

    def __contains__(self, version):
        return self.lo <= version <= self.hi

    def __and__(self, other):
        both = Versions(max(self.lo, other.lo), min(self.hi, other.hi))
        return NONE if both.empty else both

    def covers(self, other):
        return other.empty or (self.lo <= other.lo and other.hi <= self.hi)

    def __str__(self):
        if self.empty:
            return "none"
        if self.hi == OPEN:
            return f"{self.lo}+"
        return str(self.lo) if self.lo == self.hi else f"{self.lo}-{self.hi}"


NONE = Versions(1, 0)


@dataclass(frozen=True)
class Type:
    base: str
    array: bool = False

    @property
    def struct(self):
        return self.base not in PRIMITIVES

    def __str__(self):
        return ("[]" if self.array else "") + self.base


@dataclass
class Field:
    name: str
    type: Type
    versions: Versions
    nullable: Versions = NONE
    tag: int | None = None
    flexible: bool = True
    entity: str | None = None
    default: object = None
    line: int = 0

    @property
    def tagged(self):
        return NONE if self.tag is None else self.versions

    @property
    def regular(self):
        """Versions in which the field has its place among the untagged ones."""
        return self.versions if self.tag is None else NONE


@dataclass
class Struct:
    name: str
    versions: Versions
    fields: list = field(default_factory=list)
    line: int = 0


@dataclass
class Message:
    kind: str
    name: str
    key: int | None
    versions: Versions
    flexible: Versions = NONE
    unstable: bool = False
    fields: list = field(default_factory=list)
    structs: dict = field(default_factory=dict)
    path: str = ""
    line: int = 0


@dataclass
class Api:
    name: str
    key: int
    listeners: list


@dataclass
class SchemaFile:
    path: str
    stem: str
    api: Api | None = None
    family: str | None = None
    messages: list = field(default_factory=list)
