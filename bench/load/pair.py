"""The two brokers side by side, their topics and their warm-up."""

import time

from bench.load import measure
from tests.support import brokers, kafka_tools
from tests.support.connection import Connection

PAGE_CACHE = {"flush.messages": 9223372036854775807}
SYNCED = {"flush.messages": 1}
RECORD = 1024


def make(kind, work_dir):
    broker = brokers.make(kind, work_dir)
    broker.fast_jit = False  # a broker that runs for long: the optimising compiler
    # Files of deleted topics go at once: their memory, already known to the host, serves the next sample.
    broker.overrides["log.segment.delete.delay.ms"] = "1000"
    return broker


class Pair:
    """Both brokers up together: stopping one for the other's turn would cool it down."""

    def __init__(self, kinds, work_dir):
        self.work_dir = work_dir
        self.brokers = {kind: make(kind, work_dir / kind) for kind in kinds}

    def start(self):
        for broker in self.brokers.values():
            broker.start()

    def stop(self):
        for broker in self.brokers.values():
            if broker.alive():
                broker.stop()

    def revive(self):
        """Starts again what a failed sample left dead."""
        for broker in self.brokers.values():
            if not broker.alive():
                broker.start()

    def warm_up(self, gigabytes):
        """Produces and consumes so much on both, half in default and half in large batches."""
        for kind, broker in self.brokers.items():
            records = int(gigabytes * 1e9 / RECORD / 2)
            with topic(broker, "warm-up", PAGE_CACHE) as name:
                produce(broker, name, records)
                produce(broker, name, records, LARGE_BATCHES)
                consume(broker, name, 2 * records)
            print(f"  warmed up {kind}: {gigabytes:g} GB", flush=True)


LARGE_BATCHES = ("batch.size=131072", "linger.ms=5")


class topic:  # noqa: N801 used as a function
    """A topic for the time of a with-block; the block gets its name."""

    def __init__(self, broker, name, configs, partitions=1):
        self._broker, self._name = broker, name
        self._configs, self._partitions = configs, partitions

    def __enter__(self):
        create_topic(self._broker, self._name, self._configs, self._partitions)
        return self._name

    def __exit__(self, *_):
        if self._broker.alive():
            delete_topic(self._broker, self._name)


def create_topic(broker, name, configs, partitions=1):
    """Creates a topic and waits until every partition takes requests: Apache Kafka answers
    CreateTopics before that, with a thousand partitions seconds before."""
    configs = [{"Name": key, "Value": str(value)} for key, value in configs.items()]
    until = time.monotonic() + 60
    with Connection(broker.port, timeout=60) as connection:
        answer = connection.call("CreateTopics", 7, {"timeoutMs": 60000, "Topics": [
            {"Name": name, "NumPartitions": partitions, "ReplicationFactor": 1,
             "Configs": configs}]})
        created = answer["Topics"][0]
        if created["ErrorCode"] != 0:
            raise AssertionError(f"create {name}: {created}")
        for partition in range(partitions):
            while connection.fetch(created["TopicId"], partition, 0, max_wait=0)["ErrorCode"] != 0:
                if time.monotonic() > until:
                    raise AssertionError(f"{name}: no leader of partition {partition}")
                time.sleep(0.02)


def delete_topic(broker, name):
    with Connection(broker.port) as connection:
        answer = connection.call("DeleteTopics", 6, {
            "Topics": [{"Name": name, "TopicId": bytes(16)}], "TimeoutMs": 30000})
    if answer["Responses"][0]["ErrorCode"] != 0:
        raise AssertionError(f"delete {name}: {answer}")


def _producer_arguments(broker, name, records, properties):
    return ["--bootstrap-server", broker.bootstrap, "--topic", name, "--num-records", records,
            "--record-size", RECORD, "--throughput", -1,
            "--command-property", "acks=all", *properties]


def produce(broker, name, records, properties=()):
    """producer-perf-test: (MB/s, average latency in ms)."""
    output = measure.tool("kafka-producer-perf-test",
                          *_producer_arguments(broker, name, records, properties), timeout=300)
    sent, rate, average, _ = measure.producer_lines(output)[-1]
    if sent != records:
        raise AssertionError(f"{sent} of {records} records sent")
    return rate, average


def produce_parallel(broker, name, records, producers):
    """producer-perf-test `producers` times in one JVM: MB/s of all, by the slowest and in sum."""
    command = kafka_tools.java(
        measure.HERE / "ParallelProducerPerf.java", producers,
        *_producer_arguments(broker, name, records, ()), heap="1g", flags=measure.CLIENT_FLAGS)
    output = measure.processes.run(command, timeout=300).stdout
    rates = [rate for sent, rate, *_ in measure.producer_lines(output) if sent == records]
    if len(rates) != producers:
        raise AssertionError(f"{len(rates)} of {producers} producers finished:\n{output[-2000:]}")
    return producers * min(rates), sum(rates)


def consume(broker, name, records, fetch_size=1 << 20, socket_buffer=2 << 20):
    """consumer-perf-test: its columns."""
    output = measure.tool(
        "kafka-consumer-perf-test", "--bootstrap-server", broker.bootstrap, "--topic", name,
        "--num-records", records, "--fetch-size", fetch_size,
        "--socket-buffer-size", socket_buffer, "--timeout", 20000)
    columns = measure.consumer_columns(output)
    if int(columns["data.consumed.in.nMsg"]) < records:
        raise AssertionError(f"consumed {columns} of {records}")
    return columns


def fill(broker, name, gigabytes, records_per_batch=15):
    """Fills a new topic over raw connections: much faster than a JVM."""
    batch = records_per_batch * RECORD
    requests = int(gigabytes * 1e9 / batch) + 1
    measure.program("request_load", "produce", "--port", broker.port, "--topic", name,
                    "--requests", requests, "--in-flight", 5, "--records", records_per_batch,
                    "--config", f"flush.messages={PAGE_CACHE['flush.messages']}", timeout=300)
    return requests * records_per_batch
