"""Reads the schema language (grammar: proto/README.md) into the objects of model.py.

parse_all(dir) -> [SchemaFile], APIs by key, then record files by name; also runs the checker.
parse_file(path) -> SchemaFile; parse_text(text, path) -> SchemaFile, both unchecked.
"""

import pathlib
import re

from . import checker
from .model import (INTEGER_BITS, NULL, OPEN, Api, Field, Message, SchemaError, SchemaFile, Struct,
                    Type, Versions)

TOKEN = re.compile(r"[{}=:]|[^\s{}=:]+")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*\Z")
RECORD_KINDS = ("record", "key", "value", "data", "header")
NUMBERED_KINDS = ("record", "key", "value")


class Line:
    """The tokens of one line, taken from the left."""

    def __init__(self, path, number, tokens):
        self.path, self.number, self.tokens = path, number, tokens

    def fail(self, text):
        raise SchemaError(self.path, self.number, text)

    def peek(self):
        return self.tokens[0] if self.tokens else None

    def take(self, what):
        if not self.tokens:
            self.fail(f"{what} expected")
        return self.tokens.pop(0)

    def take_if(self, token):
        if self.peek() != token:
            return False
        self.tokens.pop(0)
        return True

    def name(self, what):
        word = self.take(what)
        if not NAME.match(word):
            self.fail(f"{what} expected, not '{word}'")
        return word

    def integer(self, what):
        word = self.take(what)
        if not re.fullmatch(r"-?\d+", word):
            self.fail(f"{what} expected, not '{word}'")
        return int(word)

    def versions(self):
        word = self.take("versions")
        match = re.fullmatch(r"(\d+)(\+|-(\d+))?", word)
        if not match:
            self.fail(f"versions expected (3, 3-5 or 3+), not '{word}'")
        lo = int(match[1])
        hi = OPEN if match[2] == "+" else int(match[3] or lo)
        if lo > hi:
            self.fail(f"versions '{word}' end before they begin")
        return Versions(lo, hi)

    def at_versions(self):
        return self.peek() is not None and self.peek()[0].isdigit()

    def end(self):
        if self.tokens:
            self.fail(f"unknown '{' '.join(self.tokens)}'")


class Parser:
    def __init__(self, text, path):
        self.path = path
        self.lines = []
        for number, raw in enumerate(text.splitlines(), 1):
            code = raw.split("#", 1)[0]
            tokens = TOKEN.findall(code)
            if tokens:
                self.lines.append(Line(path, number, tokens))
        self.file = SchemaFile(path=path, stem=pathlib.Path(path).stem)

    def next(self, where):
        if not self.lines:
            raise SchemaError(self.path, where, "'}' missing for the block that begins here")
        return self.lines.pop(0)

    def parse(self):
        if not self.lines:
            raise SchemaError(self.path, 1, "empty schema")
        head = self.lines.pop(0)
        word = head.take("'api' or 'records'")
        if word == "api":
            self.file.api = self.api(head)
        elif word == "records":
            self.file.family = head.take("family")
        else:
            head.fail(f"'api' or 'records' expected, not '{word}'")
        head.end()
        while self.lines:
            self.file.messages.append(self.message(self.lines.pop(0)))
        return self.file

    def api(self, line):
        api = Api(line.name("API name"), line.integer("API key"), [])
        if not line.take_if("on"):
            line.fail("'on' and listeners expected")
        while line.peek():
            listener = line.take("listener")
            if listener not in ("broker", "controller"):
                line.fail(f"unknown listener '{listener}'")
            api.listeners.append(listener)
        if not api.listeners:
            line.fail("no listener")
        return api

    def message(self, line):
        kind = line.take("message kind")
        if self.file.api:
            if kind not in ("request", "response"):
                line.fail(f"'request' or 'response' expected, not '{kind}'")
            name, key = self.file.api.name + kind.capitalize(), self.file.api.key
        else:
            if kind not in RECORD_KINDS:
                line.fail(f"unknown kind of record '{kind}'")
            name = line.name("message name")
            key = line.integer("record number") if kind in NUMBERED_KINDS else None
        if not line.take_if("versions"):
            line.fail("'versions' expected")
        versions = line.versions()
        if versions.hi == OPEN:
            line.fail("the versions of a message have an end")
        message = Message(kind, name, key, versions, path=self.path, line=line.number)
        if line.take_if("flexible"):
            message.flexible = line.versions()
        message.unstable = line.take_if("unstable")
        self.open(line)
        whole = Versions(versions.lo, OPEN)
        message.fields = self.block(message, whole, line.number, top=True)
        return message

    def open(self, line):
        if not line.take_if("{"):
            line.fail(f"'{{' expected, not '{line.peek()}'")
        line.end()

    def block(self, message, parent, begin, top=False):
        fields = []
        while True:
            line = self.next(begin)
            if line.take_if("}"):
                line.end()
                return fields
            if top and line.peek() == "struct" and len(line.tokens) > 1 and line.tokens[1] != ":":
                self.struct(message, line, parent)
            else:
                fields.append(self.field(message, line, parent))

    def struct(self, message, line, parent):
        line.take("struct")
        name = line.name("struct name")
        versions = line.versions() if line.at_versions() else parent
        self.open(line)
        self.add_struct(message, line, Struct(name, versions, [], line.number))

    def add_struct(self, message, line, struct):
        if struct.name in message.structs:
            line.fail(f"struct {struct.name} is declared twice")
        fields = self.block(message, struct.versions, line.number)
        struct.fields = fields
        if struct.name in message.structs:
            line.fail(f"struct {struct.name} is declared twice")
        message.structs[struct.name] = struct

    def field(self, message, line, parent):
        name = line.name("field name")
        if not line.take_if(":"):
            line.fail(f"':' expected after field name '{name}'")
        word = line.take("type")
        match = re.fullmatch(r"(\[\])?([A-Za-z][A-Za-z0-9]*)(\?)?", word)
        if not match:
            line.fail(f"type expected, not '{word}'")
        kind = Type(match[2], bool(match[1]))
        versions = line.versions() if line.at_versions() else parent
        made = Field(name, kind, versions, line=line.number)
        if match[3]:
            made.nullable = versions
        self.attributes(made, line)
        if line.take_if("{"):
            line.end()
            if not kind.struct:
                line.fail(f"type {kind} has no fields of its own")
            self.add_struct(message, line, Struct(kind.base, versions, [], line.number))
        line.end()
        return made

    def attributes(self, made, line):
        if line.take_if("nullable"):
            if not made.nullable.empty:
                line.fail("either '?' or 'nullable'")
            made.nullable = line.versions()
        if line.take_if("tag"):
            made.tag = line.integer("tag number")
        if line.take_if("flexible"):
            if not line.take_if("none"):
                line.fail("a field's 'flexible' can only be 'none'")
            made.flexible = False
        if line.peek() and line.peek().startswith("@"):
            made.entity = line.take("entity")[1:]
        if line.take_if("="):
            made.default = self.default(made, line)

    def default(self, made, line):
        word = line.take("default")
        if word == "null":
            return NULL
        base = made.type.base
        if made.type.array or made.type.struct:
            line.fail(f"the default of {made.type} can only be null")
        try:
            if base == "bool" and word in ("true", "false"):
                return word == "true"
            if base == "float64":
                return float(word)
            if base in INTEGER_BITS:
                return int(word)
        except ValueError:
            pass
        return line.fail(f"bad default '{word}' for {made.type}")


def parse_text(text, path):
    return Parser(text, str(path)).parse()


def parse_file(path):
    return parse_text(pathlib.Path(path).read_text(encoding="utf-8"), path)


def parse_all(directory):
    files = [parse_file(p) for p in sorted(pathlib.Path(directory).rglob("*.schema"))]
    for file in files:
        checker.check_file(file)
    checker.check_together(files)
    apis = sorted((f for f in files if f.api), key=lambda f: f.api.key)
    return apis + [f for f in files if not f.api]
