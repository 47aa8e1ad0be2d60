"""The kafka-python client of the end-to-end tests, version 2 or 3."""

import jobs
from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic


def create(bootstrap, job):
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(job["topic"], num_partitions=job["partitions"], replication_factor=1)])
    admin.close()
    return 0


def write(bootstrap, job):
    codec = None if job["codec"] == "none" else job["codec"]
    producer = KafkaProducer(bootstrap_servers=bootstrap, acks="all", compression_type=codec, linger_ms=2)
    sent = [producer.send(job["topic"], partition=record["p"], timestamp_ms=record["t"], key=record["k"],
                          value=record["v"], headers=record["h"])
            for record in jobs.records(job)]
    for future in sent:
        future.get(timeout=jobs.LIMIT)
    producer.close()
    return len(sent)


def read(bootstrap, job):
    """Takes count records in a group, commits exactly those, waits extra_ms for a record too many (and
    counts it too) and leaves."""
    consumer = KafkaConsumer(*job["topics"], bootstrap_servers=bootstrap, group_id=job["group"],
                             auto_offset_reset="earliest", enable_auto_commit=False,
                             fetch_max_wait_ms=100)
    following, taken, deadline = {}, 0, jobs.Deadline()
    with open(job["file"], "w") as out:
        while taken < job["count"]:
            deadline.check(taken, job["count"])
            # Version 3.0.12 loses its assignment when a poll ends between SyncGroup and its answer.
            for where, batch in consumer.poll(10_000, max_records=job["count"] - taken).items():
                for record in batch:
                    taken += 1
                    jobs.dump(out, record.topic, record.partition, record.offset, record.key,
                              record.value, record.headers, record.timestamp)
                    following[where] = record.offset + 1
    consumer.commit({TopicPartition(*where): committed(offset) for where, offset in following.items()})
    if job["extra_ms"]:
        taken += sum(len(batch) for batch in consumer.poll(job["extra_ms"], max_records=1).values())
    consumer.close()
    return taken


def committed(offset):
    """Version 3 has a leader epoch in it."""
    return OffsetAndMetadata(offset, "", *[-1] * (len(OffsetAndMetadata._fields) - 2))


jobs.serve(create, write, read)
