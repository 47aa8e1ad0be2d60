"""DescribeLogDirs: sizes of partitions, filters, every version."""

from tests.e2e.compare.session import produce_body
from tests.support.kafka_codec import batch


def run(s):
    topics = {name: s.topic(name, partitions) for name, partitions in (("sized", 3), ("sized-too", 1))}
    for number in range(5):
        records = batch([(b"k%d" % number, b"v" * 100 * number)], timestamp=s.now)
        s.main.call("Produce", 13, produce_body([(topics["sized"], [(number % 2, records)])]))

    def ask(label, version, topics):
        answer = s.main.call("DescribeLogDirs", version, {"Topics": topics})
        for result in answer["Results"]:
            result["LogDir"] = result["LogDir"] == str(s.broker.data_dir)
            result["Topics"] = [topic for topic in result["Topics"] if topic["Name"].startswith("sized")]
            for field in ("TotalBytes", "UsableBytes"):
                if field in result:
                    result[field] = result[field] > 1 << 20
        s.record(f"{label} v{version}", "DescribeLogDirs", version, answer)

    for version in range(1, 6):
        ask("all", version, None)
        ask("nothing", version, [])
        ask("some", version, [{"Topic": "sized", "Partitions": [1, 0]}, {"Topic": "sized-too", "Partitions": [0]}])
        ask("a topic without partitions", version, [{"Topic": "sized", "Partitions": []}])
        ask("named again", version, [{"Topic": "sized", "Partitions": [1, 1]}, {"Topic": "sized", "Partitions": [1]}])
        ask("not there", version, [{"Topic": "sized", "Partitions": [7, -1]}, {"Topic": "sized-none", "Partitions": [0]}])
