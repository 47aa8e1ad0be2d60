"""A server.properties as Apache Kafka uses it in KRaft combined mode starts the broker unchanged."""

from tests.e2e.case import case, expect, expect_equal
from tests.support import brokers, kafka_tools
from tests.support.connection import Connection


@case(smoke=True, brokers=("pelton",))
def kraft_combined_mode(context):
    """On an empty directory: node.id is honoured, the quorum's keys get one notice."""
    broker = _with_properties(context, {"node.id": "7"})
    broker.start()
    described = _describe(broker)
    expect_equal([row["BrokerId"] for row in described["Brokers"]], [7], "broker ids")
    expect_equal([row["Port"] for row in described["Brokers"]], [broker.port], "ports")
    expect_equal(described["ControllerId"], 7, "controller id")
    expect_equal(len(described["ClusterId"]), 22, "length of the cluster id")
    meta = (broker.data_dir / "meta.properties").read_text()
    expect("node.id=7\n" in meta, meta)
    expect(f"cluster.id={described['ClusterId']}\n" in meta, meta)
    notices = [line for line in broker.log_file.read_text().splitlines() if "controller.quorum" in line]
    expect_equal(len(notices), 1, f"notices about the quorum: {notices}")
    broker.stop()
    broker.start()
    expect_equal(_describe(broker)["ClusterId"], described["ClusterId"], "cluster id after a restart")


@case(smoke=True, brokers=("pelton",))
def formatted_by_kafka(context):
    """On a directory that kafka-storage formatted: its cluster id is honoured."""
    broker = _with_properties(context, {})
    kafka_tools.run("kafka-storage", "format", "-t", brokers.CLUSTER_ID, "-c", broker.properties)
    broker.start()
    expect_equal(_describe(broker)["ClusterId"], brokers.CLUSTER_ID, "cluster id")
    with Connection(broker.port) as connection:
        connection.create_topic("formatted", 2)
    broker.stop()
    broker.start()
    with Connection(broker.port) as connection:
        answer = connection.call("Metadata", 12, {"Topics": [{"Name": "formatted"}]})
        expect_equal(len(answer["Topics"][0]["Partitions"]), 2, "partitions after a restart")


@case(smoke=True, brokers=("pelton",))
def environment(context):
    """KAFKA_* variables set keys; --override wins over them."""
    broker = context.own_unstarted()
    broker.start(context.overrides, environment={"KAFKA_NODE_ID": "9", "KAFKA_NUM_PARTITIONS": "5"})
    with Connection(broker.port) as connection:
        answer = connection.call("Metadata", 12, {"Topics": [{"Name": "by-environment"}],
                                                  "AllowAutoTopicCreation": True})
        expect_equal([row["NodeId"] for row in answer["Brokers"]], [9], "node ids")
        answer = connection.call("Metadata", 12, {"Topics": [{"Name": "by-environment"}]})
        wanted = int(brokers.COMMON["num.partitions"])
        expect_equal(len(answer["Topics"][0]["Partitions"]), wanted, "partitions, by --override")


class _PeltonWithProperties(brokers.Pelton):
    """Pelton started with a properties file alone, as a user of Apache Kafka would."""

    def __init__(self, work_dir, changes, overrides):
        super().__init__(work_dir)
        self.controller_port = brokers.processes.free_port()
        self.properties = self.work_dir / "server.properties"
        settings = brokers.combined_mode_properties(self) | changes | overrides
        settings["controller.quorum.voters"] = f"{settings['node.id']}@127.0.0.1:{self.controller_port}"
        brokers.write_properties(self.properties, settings)

    def command(self):
        return [self.binary, self.properties]


def _with_properties(context, changes):
    return context.adopt(_PeltonWithProperties(context.folder("broker"), changes, context.overrides))


def _describe(broker):
    with Connection(broker.port) as connection:
        return connection.call("DescribeCluster", 0, {})
