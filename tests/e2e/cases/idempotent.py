"""kill -9 under a running idempotent producer that logs its acknowledgements."""

import json
import subprocess
import time

from tests.e2e import records
from tests.e2e.case import case, expect, expect_equal
from tests.support import clients, processes

_ROUNDS = 5


@case()
def kill_under_producer(context):
    """Five kills while the Java client's idempotent producer runs: every acknowledged record is at its
    acknowledged offset, none is there twice, the order of each partition is the order of sending."""
    broker, folder = context.own(), context.folder("idempotent")
    topic, acknowledgements = context.topic("idempotent"), folder / "acknowledged"
    producer = processes.spawn(clients.ALL["java"].command(broker.bootstrap), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=open(folder / "stderr", "w"), text=True)
    for job in ({"op": "create", "topic": topic, "partitions": 2},
                {"op": "stream", "topic": topic, "file": str(acknowledgements)}):
        producer.stdin.write(json.dumps(job) + "\n")
        producer.stdin.flush()
        processes.read_line(producer, 30)
    for round_number in range(_ROUNDS):
        _wait_for_more(acknowledgements, 1000, broker, round_number)
        broker.kill9()
        broker.start()
    _wait_for_more(acknowledgements, 1000, broker, _ROUNDS)
    producer.stdin.write("stop\n")
    producer.stdin.flush()
    sent = json.loads(processes.read_line(producer, 60))["done"]
    producer.kill()
    lines = [line.split() for line in acknowledgements.read_text().splitlines()]
    failed = [line for line in lines if line[1] == "failed"]
    expect(not failed, f"{len(failed)} sends failed: {failed[:3]}")
    expect_equal(len(lines), sent, "acknowledged of the sent records")
    _expect_exactly(broker, topic, folder / "dump", {int(n): (int(p), int(o)) for n, p, o in lines})


def _wait_for_more(path, count, broker, round_number):
    """Waits until `count` further acknowledgements were logged."""
    def logged():
        return path.read_bytes().count(b"\n") if path.exists() else 0

    before, end = logged(), time.monotonic() + 40
    while logged() < before + count:
        expect(time.monotonic() < end, f"round {round_number}: {logged() - before} acknowledgements")
        expect(broker.alive(), f"round {round_number}: the broker ended")
        time.sleep(0.02)


def _expect_exactly(broker, topic, dump, acknowledged):
    """The log holds the acknowledged records and nothing else, each once, in order of sending."""
    job = {"op": "read", "topics": [topic], "group": topic, "count": len(acknowledged),
           "extra_ms": 300, "file": str(dump)}
    taken = clients.ALL["confluent"].run(broker.bootstrap, [job])[0]
    expect_equal(taken, len(acknowledged), "records in the log")
    last = {}
    found = records.load(dump)
    for record in found:
        number = int(bytes.fromhex(record["v"]))
        expect_equal((record["p"], record["o"]), acknowledged[number], f"place of record {number}")
        expect(number > last.get(record["p"], -1), f"record {number} after {last.get(record['p'])}")
        last[record["p"]] = number
    expect_equal(len({r["v"] for r in found}), len(acknowledged), "different records")
