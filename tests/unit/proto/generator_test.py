"""Tests of the generator: the schema language, the checks, and what the emitters write."""

import pathlib
import tempfile
import unittest

from proto.gen import checker, emit_api_table, emit_header, emit_source, main, parser
from proto.gen.cpp import condition, min_element_bytes, snake
from proto.gen.model import NONE, NULL, OPEN, SchemaError, Versions

SCHEMA = pathlib.Path(__file__).resolve().parents[3] / "proto/schema"

TOY = """
# A toy.
records toy

record ToyRecord 7 versions 1-5 flexible 3+ {
  struct Pair 2+ {
    Left: int32
    Right: string? 4+ = null
  }
  Id: uuid
  Owner: int32 @brokerId = -1
  Note: string nullable 2+        # null came with version 2
  Pairs: []Pair? 2+
  Inner: Inner 3+ tag 0 {
    Rate: float64 = 1.5
    Flag: bool = true
  }
  Old: int16 1-2
  Ids: []int64 5+ tag 1 @producerId
}
"""


def checked(text):
    file = parser.parse_text(text, "toy.schema")
    checker.check_file(file)
    return file


def record(fields, head="record R 1 versions 0-3 flexible 2+"):
    return checked("records toy\n" + head + " {\n" + fields + "\n}\n")


class Language(unittest.TestCase):
    def test_toy(self):
        file = checked(TOY)
        self.assertEqual(file.family, "toy")
        (message,) = file.messages
        self.assertEqual((message.kind, message.name, message.key), ("record", "ToyRecord", 7))
        self.assertEqual((message.versions, message.flexible), (Versions(1, 5), Versions(3, OPEN)))
        fields = {f.name: f for f in message.fields}
        self.assertEqual(list(fields), ["Id", "Owner", "Note", "Pairs", "Inner", "Old", "Ids"])
        self.assertEqual(fields["Owner"].entity, "brokerId")
        self.assertEqual(fields["Owner"].default, -1)
        self.assertEqual(fields["Note"].versions, Versions(1, OPEN))
        self.assertEqual(fields["Note"].nullable, Versions(2, OPEN))
        self.assertEqual(fields["Pairs"].nullable, fields["Pairs"].versions)
        self.assertTrue(fields["Pairs"].type.array)
        self.assertEqual(fields["Old"].versions, Versions(1, 2))
        self.assertEqual(fields["Inner"].tag, 0)
        self.assertEqual(fields["Inner"].regular, NONE)
        self.assertEqual(fields["Id"].regular, Versions(1, OPEN))
        self.assertEqual(list(message.structs), ["Pair", "Inner"])
        pair = message.structs["Pair"]
        self.assertEqual(pair.fields[0].versions, Versions(2, OPEN))
        self.assertIs(pair.fields[1].default, NULL)
        self.assertEqual(message.structs["Inner"].fields[0].default, 1.5)

    def test_api(self):
        file = checked("api Toy 3 on broker controller\n"
                       "request versions 0-1 flexible 1+ unstable {\n}\n"
                       "response versions 0-1 flexible 1+ {\n ErrorCode: int16\n}\n")
        self.assertEqual((file.api.name, file.api.key), ("Toy", 3))
        self.assertEqual(file.api.listeners, ["broker", "controller"])
        self.assertEqual([m.name for m in file.messages], ["ToyRequest", "ToyResponse"])
        self.assertTrue(file.messages[0].unstable)
        self.assertFalse(file.messages[1].unstable)

    def refused(self, text, line, words):
        with self.assertRaises(SchemaError) as caught:
            checked(text)
        self.assertRegex(str(caught.exception), rf"^toy\.schema:{line}: ")
        self.assertIn(words, str(caught.exception))

    def refused_fields(self, fields, words, line=3):
        self.refused("records toy\nrecord R 1 versions 0-3 flexible 2+ {\n" + fields + "\n}\n",
                     line, words)

    def test_unknown_features_stop(self):
        self.refused_fields("A: int32 compressed", "unknown 'compressed'")
        self.refused_fields("A: int128", "unknown type int128")
        self.refused_fields("A: int32 @planet", "entity planet")
        self.refused_fields("A: int32 flexible 2+", "can only be 'none'")
        self.refused_fields("A: string = \"x\"", "bad default")
        self.refused_fields("A int32", "':' expected")
        self.refused_fields("A: int32 0-1 tag 0 2+", "unknown '2+'")
        self.refused("recs toy\n", 1, "'api' or 'records' expected")
        self.refused("records toy\nstream S versions 0 {\n}\n", 2, "unknown kind")
        self.refused("records toy\ndata S versions 0 packed {\n}\n", 2, "'{' expected")
        self.refused("api Toy 3 on zookeeper\n", 1, "unknown listener")
        self.refused("records toy\ndata S versions 0+ {\n}\n", 2, "have an end")
        self.refused("records toy\ndata S versions 0 {\nA: int32\n", 2, "'}' missing")

    def test_nonsense_stops(self):
        self.refused_fields("A: int32\nA: int8", "there twice", line=4)
        self.refused_fields("A: int32?", "cannot be null")
        self.refused_fields("A: string = null", "default null needs null")
        self.refused_fields("A: string nullable 1+ = null", "default null needs null")
        self.refused_fields("A: int8 = 128", "does not fit")
        self.refused_fields("A: uint16 = -1", "does not fit")
        self.refused_fields("A: int32 4+", "write +")
        self.refused_fields("A: int32 1-3", "write +")
        self.refused_fields("A: int32 2-1", "end before")
        self.refused_fields("A: string 2+ nullable 1+", "nullable 1+ leaves 2+")
        self.refused_fields("A: int32 tag 0", "not flexible")
        self.refused_fields("A: int32 2+ tag 1", "have a gap")
        self.refused_fields("A: int32 2+ tag 0\nB: int32 2+ tag 0", "taken", line=4)
        self.refused_fields("A: S 2+ {\nB: int32 1+\n}", "leave 2+", line=4)
        self.refused_fields("A: S nullable 1+ {\nB: int32\n}", "all versions or none")
        self.refused_fields("A: []records", "no arrays of records")
        self.refused_fields("struct S {\nB: int32\n}", "not used")
        self.refused_fields("struct S {\nB: []S\n}\nA: S", "contains itself", line=2)
        self.refused_fields("A: int32 {\nB: int32\n}", "no fields of its own")
        self.refused_fields("A: S {\nB: int32\n}\nC: S {\nB: int32\n}", "declared twice", line=6)
        self.refused("records toy\ndata S versions 2-3 flexible 1+ {\n}\n", 2, "flexible 1+")
        self.refused("api Toy 3 on broker\nrequest versions 0 {\n}\n", 1, "then one response")
        self.refused("api Toy 3 on broker\nrequest versions 0 {\n}\nresponse versions 0-1 {\n}\n",
                     4, "versions differ")

    def test_numbers_are_taken_once(self):
        one = parser.parse_text("records f\nkey A 1 versions 0 {\n}\n", "a.schema")
        two = parser.parse_text("records f\nkey B 1 versions 0 {\n}\n", "b.schema")
        with self.assertRaisesRegex(SchemaError, "number 1 is taken"):
            checker.check_together([one, two])
        value = parser.parse_text("records f\nvalue B 1 versions 0 {\n}\n", "b.schema")
        checker.check_together([one, value])

    def test_error_codes(self):
        rows = emit_api_table.parse_error_codes("-1 A_B\n0 C retriable # x\n1 D refresh\n", "t")
        self.assertEqual(rows, [(-1, "A_B", False, False), (0, "C", True, False),
                                (1, "D", False, True)])
        for bad in ("0 A\n2 B\n", "0 a\n", "0 A maybe\n", "x A\n"):
            with self.assertRaises(SchemaError):
                emit_api_table.parse_error_codes(bad, "t")


class Emitted(unittest.TestCase):
    def setUp(self):
        self.file = checked(TOY)
        self.header = emit_header.emit(self.file)
        self.source = emit_source.emit(self.file)

    def test_struct(self):
        for line in ("static constexpr int16_t kRecordType = 7;", "kFlexibleFrom = 3;", "Uuid id;",
                     "BrokerId owner{-1};", "std::optional<std::string_view> note{std::in_place};",
                     "std::optional<std::span<Pair>> pairs{std::in_place};", "double rate{1.5};",
                     "bool flag{true};", "std::span<ProducerId> ids;",
                     "std::optional<std::string_view> right;"):
            self.assertIn(line, self.header)

    def test_versions(self):
        read = self.source.split("void read_struct(WireReader& in, ToyRecord& x", 1)[1]
        read = read.split("\n}\n", 1)[0]
        self.assertIn("x.note = in.read_nullable_string(flexible, version >= 2);", read)
        self.assertIn("if (version <= 2) {\n    x.old = in.read_i16();", read)
        self.assertRegex(read, r"if \(!\(version >= 5\)\) \{\s+tags.skip\(\);")
        self.assertIn("const bool flexible = version >= 3;", read)

    def test_tagged_defaults_are_elided(self):
        write = self.source.split("void write_struct(WireWriter& out, const ToyRecord& x", 1)[1]
        self.assertIn("if (!is_default(x.inner)) ++tags;", write)
        self.assertIn("if (version >= 5 && !x.ids.empty()) ++tags;", write)

    def test_conditions(self):
        context = Versions(2, 9)
        self.assertIs(condition(Versions(0, OPEN), context), True)
        self.assertIs(condition(Versions(10, OPEN), context), False)
        self.assertEqual(condition(Versions(3, OPEN), context), "version >= 3")
        self.assertEqual(condition(Versions(0, 4), context), "version <= 4")
        self.assertEqual(condition(Versions(3, 4), context), "version >= 3 && version <= 4")
        self.assertEqual(condition(Versions(5, 5), context), "version == 5")
        self.assertEqual(condition(Versions(0, 2), context), "version <= 2")

    def test_smallest_elements(self):
        message = self.file.messages[0]
        pairs = next(f for f in message.fields if f.name == "Pairs")
        # version 2: int32; 3: and its tag count; 4: and a compact string
        self.assertEqual(min_element_bytes(pairs, message, Versions(2, 5)),
                         "version < 3 ? 4 : version < 4 ? 5 : 6")

    def test_names(self):
        self.assertEqual(snake("ThrottleTimeMs"), "throttle_time_ms")
        self.assertEqual(snake("KRaftVersion"), "k_raft_version")
        self.assertEqual(snake("isNewISR"), "is_new_isr")
        file = checked("records t\ndata D versions 0 {\nVersion: int16\nSize: int32\n"
                       "Operator: int8\n}\n")
        header = emit_header.emit(file)
        for name in ("version_{}", "size_{}", "operator_{}"):
            self.assertIn(name, header)


class Main(unittest.TestCase):
    def test_real_schemas(self):
        files = parser.parse_all(SCHEMA)
        self.assertEqual(sum(1 for f in files if f.api), 91)
        keys = [f.api.key for f in files if f.api]
        self.assertEqual(keys, sorted(keys))
        self.assertEqual(set(range(95)) - set(keys), {4, 5, 6, 7})

    def test_writes_only_what_changed(self):
        with tempfile.TemporaryDirectory() as out:
            self.assertEqual(main.main([str(SCHEMA), out]), 0)
            path = pathlib.Path(out) / "fetch.cc"
            before = path.stat().st_mtime_ns
            other = pathlib.Path(out) / "produce.cc"
            other.write_text("old")
            self.assertEqual(main.main([str(SCHEMA), out]), 0)
            self.assertEqual(path.stat().st_mtime_ns, before)
            self.assertNotEqual(other.read_text(), "old")

    def test_output_list_must_match(self):
        with tempfile.TemporaryDirectory() as out:
            self.assertEqual(main.main([str(SCHEMA), out, "fetch.h"]), 1)
            self.assertEqual(list(pathlib.Path(out).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
