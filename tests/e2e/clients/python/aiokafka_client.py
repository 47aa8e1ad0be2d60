"""The aiokafka client of the end-to-end tests."""

import asyncio

import jobs
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic


async def create(bootstrap, job):
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    answer = await admin.create_topics(
        [NewTopic(job["topic"], num_partitions=job["partitions"], replication_factor=1)])
    assert all(error[1] == 0 for error in answer.topic_errors), answer.topic_errors
    await admin.close()
    return 0


async def write(bootstrap, job):
    codec = None if job["codec"] == "none" else job["codec"]
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all", compression_type=codec,
                                linger_ms=2) as producer:
        sent = [await producer.send(job["topic"], partition=record["p"], timestamp_ms=record["t"],
                                    key=record["k"], value=record["v"], headers=record["h"])
                for record in jobs.records(job)]
        await asyncio.wait_for(asyncio.gather(*sent), jobs.LIMIT)
    return len(sent)


async def read(bootstrap, job):
    """Takes count records in a group, commits exactly those, waits extra_ms for a record too many (and
    counts it too) and leaves."""
    following, taken, deadline = {}, 0, jobs.Deadline()
    async with AIOKafkaConsumer(*job["topics"], bootstrap_servers=bootstrap, group_id=job["group"],
                                auto_offset_reset="earliest", enable_auto_commit=False,
                                fetch_max_wait_ms=100) as consumer:
        with open(job["file"], "w") as out:
            while taken < job["count"]:
                deadline.check(taken, job["count"])
                more = await consumer.getmany(timeout_ms=200, max_records=job["count"] - taken)
                for where, batch in more.items():
                    for record in batch:
                        taken += 1
                        jobs.dump(out, record.topic, record.partition, record.offset, record.key,
                                  record.value, record.headers, record.timestamp)
                        following[where] = record.offset + 1
        await consumer.commit(following)
        if job["extra_ms"]:
            more = await consumer.getmany(timeout_ms=job["extra_ms"], max_records=1)
            taken += sum(len(batch) for batch in more.values())
    return taken


def in_loop(operation):
    return lambda bootstrap, job: asyncio.run(operation(bootstrap, job))


jobs.serve(in_loop(create), in_loop(write), in_loop(read))
