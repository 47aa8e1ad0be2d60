"""Command-line tools of older versions of Apache Kafka."""

from tests.support import java_clients, processes

_MAIN = {
    "3.9.2": {"broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
              "consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
              "get-offsets": "org.apache.kafka.tools.GetOffsetShell",
              "topics": "org.apache.kafka.tools.TopicCommand",
              "verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
              "verifiable-producer": "org.apache.kafka.tools.VerifiableProducer"},
    "2.8.2": {"broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
              "consumer-groups": "kafka.admin.ConsumerGroupCommand",
              "get-offsets": "kafka.tools.GetOffsetShell",
              "topics": "kafka.admin.TopicCommand",
              "verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
              "verifiable-producer": "org.apache.kafka.tools.VerifiableProducer"},
}


def run(version, tool, broker, *arguments, timeout=60):
    """Runs a tool of one version to its end; its standard output. An error in its log is a failure."""
    address = "--broker-list" if (version, tool) == ("2.8.2", "get-offsets") else "--bootstrap-server"
    libraries = java_clients.libraries("tools_pom.xml", version)
    command = ["java", "-Xmx256m", *java_clients.FLAGS, "-cp", f"{java_clients.SOURCES}:{libraries}/*",
               _MAIN[version][tool], address, broker.bootstrap, *arguments]
    done = processes.run(command, timeout=timeout)
    if "ERROR" in done.stderr:
        raise AssertionError(f"{tool} of {version} complained: {done.stderr[-2000:]}")
    return done.stdout
