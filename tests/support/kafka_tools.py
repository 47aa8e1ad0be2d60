"""Apache Kafka's unmodified command-line tools, run as their start scripts do but with a small heap
and without a shell."""

import functools
import os
import pathlib
import subprocess

from tests.support import processes

CLASSES = {
    "client-compatibility": "org.apache.kafka.tools.ClientCompatibilityTest",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "org.apache.kafka.tools.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-e2e-latency": "org.apache.kafka.tools.EndToEndLatency",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-replica-verification": "org.apache.kafka.tools.ReplicaVerificationTool",
    "kafka-server": "kafka.Kafka",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-streams-application-reset": "org.apache.kafka.tools.StreamsResetter",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
}

_FAST_START = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]


@functools.cache
def libs():
    """The folder of Apache Kafka's jars; assembles it the first time."""
    fetch = processes.ROOT / "tests" / "support" / "fetch_kafka"
    done = processes.run([fetch], timeout=600)
    return pathlib.Path(done.stdout.strip())


def classpath(*extra):
    return ":".join([str(part) for part in extra] + [f"{libs()}/*"])


def java(main_class, *arguments, heap="256m", flags=None, extra_classpath=()):
    """The command line of a JVM that runs `main_class` with Apache Kafka's jars."""
    options = _FAST_START if flags is None else flags
    return ["java", f"-Xmx{heap}", *options,
            f"-Dlog4j2.configurationFile={libs().parent / 'log4j2.properties'}",
            "-cp", classpath(*extra_classpath), main_class, *map(str, arguments)]


def command(tool, *arguments, **options):
    return java(CLASSES[tool], *arguments, **options)


def run(tool, *arguments, timeout=60, check=True, **options):
    """Runs a tool to its end: stdout, stderr, returncode as text. The classes that the first kafka-topics
    loads are kept in an archive, with which every later tool starts in half the time."""
    archive = libs().parent / "tools.jsa"
    fresh = archive.with_suffix(f".{os.getpid()}")
    training = tool == "kafka-topics" and not archive.exists()
    sharing = f"-XX:ArchiveClassesAtExit={fresh}" if training else f"-XX:SharedArchiveFile={archive}"
    # The JVM would say on standard output that it cannot use an archive, or archive a class.
    flags = [*_FAST_START, "-Xlog:disable", sharing]
    done = processes.run(command(tool, *arguments, flags=flags), timeout=timeout, check=check, **options)
    if training and fresh.exists():
        fresh.rename(archive)
    return done


def start(tool, *arguments, **options):
    """Starts a tool in the background (verifiable producer, console consumer, ...)."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    return processes.spawn(command(tool, *arguments), text=True, **options)
