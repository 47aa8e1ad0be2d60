"""Apache Kafka and Pelton as child processes behind one interface.

A broker keeps its port and its data directory across stop(), kill9() and start(), so that a test
restarts it under the eyes of its clients. Everything is bound to 127.0.0.1."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

from tests.support import kafka_tools, processes, wire

# Set on both brokers: one node, no waiting for further members of a group.
COMMON = {
    "group.initial.rebalance.delay.ms": "0",
    "num.partitions": "2",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
# After kill -9 Apache Kafka waits for the session of its own former incarnation: 9 s by default.
_QUICK_FAILOVER = {"broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "200"}
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"


class Broker:
    """What both brokers share. Subclasses give the command line and prepare the data directory."""

    name = ""
    start_limit = 60.0
    stop_limit = 5.0

    def __init__(self, work_dir):
        self.work_dir = pathlib.Path(work_dir)
        self.work_dir.mkdir(parents=True, exist_ok=True)
        self.data_dir = self.work_dir / "data"
        self.log_file = self.work_dir / "broker.log"
        self.port = processes.free_port()
        self.overrides = {}
        self._process = None

    def prepare(self):
        """Makes the data directory ready for a first start."""

    def command(self):
        raise NotImplementedError

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self):
        return self._process.pid

    def alive(self):
        return self._process is not None and self._process.poll() is None

    def start(self, overrides=None, data_dir=None, environment=None):
        """Starts (or starts again) and returns when a raw Metadata request is answered. Overrides
        stay in force for later starts. Sets start_seconds."""
        assert not self.alive(), f"{self.name} already runs"
        if overrides:
            self.overrides.update({key: str(value) for key, value in overrides.items()})
        if data_dir is not None:
            self.data_dir = pathlib.Path(data_dir)
        self.prepare()
        with open(self.log_file, "ab") as log:
            self._process = processes.spawn(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **(environment or {})}, cwd=self.work_dir)
        try:
            self.start_seconds = wire.wait_for_metadata(self.port, self.start_limit, self.alive)
        except AssertionError as problem:
            if self.alive():
                self.kill9()
            raise AssertionError(f"{self.name}: {problem}\n{self.log_tail()}") from None
        return self

    def stop(self):
        """SIGTERM; the seconds until the exit. Fails on a late or unclean exit."""
        self._process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        try:
            code = self._process.wait(self.stop_limit)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise AssertionError(f"{self.name} did not exit within {self.stop_limit} s of SIGTERM\n"
                                 f"{self.log_tail()}") from None
        if code not in self.clean_exits:
            raise AssertionError(f"{self.name} ended with {code} after SIGTERM\n{self.log_tail()}")
        return time.monotonic() - started

    def plant(self, logs):
        """Stops, puts hand-made segments, {(topic, partition): {base offset: bytes}}, in place of what the
        partitions hold, and starts again. The broker finds neither indexes nor checkpoints."""
        self.stop()
        for pattern in (".kafka_cleanshutdown", ".durable-offsets-*", "*-offset-checkpoint"):
            for path in self.data_dir.glob(pattern):
                path.unlink()
        for (topic, partition), segments in logs.items():
            folder = self.data_dir / f"{topic}-{partition}"
            for path in folder.iterdir():
                if path.name != "partition.metadata":
                    path.unlink()
            for base, batches in segments.items():
                (folder / f"{base:020}.log").write_bytes(batches)
        self.start()

    def kill9(self):
        self._process.kill()
        self._process.wait()

    def close(self):
        """Ends the broker whatever its state; for the end of a test."""
        if self.alive():
            self.kill9()

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_bytes(self):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"{self.name}: no VmRSS")

    def log_tail(self, lines=30):
        if not self.log_file.exists():
            return "(no log)"
        text = self.log_file.read_text(errors="backslashreplace").splitlines()
        return "\n".join(["--- broker log"] + text[-lines:])

    def partition_dirs(self, topic):
        return sorted(self.data_dir.glob(f"{topic}-[0-9]*"))


class ApacheKafka(Broker):
    """Apache Kafka 4.4.0, one node in KRaft combined mode, 1 GiB heap."""

    name = "kafka"
    stop_limit = 60.0
    clean_exits = (0, 143)

    def __init__(self, work_dir):
        super().__init__(work_dir)
        self.controller_port = processes.free_port()
        self.properties = self.work_dir / "server.properties"

    def prepare(self):
        write_properties(self.properties, combined_mode_properties(self) | _QUICK_FAILOVER)
        if not (self.data_dir / "meta.properties").exists():
            shutil.copytree(self._formatted(), self.data_dir, dirs_exist_ok=True)

    def command(self):
        flags = ["-XX:+UseG1GC", "-XX:TieredStopAtLevel=1" if self.fast_jit else "-server"]
        return kafka_tools.java("kafka.Kafka", self.properties, *override_arguments(self.overrides),
                                heap="1g", flags=["-Xms1g", *flags])

    # A test is over before the optimising compiler pays; a benchmark sets this to False.
    fast_jit = True

    def _formatted(self):
        """A formatted directory, made once: formatting costs a JVM start."""
        template = kafka_tools.libs().parent / "formatted"
        if not template.exists():
            making = self.work_dir / "formatting"
            settings = combined_mode_properties(self) | {"log.dirs": str(making)}
            write_properties(self.work_dir / "format.properties", settings)
            kafka_tools.run("kafka-storage", "format", "-t", CLUSTER_ID, "-c",
                            self.work_dir / "format.properties")
            shutil.copytree(making, f"{template}.{os.getpid()}")
            try:
                os.rename(f"{template}.{os.getpid()}", template)
            except OSError:  # another run was faster
                shutil.rmtree(f"{template}.{os.getpid()}")
        return template


class Pelton(Broker):
    """The broker of this tree; PELTON_BIN names another binary."""

    name = "pelton"
    start_limit = 20.0
    clean_exits = (0,)

    def __init__(self, work_dir):
        super().__init__(work_dir)
        self.binary = pelton_binary()

    def command(self):
        settings = COMMON | {"listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
                             "log.dirs": str(self.data_dir)} | self.overrides
        return [self.binary, *override_arguments(settings)]


def pelton_binary():
    default = processes.ROOT / "build" / "release" / "broker" / "pelton"
    return pathlib.Path(os.environ.get("PELTON_BIN", default)).resolve()


def combined_mode_properties(broker):
    """server.properties as Apache Kafka ships it for KRaft combined mode, with our ports."""
    return COMMON | {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{broker.controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{broker.port},"
                     f"CONTROLLER://127.0.0.1:{broker.controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{broker.port}",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
                                          "SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        "num.network.threads": "3",
        "num.io.threads": "8",
        "socket.send.buffer.bytes": "102400",
        "socket.receive.buffer.bytes": "102400",
        "socket.request.max.bytes": "104857600",
        "log.dirs": str(broker.data_dir),
        "num.recovery.threads.per.data.dir": "1",
        "log.retention.hours": "168",
        "log.segment.bytes": "1073741824",
        "log.retention.check.interval.ms": "300000",
    }


def write_properties(path, settings):
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))


def override_arguments(settings):
    return [part for key, value in settings.items() for part in ("--override", f"{key}={value}")]


def make(kind, work_dir):
    return {"kafka": ApacheKafka, "pelton": Pelton}[kind](work_dir)
