"""Fetch: size limits with the first batch whole, minimal bytes, long polls and what ends them."""

import time

from tests.e2e.compare.session import fetch_body, produce_body
from tests.support.kafka_codec import batch


def run(s):
    topic = s.topic("limits", 2)
    for partition in (0, 1):
        for number in range(4):
            s.main.call("Produce", 13, produce_body(
                [(topic, [(partition, batch([(None, b"x" * 1000)], timestamp=s.now + number))])]))
    size = len(batch([(None, b"x" * 1000)]))

    def fetch(label, partitions, **more):
        return s.call(label, "Fetch", 17, fetch_body([(topic, partitions)], **more))

    for limit in (0, 1, size - 1, size, size + 1, 2 * size, 3 * size - 1):
        fetch(f"partition limit {limit - size} around a batch", [(0, 0, {"PartitionMaxBytes": limit})])
        fetch(f"limit {limit - size} around a batch", [(0, 0, {}), (1, 0, {})], max_bytes=limit)
    fetch("both limits", [(0, 0, {"PartitionMaxBytes": size}), (1, 0, {"PartitionMaxBytes": size})],
          max_bytes=10 * size)
    fetch("negative limit", [(0, 0, {"PartitionMaxBytes": -1})])

    started = time.monotonic()
    fetch("long poll that expires", [(0, 4, {})], max_wait=400)
    s.waited("expired", started, 0.39, 1.5)
    started = time.monotonic()
    fetch("min bytes already there", [(0, 0, {})], max_wait=5000, min_bytes=2 * size)
    s.waited("at once", started, 0, 1)
    started = time.monotonic()
    fetch("min bytes zero", [(0, 4, {})], max_wait=5000, min_bytes=0)
    s.waited("at once with min bytes zero", started, 0, 1)
    started = time.monotonic()
    fetch("an error ends the wait", [(0, 4, {}), (1, 99, {})], max_wait=5000)
    s.waited("at once after an error", started, 0, 1)
    started = time.monotonic()
    fetch("unknown partition and the wait", [(0, 4, {}), (8, 0, {})], max_wait=500)
    s.note("unknown partition waits", time.monotonic() - started > 0.45)

    waiting = s.connect()
    waiting.send("Fetch", 17, fetch_body([(topic, [(0, 4, {}), (1, 4, {})])], max_wait=10000))
    time.sleep(0.2)
    started = time.monotonic()
    s.main.call("Produce", 13, produce_body([(topic, [(1, batch([(None, b"wake")]))])]))
    s.record("woken by an append", "Fetch", 17, waiting.receive())
    s.waited("woken", started, 0, 2)

    waiting.send("Fetch", 17, fetch_body([(topic, [(0, 4, {})])], max_wait=10000, min_bytes=2 * size))
    for number in range(2):
        time.sleep(0.1)
        s.main.call("Produce", 13, produce_body([(topic, [(0, batch([(None, b"y" * 1000)]))])]))
    s.record("woken by the second append", "Fetch", 17, waiting.receive())
    # Reading in a waiting fetch is from where it was asked, also for partitions that had something.
    waiting.send("Fetch", 17, fetch_body([(topic, [(0, 5, {}), (1, 5, {})])], max_wait=600,
                                         min_bytes=3 * size))
    s.record("too little until the end of the wait", "Fetch", 17, waiting.receive())
