"""Makes two transcripts comparable: what may differ between brokers becomes a symbol.

Ids become symbols, and Pairs holds which id of one side stands for which of the other: the *same* id in two
places must be the same on both sides. Ports, host names, session ids and producer ids likewise. Of wordings and
documentation only this counts: where the left has one, the right has one too. Lists of structs are sorted by their key fields: their order
is not part of the protocol."""

import dataclasses

from tests.support import kafka_codec

# Fields whose values are symbols: the kind of symbol, and the values that stay as they are.
_SYMBOLS = {
    "MemberId": ("member", {""}), "Leader": ("member", {""}), "ClusterId": ("cluster", {None, ""}),
    "Port": ("port", {0, -1}), "Host": ("host", {""}), "ClientHost": ("host", {""}),
    "SessionId": ("session", {0}), "ProducerId": ("producer", {-1}),
}
_TEXTS = {"ErrorMessage", "Documentation", "BatchIndexErrorMessage"}
_KEYS = ("Name", "TopicName", "Topic", "GroupId", "Key", "ApiKey", "BrokerId", "NodeId",
         "PartitionIndex", "Partition", "Index", "GroupInstanceId", "ClientId", "Metadata")
_TIMES = {"LogAppendTimeMs"}


@dataclasses.dataclass(frozen=True)
class Symbol:
    """A value that each broker chooses for itself."""

    kind: str
    value: object

    def __repr__(self):
        shown = self.value.hex() if isinstance(self.value, bytes) else self.value
        return f"<{self.kind} {shown}>"


class Pairs:
    """Which symbol of the left stands for which of the right."""

    def __init__(self):
        self._right_of, self._left_of = {}, {}

    def same(self, left, right):
        return (left.kind == right.kind and self._right_of.setdefault(left, right) == right
                and self._left_of.setdefault(right, left) == left)


class Masks:
    """Masks the answers of one side. Topics that the script made are known by name."""

    def __init__(self, topic_names):
        self._topic_names = topic_names

    def mask(self, name, value):
        if isinstance(value, dict):
            return {key: self.mask(key, inner) for key, inner in value.items()}
        if isinstance(value, list):
            if value and isinstance(value[0], dict):
                value = sorted(value, key=self._sort_key)
            return [self.mask(name, inner) for inner in value]
        if isinstance(value, bytes):
            return self._bytes(name, value)
        if name in _TEXTS:
            return None if value is None else "text" if value else ""
        if name in _SYMBOLS:
            kind, plain = _SYMBOLS[name]
            return value if value in plain else Symbol(kind, value)
        if name in _TIMES and value > 0:
            return "time"
        return value

    def _bytes(self, name, value):
        if len(value) == 16 and name.endswith(("Id", "Ids")):
            if value in self._topic_names:
                return f"id of {self._topic_names[value]}"
            return "no id" if value == kafka_codec.ZERO_UUID else Symbol("id", value)
        return value.hex()

    def _sort_key(self, row):
        """By the key fields that the rows of a list share. Generated ids are no order to rely on."""
        key = [value if isinstance(value, int) else -1 if value is None else _as_number(value)
               for value in (row[name] for name in _KEYS if name in row)]
        # A member id begins with what the member called itself and ends with what the broker drew.
        member = row.get("MemberId", "")[:-36]
        return [_as_number(self._topic_names.get(row.get("TopicId"), "")), *key, _as_number(member)]


def _as_number(value):
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    return int.from_bytes(data[:64].ljust(64, b"\0"), "big")


def differences(left, right, pairs, path=""):
    """Paths at which two masked values differ: (path, left, right)."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            yield from differences(left.get(key, "(absent)"), right.get(key, "(absent)"), pairs,
                                   f"{path}.{key}" if path else key)
    elif isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            yield f"{path}.length", len(left), len(right)
        for number, (one, other) in enumerate(zip(left, right)):
            yield from differences(one, other, pairs, f"{path}[{number}]")
    elif isinstance(left, Symbol) and isinstance(right, Symbol):
        if not pairs.same(left, right):
            yield path, left, right
    elif (left != right or type(left) is not type(right)) and not _says_more(path, left, right):
        yield path, left, right


def _says_more(path, left, right):
    """Whether this is a text and the left has none."""
    return path.rpartition(".")[2] in _TEXTS and left in (None, "") and right in (None, "", "text")
