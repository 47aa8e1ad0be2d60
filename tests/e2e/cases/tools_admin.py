"""Apache Kafka's tools for records, log directories and producers."""

import json
import re

from tests.e2e.case import case, expect, expect_equal
from tests.e2e.cases.tools import tool
from tests.e2e.cases.tools_options import filled
from tests.support import kafka_tools


@case()
def delete_records(context):
    """Records before an offset, and all records, of a partition; the log goes on behind them."""
    broker = context.shared()
    name, _ = filled(context, "deleted")
    plan = context.folder("plan") / "offsets.json"

    def delete(offsets):
        plan.write_text(json.dumps({"version": 1, "partitions": [
            {"topic": name, "partition": partition, "offset": offset} for partition, offset in offsets]}))
        said = tool(broker, "kafka-delete-records", "--offset-json-file", plan)
        return {int(partition): int(mark) for partition, mark in
                re.findall(rf"partition: {name}-(\d)\tlow_watermark: (\d+)", said)}

    expect_equal(delete([(0, 5), (1, 0)]), {0: 5, 1: 0}, "low watermarks")
    expect_equal(delete([(1, -1)]), {1: 10}, "low watermark of all records")
    said = tool(broker, "kafka-get-offsets", "--topic", name, "--time", "earliest")
    expect_equal(sorted(said.split()), [f"{name}:0:5", f"{name}:1:10"], "earliest")
    said = tool(broker, "kafka-console-consumer", "--topic", name, "--from-beginning", "--max-messages", 15,
                "--timeout-ms", 20000, "--formatter-property", "print.offset=true",
                "--formatter-property", "print.value=false")
    expect_equal(said.split(), [f"Offset:{offset}" for offset in range(5, 20)], "what is left")
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "offset": 99}]}))
    done = kafka_tools.run("kafka-delete-records", "--bootstrap-server", broker.bootstrap,
                           "--offset-json-file", plan, check=False)
    expect("OffsetOutOfRangeException" in done.stdout, done.stdout + done.stderr)


@case()
def log_dirs(context):
    """The sizes that the tool shows are those of the segment files."""
    broker = context.shared()
    name, _ = filled(context, "sizes")
    for which in (["--topic-list", name], ["--topic-list", name, "--broker-list", 1]):
        said = tool(broker, "kafka-log-dirs", "--describe", *which)
        (shown,) = json.loads(said.splitlines()[-1])["brokers"]
        (folder,) = shown["logDirs"]
        expect_equal((shown["broker"], folder["error"], folder["logDir"]),
                     (1, None, str(broker.data_dir)), said)
        sizes = {entry["partition"]: (entry["size"], entry["offsetLag"], entry["isFuture"])
                 for entry in folder["partitions"]}
        wanted = {path.name: (sum(f.stat().st_size for f in path.glob("*.log")), 0, False)
                  for path in broker.partition_dirs(name)}
        expect_equal(sizes, wanted, "sizes")


@case()
def producers(context):
    """kafka-transactions describe-producers shows the idempotent producer of a partition."""
    broker = context.shared()
    name, _ = filled(context, "producers")
    said = tool(broker, "kafka-transactions", "describe-producers", "--topic", name, "--partition", 0)
    (row,) = [line.split() for line in said.splitlines()[1:]]
    expect_equal((row[1], row[3], row[5]), ("0", "19", "None"), said)
