"""Readers of committed records, on a hand-made log: no client of ours can write transactions before there is a
coordinator for them."""

import time

from tests.e2e.case import case, expect_equal
from tests.support import hand_made, kafka_tools
from tests.support.connection import Connection


def _log():
    """A log, its committed values, and all its values. The last stable offset is before "open"."""
    log = hand_made.Log(int(time.time() * 1000) - 60_000)
    committed, everything = [], []

    def write(value, producer=-1, commits=True, codec="none"):
        log.data(producer, count=2, value=value.encode(), codec=codec)
        everything.extend([value] * 2)
        committed.extend([value] * 2 if commits else [])

    write("plain")
    write("committed", 1)
    write("aborted", 2, commits=False)
    log.roll()
    write("committed too", 1, codec="gzip")
    log.marker(2, hand_made.ABORT)
    write("committed after an abort", 2)
    log.marker(1, hand_made.COMMIT)
    log.roll()
    write("aborted again", 3, commits=False)
    log.marker(2, hand_made.COMMIT)
    write("plain at the end")
    log.marker(3, hand_made.ABORT)
    write("open", 4, commits=False)
    write("behind the open one", commits=False)
    return log, committed, everything


def _consume(broker, topic, isolation, count):
    out = kafka_tools.run("kafka-console-consumer", "--bootstrap-server", broker.bootstrap, "--topic", topic,
                          "--isolation-level", isolation, "--from-beginning", "--max-messages", count,
                          "--timeout-ms", 8000, check=False).stdout
    return out.splitlines()


@case(smoke=True)
def read_committed(context):
    """The Java consumer gets exactly the committed records, and with read_uncommitted all of them; kept after
    an orderly stop and a kill."""
    broker, topic = context.own(), context.topic("transactions")
    with Connection(broker.port) as connection:
        topic_id = connection.create_topic(topic, 1, {"index.interval.bytes": 100})
    log, committed, everything = _log()
    broker.plant({(topic, 0): log.segments})
    for stop in (None, broker.stop, broker.kill9):
        if stop is not None:
            stop()
            broker.start()
        with Connection(broker.port) as connection:
            connection.wait_for_leader(topic_id)
        # One more than there are: it must not come.
        expect_equal(_consume(broker, topic, "read_committed", len(committed) + 1), committed, "read_committed")
        expect_equal(_consume(broker, topic, "read_uncommitted", len(everything)), everything, "read_uncommitted")
