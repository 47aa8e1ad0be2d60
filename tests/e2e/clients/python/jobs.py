"""What the Python clients of the end-to-end tests share: they run the jobs that they read from standard
input, one JSON object a line, and print one JSON object a job."""

import json
import sys
import time

LIMIT = 60.0


def serve(create, write, read):
    """Each function takes the bootstrap address and a job, and returns a count."""
    operations = {"create": create, "write": write, "read": read}
    for line in sys.stdin:
        job = json.loads(line)
        done = operations[job["op"]](sys.argv[1], job)
        print(json.dumps({"op": job["op"], "done": done}), flush=True)


def records(job):
    """The records of a write job: bytes instead of hexadecimal text, headers as tuples."""
    with open(job["file"]) as lines:
        for line in lines:
            record = json.loads(line)
            record["k"], record["v"] = from_hex(record["k"]), from_hex(record["v"])
            record["h"] = [(name, from_hex(value)) for name, value in record["h"]]
            yield record


def dump(out, topic, partition, offset, key, value, headers, timestamp):
    line = {"topic": topic, "p": partition, "o": offset, "k": to_hex(key), "v": to_hex(value),
            "h": [[name, to_hex(value)] for name, value in headers], "t": timestamp}
    out.write(json.dumps(line) + "\n")


class Deadline:
    def __init__(self):
        self._end = time.monotonic() + LIMIT

    def check(self, taken, wanted):
        if time.monotonic() > self._end:
            sys.exit(f"only {taken} of {wanted} records")


def from_hex(text):
    return None if text is None else bytes.fromhex(text)


def to_hex(data):
    return None if data is None else bytes(data).hex()
