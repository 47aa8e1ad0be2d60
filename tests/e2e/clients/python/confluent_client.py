"""The librdkafka client (confluent-kafka wheel) of the end-to-end tests."""

import sys

import jobs
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

# Restarting brokers refuse connections by the dozen: only what is worse than that is news.
QUIET = {"log_level": 2}


def create(bootstrap, job):
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    topic = NewTopic(job["topic"], num_partitions=job["partitions"], replication_factor=1)
    for future in admin.create_topics([topic]).values():
        future.result(jobs.LIMIT)
    return 0


def write(bootstrap, job):
    producer = Producer({"bootstrap.servers": bootstrap, "compression.codec": job["codec"],
                         "linger.ms": 2, **job.get("settings", {}), **QUIET})
    failures, sent = [], 0

    def delivered(error, _message):
        if error is not None:
            failures.append(str(error))

    for record in jobs.records(job):
        producer.produce(job["topic"], partition=record["p"], timestamp=record["t"], key=record["k"],
                         value=record["v"], headers=record["h"], on_delivery=delivered)
        producer.poll(0)
        sent += 1
    left = producer.flush(jobs.LIMIT)
    if left or failures:
        sys.exit(f"{left} records unsent, failures: {failures[:3]}")
    return sent


def read(bootstrap, job):
    """Takes count records in a group, commits exactly those and leaves; before that waits extra_ms for a
    record too many and counts it too."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": job["group"],
                         "auto.offset.reset": "earliest", "enable.auto.commit": False,
                         "fetch.wait.max.ms": 100, **QUIET})
    consumer.subscribe(job["topics"])
    following, taken, deadline = {}, 0, jobs.Deadline()
    with open(job["file"], "w") as out:
        while taken < job["count"]:
            deadline.check(taken, job["count"])
            for message in consumer.consume(min(500, job["count"] - taken), 0.2):
                if message.error():
                    sys.exit(f"consume: {message.error()}")
                taken += 1
                jobs.dump(out, message.topic(), message.partition(), message.offset(), message.key(),
                          message.value(), message.headers() or [], message.timestamp()[1])
                following[message.topic(), message.partition()] = message.offset() + 1
    consumer.commit(offsets=[TopicPartition(*where, offset) for where, offset in following.items()],
                    asynchronous=False)
    if job.get("extra_ms"):
        taken += len(consumer.consume(1, job["extra_ms"] / 1000))
    consumer.close()
    return taken


jobs.serve(create, write, read)
