#!/usr/bin/env python3
"""Generates C++ that fills every message of proto/schema with seeded random values.

gen_random.py SCHEMA_DIR OUTPUT...   Each output is one .cc with a part of the messages; the last
one also has the table over all of them (declared in random_message.h).
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from proto.gen import cpp, parser  # noqa: E402

HEAD = '// Generated from proto/schema. Do not edit.\n'


def guard(condition, statement):
    return statement if condition is True else f"if ({condition}) {statement}"


def fill_function(message, name, fields, versions, top):
    """One function: gives each field that the version has a value. Not in an unnamed namespace:
    RandomMessage finds it by its arguments."""
    context = cpp.closed(versions, message)
    lines = []
    for field in fields:
        here = field.versions & context
        when = cpp.condition(here, context)
        if when is False:
            continue
        null = cpp.boolean(cpp.condition(field.nullable & here, here))
        statement = f"random.set(x.{cpp.member(field, top)}, {null}, version);"
        lines.append("  " + guard(when, statement))
    x, random = ("x", "random") if lines else ("", "")
    version = "version" if lines else ""
    head = f"static void fill(RandomMessage& {random}, proto::{name}& {x}, int16_t {version})"
    return "\n".join([head + " {", *lines, "}"])


def message_code(message):
    made = [fill_function(message, f"{message.name}::{s.name}", s.fields, s.versions, False)
            for s in cpp.structs_in_order(message)]
    made.append(fill_function(message, message.name, message.fields, message.versions, True))
    return made


def part(files, number):
    lines = [HEAD + '#include "tests/golden/codec/random_message.h"']
    lines += [f'#include "proto/messages/{file.stem}.h"' for file in files]
    lines += ["", "namespace pelton::golden {", ""]
    messages = [m for file in files for m in file.messages]
    for message in messages:
        lines += [text + "\n" for text in message_code(message)]
    lines += [f"extern const RandomMaker kMakers{number}[] = {{"]
    lines += [f'    {{"{m.name}", make_random<proto::{m.name}>}},' for m in messages]
    lines += ["};", f"extern const size_t kMakers{number}Size = {len(messages)};", "",
              "}  // namespace pelton::golden", ""]
    return "\n".join(lines)


def table(count):
    lines = ["namespace pelton::golden {", ""]
    for n in range(count):
        lines += [f"extern const RandomMaker kMakers{n}[];",
                  f"extern const size_t kMakers{n}Size;"]
    lines += ["", "const RandomMaker* random_maker(std::string_view name) {"]
    for n in range(count):
        lines += [f"  for (size_t i = 0; i < kMakers{n}Size; ++i) {{",
                  f"    if (kMakers{n}[i].name == name) return &kMakers{n}[i];", "  }"]
    lines += ["  return nullptr;", "}", "", "}  // namespace pelton::golden", ""]
    return "\n".join(lines)


def main(schema_dir, *outputs):
    files = parser.parse_all(schema_dir)
    texts = [part(files[n::len(outputs)], n) for n in range(len(outputs))]
    texts[-1] += "\n" + table(len(outputs))
    for path, text in zip(outputs, texts):
        pathlib.Path(path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
