"""Fetch without sessions: every version, unknown and out-of-range, epochs, isolation, read to the end."""

from tests.e2e.compare.session import fetch_body, produce_body
from tests.support import kafka_codec as codec
from tests.support.kafka_codec import batch


def run(s):
    topic, empty = s.topic("fetch", 2), s.topic("fetch-empty", 1)
    for number in range(4):
        records = batch([(b"k%d" % number, b"v" * 50)] * (number + 1), timestamp=s.now + number)
        s.main.call("Produce", 13, produce_body([(topic, [(0, records)])]))

    def fetch(label, version, topics, **more):
        s.call(label, "Fetch", version, fetch_body(topics, **more), fit=True)

    for version in range(4, 19):
        key = topic if version >= 13 else "fetch"
        fetch(f"all v{version}", version, [(key, [(0, 0, {}), (1, 0, {})])])
        fetch(f"middle of a batch v{version}", version, [(key, [(0, 4, {})])])
        fetch(f"at the end v{version}", version, [(key, [(0, 10, {})])])
        fetch(f"beyond the end v{version}", version, [(key, [(0, 11, {})])])
        fetch(f"negative offset v{version}", version, [(key, [(0, -1, {})])])
        fetch(f"unknown partition v{version}", version, [(key, [(9, 0, {}), (0, 6, {})])])
        unknown = b"\x22" * 16 if version >= 13 else "no-such-topic"
        fetch(f"unknown topic v{version}", version, [(unknown, [(0, 0, {})]), (key, [(0, 6, {})])])
    fetch("zero topic id", 13, [(codec.ZERO_UUID, [(0, 0, {})])])
    fetch("invalid topic name", 12, [("a b", [(0, 0, {})])])
    fetch("empty topic", 17, [(empty, [(0, 0, {})])])
    fetch("no topics", 17, [])
    fetch("read committed", 17, [(topic, [(0, 0, {})])], isolation=1)
    fetch("unknown isolation", 17, [(topic, [(0, 0, {})])], isolation=9)
    fetch("same partition twice", 12, [("fetch", [(0, 0, {}), (0, 6, {})])])
    for epoch in (-1, 0, 1, 100):
        for version in (9, 12, 17):
            key = topic if version >= 13 else "fetch"
            fetch(f"leader epoch {epoch} v{version}", version,
                  [(key, [(0, 6, {"CurrentLeaderEpoch": epoch})])])
    for epoch in (0, 1):
        fetch(f"last fetched epoch {epoch}", 17, [(topic, [(0, 6, {"LastFetchedEpoch": epoch})])])
    fetch("log start offset from a consumer", 17, [(topic, [(0, 6, {"LogStartOffset": 3})])])
