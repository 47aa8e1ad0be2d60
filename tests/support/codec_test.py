"""Tests of the Python codec and of the comparison's masking: python3 -m unittest tests.support.codec_test"""

import unittest

from tests.e2e.compare.masking import Masks, Pairs, differences
from tests.support import kafka_codec as codec


class CodecTest(unittest.TestCase):
    def test_request_bytes_by_hand(self):
        frame = codec.encode_request("Metadata", 1, 7, {"Topics": [{"Name": "ab"}]}, client_id="c")
        self.assertEqual(frame.hex(), "00000013" "0003" "0001" "00000007" "0001" "63" "00000001" "0002" "6162")

    def test_flexible_request_bytes_by_hand(self):
        frame = codec.encode_request("Heartbeat", 4, 1, {"GroupId": "g", "GenerationId": 2, "MemberId": "m"})
        self.assertEqual(frame[20:].hex(), "00" "0267" "00000002" "026d" "00" "00")

    def test_every_message_and_version_survives(self):
        for (api, kind), message in codec.schemas().items():
            for version in range(message.versions.lo, message.versions.hi + 1):
                data = codec.encode_body(api, kind, version, {})
                again = codec.encode_body(api, kind, version, codec.decode_body(api, kind, version, data))
                self.assertEqual(again, data, f"{api} {kind} {version}")

    def test_tagged_field(self):
        data = codec.encode_body("Fetch", "request", 12, {"ClusterId": "x"})
        self.assertTrue(data.endswith(bytes.fromhex("01" "00" "02" "0278")))
        self.assertEqual(codec.decode_body("Fetch", "request", 12, data)["ClusterId"], "x")

    def test_refuses_what_the_version_lacks(self):
        with self.assertRaises(codec.CodecError):
            codec.encode_body("Fetch", "request", 4, {"SessionId": 1})
        with self.assertRaises(codec.CodecError):
            codec.encode_body("Metadata", "request", 0, {"Topics": None})

    def test_refuses_left_over_bytes(self):
        data = codec.encode_body("Heartbeat", "response", 0, {})
        with self.assertRaises(codec.CodecError):
            codec.decode_body("Heartbeat", "response", 0, data + b"\0")

    def test_crc32c(self):
        self.assertEqual(codec.crc32c(b"123456789"), 0xE3069283)

    def test_varints(self):
        self.assertEqual([codec.signed_varint(n).hex() for n in (0, -1, 1, -2, 300)],
                         ["00", "01", "02", "03", "d804"])


class MaskingTest(unittest.TestCase):
    def test_same_id_in_two_places(self):
        left = Masks({}).mask("", {"MemberId": "a", "Leader": "a"})
        same = Masks({}).mask("", {"MemberId": "b", "Leader": "b"})
        other = Masks({}).mask("", {"MemberId": "b", "Leader": "c"})
        self.assertEqual(list(differences(left, same, Pairs())), [])
        self.assertEqual([path for path, *_ in differences(left, other, Pairs())], ["Leader"])

    def test_pairs_hold_across_answers(self):
        pairs, mask = Pairs(), Masks({}).mask
        self.assertEqual(list(differences(mask("", {"SessionId": 5}), mask("", {"SessionId": 6}), pairs)), [])
        self.assertEqual(list(differences(mask("", {"SessionId": 5}), mask("", {"SessionId": 6}), pairs)), [])
        self.assertTrue(list(differences(mask("", {"SessionId": 7}), mask("", {"SessionId": 6}), pairs)))
        self.assertTrue(list(differences(mask("", {"SessionId": 0}), mask("", {"SessionId": 6}), pairs)))

    def test_rows_are_sorted_by_their_keys(self):
        left = Masks({}).mask("", {"Topics": [{"Name": "b", "ErrorCode": 0}, {"Name": "a", "ErrorCode": 3}]})
        right = Masks({}).mask("", {"Topics": [{"Name": "a", "ErrorCode": 3}, {"Name": "b", "ErrorCode": 1}]})
        self.assertEqual(list(differences(left, right, Pairs())), [("Topics[1].ErrorCode", 0, 1)])

    def test_presence_of_texts_counts(self):
        left, right = ({"ErrorMessage": text} for text in ("no", None))
        found = list(differences(Masks({}).mask("", left), Masks({}).mask("", right), Pairs()))
        self.assertEqual(found, [("ErrorMessage", "text", None)])
        self.assertEqual(list(differences(Masks({}).mask("", right), Masks({}).mask("", left), Pairs())), [])

    def test_null_is_not_empty(self):
        self.assertEqual(list(differences({"Records": None}, {"Records": ""}, Pairs())), [("Records", None, "")])

    def test_lengths_and_absent_fields(self):
        found = [path for path, *_ in differences({"A": [1], "B": 2}, {"A": [1, 2]}, Pairs())]
        self.assertEqual(found, ["A.length", "B"])


if __name__ == "__main__":
    unittest.main()
