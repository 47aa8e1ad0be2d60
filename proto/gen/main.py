"""Generates the protocol code: main.py SCHEMA_DIR OUT_DIR EXPECTED_OUTPUT...

Writes only files whose text changed, so that a change of one schema rebuilds little. The expected
outputs are the build's list; a schema that is missing there, or there alone, is an error.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
if __package__ in (None, ""):
    sys.path.insert(0, str(ROOT))
    __package__ = "proto.gen"

from proto.gen import emit_api_table, emit_header, emit_source, parser  # noqa: E402
from proto.gen.model import SchemaError  # noqa: E402


def generate(schema_dir):
    """{file name: text} of everything generated."""
    schema_dir = pathlib.Path(schema_dir)
    files = parser.parse_all(schema_dir)
    outputs = {}
    for file in files:
        file.path = f"proto/schema/{pathlib.Path(file.path).relative_to(schema_dir)}"
        outputs[f"{file.stem}.h"] = emit_header.emit(file)
        outputs[f"{file.stem}.cc"] = emit_source.emit(file)
    table = schema_dir / "error_codes.table"
    rows = emit_api_table.parse_error_codes(table.read_text(encoding="utf-8"), str(table))
    outputs["api_key.h"] = emit_api_table.api_key_header(files)
    outputs["api_table.cc"] = emit_api_table.api_table(files)
    outputs["message_table.cc"] = emit_api_table.message_table(files)
    outputs["error_code_values.h"] = emit_api_table.error_code_header(rows)
    outputs["error_code_table.cc"] = emit_api_table.error_code_table(rows)
    return outputs


def write_changed(out_dir, outputs):
    for name, text in outputs.items():
        path = pathlib.Path(out_dir) / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def main(arguments):
    if len(arguments) < 2:
        print("usage: main.py SCHEMA_DIR OUT_DIR [EXPECTED_OUTPUT...]", file=sys.stderr)
        return 2
    schema_dir, out_dir, *expected = arguments
    try:
        outputs = generate(schema_dir)
    except SchemaError as error:
        print(error, file=sys.stderr)
        return 1
    if expected and set(expected) != set(outputs):
        print("the build's list of schemas and the schemas differ: "
              f"{sorted(set(expected) ^ set(outputs))}", file=sys.stderr)
        return 1
    write_changed(out_dir, outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
