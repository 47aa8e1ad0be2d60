"""The rows: what is measured. A row gives one sample (a dictionary of numbers) per call; the runner
calls it for every broker in every round."""

import dataclasses
import json
import os
import shutil
import subprocess
import time

from bench.load import measure, pair
from tests.support import processes

MIB = 1 << 20
# What producer-perf-test's batches come to: 15 and 126 records. Nothing is a multiple of a page: a raw program
# that wrote 131,072 bytes at a time would have the page cache in large folios, which no log has.
DEFAULT_BATCH, LARGE_BATCH = 15_556, 130_400


@dataclasses.dataclass
class Context:
    """What the rows share. `pair` is up while rows of throughput, latency and calls run."""
    work_dir: object
    quick: bool
    scale: float = 1.0
    pair: object = None
    round: int = 0
    long_poll: dict = None  # what the last broker's sample of that row said

    def size(self, full, quick):
        return quick if self.quick else type(full)(full * self.scale)

    def fresh_dir(self, name):
        path = self.work_dir / name
        shutil.rmtree(path, ignore_errors=True)
        return path


def touch_memory(context, size):
    """Writes and removes a file of the size of the coming load. On a virtual machine the first use of
    a page faults in the host (a 64 KiB write then costs 80 us instead of 16), and the page cache would
    make whoever writes next pay for it."""
    path = context.work_dir / "touch"
    chunk = bytes(MIB)
    with open(path, "wb", buffering=0) as file:
        for _ in range(size // MIB + 1):
            file.write(chunk)
    path.unlink()


class Start:
    """exec to the first Metadata answer, each time in a new process."""

    own_brokers = True

    def __init__(self, name, partitions=0, gigabytes=0.0):
        self.name, self.partitions, self.gigabytes = name, partitions, gigabytes
        self._prepared = {}

    def sample(self, context, kind):
        broker = self._broker(context, kind)
        broker.prepare()
        child = processes.spawn(
            [measure.PROGRAMS / "start_probe", "--port", broker.port, "--partitions",
             self.partitions, "--log", broker.log_file, "--", *broker.command()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            started = processes.read_line(child, 90)
            child.stdin.close()
            stopped = processes.read_line(child, 90)
            child.wait(10)
        finally:
            child.kill()
        if not started or not stopped or child.returncode != 0:
            raise AssertionError(f"start_probe: {child.stderr.read()}\n{broker.log_tail()}")
        end = json.loads(stopped)
        if end["exit_code"] not in broker.clean_exits:
            raise AssertionError(f"unclean stop: {end}")
        return {"start_ms": json.loads(started)["start_ms"], "stop_ms": end["stop_ms"]}

    def _broker(self, context, kind):
        if not self.partitions and not self.gigabytes:
            return pair.make(kind, context.fresh_dir(f"{self.name}-{kind}"))
        if kind not in self._prepared:
            broker = pair.make(kind, context.fresh_dir(f"{self.name}-{kind}"))
            broker.start()
            if self.partitions:
                pair.create_topic(broker, "many", pair.PAGE_CACHE, self.partitions)
            if self.gigabytes:
                pair.fill(broker, "much", context.size(self.gigabytes, 0.3), 120)
            broker.stop()
            self._prepared[kind] = broker
        return self._prepared[kind]


class Idle:
    """Memory and CPU of a broker that nobody talks to, with two shards."""

    name = "idle"
    own_brokers = True

    def sample(self, context, kind):
        broker = pair.make(kind, context.fresh_dir(f"idle-{kind}"))
        broker.start({"pelton.shards": 2} if kind == "pelton" else None)
        time.sleep(2 if context.quick else 5)
        with measure.Window(broker) as window:
            time.sleep(10)
        rss = broker.rss_bytes() / MIB
        threads = len(os.listdir(f"/proc/{broker.pid}/task"))
        broker.stop()
        return {"rss_mib": rss, "idle_cpu_ms": window.cpu * 1000, "threads": threads}


class Produce:
    """producer-perf-test with one producer."""

    own_brokers = False

    def __init__(self, name, configs, full, properties=(), raw_bytes=None):
        self.name, self.configs, self.full = name, configs, full
        self.properties, self.raw_bytes = properties, raw_bytes

    def sample(self, context, kind):
        broker = context.pair.brokers[kind]
        records = context.size(self.full, self.full // 10)
        touch_memory(context, records * pair.RECORD)
        os.sync()
        with pair.topic(broker, f"{self.name}-{context.round}", self.configs) as name:
            with measure.Window(broker) as window:
                rate, average = pair.produce(broker, name, records, self.properties)
        gigabytes = records * pair.RECORD / 1e9
        return {"mb_per_s": rate, "cpu_s_per_gb": window.cpu / gigabytes,
                "average_ms": average, **window.facts()}

    def raw_sample(self, context):
        if self.raw_bytes is None:
            return None
        records = context.size(self.full, self.full // 10)
        touch_memory(context, records * pair.RECORD)
        os.sync()
        time.sleep(2)  # as long as the perf tool's JVM takes to start
        result = measure.program(
            "raw_produce_ceiling", "--file", context.work_dir / "raw.log", "--rounds", 1,
            "--sizes", self.raw_bytes, "--bytes", records * pair.RECORD)
        return _numbers(result["raw_produce"][0])


class ProduceParallel:
    """producer-perf-test with many producers in one JVM, synced."""

    own_brokers = False

    def __init__(self, name, producers, partitions, full):
        self.name, self.producers, self.partitions, self.full = name, producers, partitions, full

    def sample(self, context, kind):
        broker = context.pair.brokers[kind]
        records = context.size(self.full, self.full // 10)
        os.sync()
        with pair.topic(broker, f"{self.name}-{context.round}", pair.SYNCED,
                        self.partitions) as name:
            with measure.Window(broker) as window:
                slowest, total = pair.produce_parallel(broker, name, records, self.producers)
        gigabytes = self.producers * records * pair.RECORD / 1e9
        return {"mb_per_s": slowest, "mb_per_s_sum": total,
                "cpu_s_per_gb": window.cpu / gigabytes, **window.facts()}


class Consume:
    """consumer-perf-test of data that is in the page cache."""

    own_brokers = False

    def __init__(self, name, fetch_size, socket_buffer):
        self.name, self.fetch_size, self.socket_buffer = name, fetch_size, socket_buffer

    def sample(self, context, kind):
        broker = context.pair.brokers[kind]
        records = self._filled(context, broker)
        with measure.Window(broker) as window:
            columns = pair.consume(broker, "cached", records, self.fetch_size, self.socket_buffer)
        gigabytes = float(columns["data.consumed.in.MB"]) * MIB / 1e9
        return {"mb_per_s": float(columns["MB.sec"]),
                "fetch_mb_per_s": float(columns["fetch.MB.sec"]),
                "cpu_s_per_gb": window.cpu / gigabytes, **window.facts()}

    def raw_sample(self, context):
        """Serves the very log that the last broker served: how it was written decides what sending
        it costs."""
        broker = list(context.pair.brokers.values())[-1]
        segment = min(broker.partition_dirs("cached")[0].glob("*.log"))
        result = measure.program(
            "raw_fetch_ceiling", "--source", segment, "--rounds", 1, "--sizes", self.fetch_size,
            "--receive-buffer", self.socket_buffer,
            "--bytes", context.size(2_000_000_000, 300_000_000))
        return _numbers(result["raw_fetch"][0])

    @staticmethod
    def _filled(context, broker):
        """All rows of this kind read the same topic."""
        if not hasattr(broker, "cached_records"):
            broker.cached_records = pair.fill(broker, "cached", context.size(2.0, 0.3))
        return broker.cached_records


class FlatOut:
    """request_load instead of a tool: a client that answers as fast as that of the raw programs, so that the
    broker sleeps as seldom as they do. Produce with five requests in flight, or Fetch of cached data."""

    own_brokers = False

    def __init__(self, name, mode, records, raw_bytes, full):
        self.name, self.mode, self.records = name, mode, records
        self.raw_bytes, self.full = raw_bytes, full

    def sample(self, context, kind):
        broker = context.pair.brokers[kind]
        requests = context.size(self.full, self.full // 10)
        topic = "cached" if self.mode == "fetch" else f"{self.name}-{context.round}"
        arguments = ["--port", broker.port, "--topic", topic, "--requests", requests]
        if self.mode == "fetch":
            Consume._filled(context, broker)
        else:
            self._touch(context, requests)
            arguments += ["--in-flight", 5, "--records", self.records,
                          "--config", f"flush.messages={pair.PAGE_CACHE['flush.messages']}"]
        with measure.Window(broker) as window:
            result = measure.program("request_load", self.mode, *arguments)
        if self.mode == "produce":
            pair.delete_topic(broker, topic)
        return {"mb_per_s": result["bytes"] / 1e6 / result["seconds"],
                "cpu_s_per_gb": window.cpu / (result["bytes"] / 1e9), **window.facts()}

    def raw_sample(self, context):
        requests = context.size(self.full, self.full // 10)
        shared = ["--rounds", 1, "--sizes", self.raw_bytes, "--bytes", requests * self.raw_bytes]
        if self.mode == "fetch":
            broker = list(context.pair.brokers.values())[-1]
            segment = min(broker.partition_dirs("cached")[0].glob("*.log"))
            result = measure.program("raw_fetch_ceiling", "--source", segment, "--receive-buffer", 0, *shared)
            return _numbers(result["raw_fetch"][0])
        self._touch(context, requests)
        result = measure.program("raw_produce_ceiling", "--file", context.work_dir / "raw.log", *shared)
        return _numbers(result["raw_produce"][0])

    def _touch(self, context, requests):
        touch_memory(context, requests * self.raw_bytes)
        os.sync()


class Latency:
    """One record at a time to a consumer that waits for it."""

    own_brokers = False

    def __init__(self, name, configs, full):
        self.name, self.configs, self.full = name, configs, full

    def sample(self, context, kind):
        broker = context.pair.brokers[kind]
        samples = context.size(self.full, 200)
        os.sync()
        with measure.Window(broker) as window:
            result = measure.program(
                "latency_probe", "--port", broker.port, "--topic", f"{self.name}-{context.round}",
                *(part for key, value in self.configs.items()
                  for part in ("--config", f"{key}={value}")),
                "--samples", samples, "--warmup", samples // 3, timeout=300)
        metrics = {f"{what}_{name}_us": value for what in ("ack", "consumed")
                   for name, value in result[f"{what}_us"].items()}
        return {**metrics, **window.facts()}


class Rebalance:
    """A group of which one member leaves, again and again: until all others are stable."""

    own_brokers = False

    def __init__(self, name, members, rounds):
        self.name, self.members, self.rounds = name, members, rounds

    def sample(self, context, kind):
        broker = context.pair.brokers[kind]
        with measure.Window(broker) as window:
            result = measure.program(
                "group_rebalance", "--port", broker.port, "--pid", broker.pid, "--members", self.members,
                "--rounds", context.size(self.rounds, 3), "--group", f"{self.name}-{context.round}", timeout=300)
        return {"left_p50_us": result["left_us"]["p50"], "left_max_us": result["left_us"]["max"],
                "returned_p50_us": result["returned_us"]["p50"],
                "cpu_ms_per_round": result["cpu_ms_per_round"], **window.facts()}


class LongPoll:
    """Consumers at the end of a log, each in a long poll that ends with nothing."""

    own_brokers = False
    name = "long-poll-1000"

    def sample(self, context, kind):
        broker = context.pair.brokers[kind]
        result = measure.program("long_poll", "broker", "--port", broker.port, "--pid", broker.pid,
                                 "--topic", f"{self.name}-{context.round}", *self._span(context))
        context.long_poll = result
        return self._metrics(result)

    def raw_sample(self, context):
        """As many bytes in each direction as the last broker's."""
        sizes = context.long_poll
        return self._metrics(measure.program(
            "long_poll", "bare", "--request-bytes", sizes["request_bytes"],
            "--answer-bytes", sizes["answer_bytes"], *self._span(context)))

    @staticmethod
    def _span(context):
        # By then every connection is where it belongs.
        return ["--consumers", 1000, "--wait-ms", 500, "--seconds", context.size(20, 4),
                "--warm-up-s", context.size(20, 2)]

    @staticmethod
    def _metrics(result):
        return {"cpu_us_per_answer": result["cpu_us_per_answer"], "cores": result["cores"],
                "answers_per_s": result["answers_per_s"], "late_p50_us": result["late_us"]["p50"],
                "late_p99_us": result["late_us"]["p99"]}


class IdleConnections:
    """Resident memory of the broker for each connection that has asked what clients ask first."""

    own_brokers = True
    name = "idle-connections"

    def sample(self, context, kind):
        broker = pair.make(kind, context.fresh_dir(f"{self.name}-{kind}"))
        broker.start()
        result = measure.program("idle_connections", "--port", broker.port, "--pid", broker.pid,
                                 "--connections", context.size(10_000, 2000))
        broker.stop()
        return {"bytes_per_connection": result["bytes_per_connection"], "connect_s": result["seconds"]}


class Topics:
    """Many topics created in one request and one by one, and the answer that tells of many partitions."""

    own_brokers = False
    name = "topics"

    def sample(self, context, kind):
        broker = context.pair.brokers[kind]
        created = measure.program("topic_load", "create", "--port", broker.port,
                                  "--topics", context.size(1000, 100), timeout=300)
        told = measure.program("topic_load", "metadata", "--port", broker.port, "--topics", 100,
                               "--partitions", context.size(100, 10), timeout=300)
        return {"at_once_ms": created["at_once_ms"], "one_by_one_ms": created["one_by_one_ms"],
                "removed_ms": created["removed_ms"], "metadata_p50_us": told["metadata_us"]["p50"],
                "created_ms": told["created_ms"]}


class Overload:
    """Four times what the broker takes at the most, and one client that has nothing to do with it."""

    own_brokers = False
    name = "overload"

    def sample(self, context, kind):
        broker = context.pair.brokers[kind]
        result = measure.program(
            "overload", "--port", broker.port, "--pid", broker.pid, "--seconds", context.size(4, 2), "--rounds", 5,
            "--config", "flush.messages=9223372036854775807", "--config", "retention.bytes=1073741824",
            timeout=300)
        over, calm = result["overload"], result["calm"]
        return {"goodput_of_peak": result["goodput_of_peak"], "of_peak_min": result["of_peak_min"],
                "of_peak_max": result["of_peak_max"], "peak_per_s": calm["per_s"],
                "broker_us": over["broker_us"], "calm_broker_us": calm["broker_us"],
                "generator_us": over["generator_us"], "calm_generator_us": calm["generator_us"],
                "other_metadata_p99_us": over["metadata_us"]["p99"],
                "other_produce_p99_us": over["produce_us"]["p99"],
                "other_produce_max_us": over["produce_us"]["max"],
                "calm_produce_p99_us": calm["produce_us"]["p99"],
                "rss_mib_max": over["rss_max"] / MIB}


class Calls:
    """System calls per request in steady state, counted by strace; timings do not matter here."""

    own_brokers = False
    once = True

    def __init__(self, name, requests, arguments, configs=None):
        self.name, self.requests = name, requests
        self.arguments, self.configs = arguments, configs

    def sample(self, context, kind):
        broker = context.pair.brokers[kind]
        count = context.size(self.requests, self.requests // 5)
        if self.arguments[0] == "fetch":
            Consume._filled(context, broker)  # not counted, also when this row runs alone
        with measure.SystemCalls(broker.pid, context.work_dir) as calls:
            self._load(context, broker, count)
        total = sum(calls.counts.values())
        ordered = sorted(calls.counts.items(), key=lambda item: -item[1])
        return {"calls_per_request": total / count,
                **{f"call {name}": value / count for name, value in ordered
                   if value >= count / 100}}

    def _load(self, context, broker, count):
        if self.arguments[0] == "latency":
            measure.program("latency_probe", "--port", broker.port, "--topic", self.name,
                            *self._configs(), "--samples", count - 10, "--warmup", 10)
            return
        mode, *others = self.arguments
        where = self.name
        if mode == "fetch":
            where = "cached"
        measure.program("request_load", mode, "--port", broker.port, "--topic", where,
                        "--requests", count, *others, *self._configs())
        if mode == "produce":
            pair.delete_topic(broker, where)

    def _configs(self):
        return [part for key, value in (self.configs or {}).items()
                for part in ("--config", f"{key}={value}")]


def _numbers(result):
    return {name: value for name, value in result.items() if not name.endswith("_bytes")}


def all_rows():
    return [
        Start("start-empty"),
        Start("start-1000", partitions=1000),
        Start("start-3gb", gigabytes=3.0),
        Idle(),
        IdleConnections(),
        Produce("produce", pair.PAGE_CACHE, 1_000_000, raw_bytes=DEFAULT_BATCH),
        Produce("produce-128k", pair.PAGE_CACHE, 1_000_000, pair.LARGE_BATCHES, raw_bytes=LARGE_BATCH),
        Produce("produce-synced", pair.SYNCED, 150_000),
        ProduceParallel("produce-synced-16", 16, 1, 30_000),
        ProduceParallel("produce-synced-16x16", 16, 16, 30_000),
        Consume("consume", 1 << 20, 2 << 20),
        Consume("consume-64k-buffer", 1 << 20, 64 << 10),
        Consume("consume-4m-64k-buffer", 4 << 20, 64 << 10),
        FlatOut("flat-produce", "produce", 15, DEFAULT_BATCH, 60_000),
        FlatOut("flat-produce-128k", "produce", 126, LARGE_BATCH, 8_000),
        FlatOut("flat-fetch-1m", "fetch", None, MIB, 2_000),
        Latency("latency", pair.PAGE_CACHE, 3000),
        Latency("latency-synced", pair.SYNCED, 1000),
        Rebalance("rebalance-200", 200, 20),
        LongPoll(),
        Topics(),
        Overload(),
        Calls("calls-produce-16k", 5000, ["produce", "--in-flight", 5, "--records", 15],
              pair.PAGE_CACHE),
        Calls("calls-produce-128k", 2000, ["produce", "--in-flight", 5, "--records", 120],
              pair.PAGE_CACHE),
        Calls("calls-produce-synced", 1000, ["produce", "--in-flight", 5, "--records", 15],
              pair.SYNCED),
        Calls("calls-fetch-1m", 1000, ["fetch"]),
        Calls("calls-one-record", 500, ["latency"], pair.PAGE_CACHE),
    ]
