"""The librdkafka client (confluent-kafka wheel) of the end-to-end tests: runs the jobs it reads from
standard input, one JSON object a line, and prints one JSON object a job."""

import json
import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

LIMIT = 60.0
# Restarting brokers refuse connections by the dozen: only what is worse than that is news.
QUIET = {"log_level": 2}


def create(bootstrap, job):
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    topic = NewTopic(job["topic"], num_partitions=job["partitions"], replication_factor=1)
    for future in admin.create_topics([topic]).values():
        future.result(LIMIT)
    return 0


def write(bootstrap, job):
    producer = Producer({"bootstrap.servers": bootstrap, "compression.codec": job["codec"],
                         "linger.ms": 2, **job.get("settings", {}), **QUIET})
    failures, sent = [], 0

    def delivered(error, _message):
        if error is not None:
            failures.append(str(error))

    with open(job["file"]) as lines:
        for line in lines:
            record = json.loads(line)
            producer.produce(
                job["topic"], partition=record["p"], timestamp=record["t"],
                key=from_hex(record["k"]), value=from_hex(record["v"]),
                headers=[(name, from_hex(value)) for name, value in record["h"]],
                on_delivery=delivered)
            producer.poll(0)
            sent += 1
    left = producer.flush(LIMIT)
    if left or failures:
        sys.exit(f"{left} records unsent, failures: {failures[:3]}")
    return sent


def read(bootstrap, job):
    """Takes count records in a group, commits exactly those and leaves; then waits extra_ms for a record
    too many and counts it too."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": job["group"],
                         "auto.offset.reset": "earliest", "enable.auto.commit": False,
                         "fetch.wait.max.ms": 100, **QUIET})
    consumer.subscribe(job["topics"])
    following, taken = {}, 0
    deadline = time.monotonic() + LIMIT
    with open(job["file"], "w") as out:
        while taken < job["count"]:
            if time.monotonic() > deadline:
                sys.exit(f"only {taken} of {job['count']} records")
            for message in consumer.consume(min(500, job["count"] - taken), 0.2):
                if message.error():
                    sys.exit(f"consume: {message.error()}")
                taken += 1
                out.write(json.dumps(dump(message)) + "\n")
                following[message.topic(), message.partition()] = message.offset() + 1
    consumer.commit(offsets=[TopicPartition(*where, offset) for where, offset in following.items()],
                    asynchronous=False)
    if job.get("extra_ms"):
        taken += len(consumer.consume(1, job["extra_ms"] / 1000))
    consumer.close()
    return taken


def dump(message):
    return {"topic": message.topic(), "p": message.partition(), "o": message.offset(),
            "k": to_hex(message.key()), "v": to_hex(message.value()),
            "h": [[name, to_hex(value)] for name, value in message.headers() or []],
            "t": message.timestamp()[1]}


def from_hex(text):
    return None if text is None else bytes.fromhex(text)


def to_hex(data):
    return None if data is None else data.hex()


def main():
    operations = {"create": create, "write": write, "read": read}
    for line in sys.stdin:
        job = json.loads(line)
        done = operations[job["op"]](sys.argv[1], job)
        print(json.dumps({"op": job["op"], "done": done}), flush=True)


main()
