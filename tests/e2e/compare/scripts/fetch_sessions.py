"""Incremental fetch sessions: creation, no news, news, changes of the set, errors, the end."""

from tests.e2e.compare.session import fetch_body, produce_body
from tests.support.kafka_codec import batch


def run(s):
    topic, other = s.topic("sessions", 3), s.topic("sessions-other", 1)

    def produce(topic, partition):
        s.main.call("Produce", 13, produce_body([(topic, [(partition, batch([(b"k", b"v")]))])]))

    def fetch(label, topics, version=17, **more):
        return s.call(label, "Fetch", version, fetch_body(topics, **more))

    for version in (7, 12, 17):
        key = topic if version >= 13 else "sessions"
        answer = fetch(f"new session v{version}", [(key, [(0, 0, {}), (1, 0, {})])], version, epoch=0)
        s.note(f"session given v{version}", answer["SessionId"] != 0)
        fetch(f"no news v{version}", [], version, session=answer["SessionId"], epoch=1)
        fetch(f"end v{version}", [], version, session=answer["SessionId"], epoch=-1)
    session = fetch("new session", [(topic, [(0, 0, {}), (1, 0, {})])], epoch=0)["SessionId"]
    produce(topic, 1)
    fetch("news in one partition", [], session=session, epoch=1)
    fetch("the same again, as not moved on", [], session=session, epoch=2)
    fetch("moved on", [(topic, [(1, 1, {})])], session=session, epoch=3)
    fetch("one more partition", [(topic, [(2, 0, {})]), (other, [(0, 0, {})])], session=session, epoch=4)
    produce(topic, 2)
    produce(other, 0)
    fetch("news in the new ones", [], session=session, epoch=5)
    fetch("forgotten", [], session=session, epoch=6, forgotten=[(topic, [2]), (other, [0])])
    fetch("forgotten twice", [], session=session, epoch=7, forgotten=[(topic, [2])])
    fetch("out of range", [(topic, [(0, 50, {})])], session=session, epoch=8)
    fetch("still out of range", [], session=session, epoch=9)
    fetch("unknown partition", [(topic, [(0, 0, {}), (9, 0, {})])], session=session, epoch=10)
    fetch("still unknown", [], session=session, epoch=11)
    fetch("unknown topic id", [(b"\x33" * 16, [(0, 0, {})])], session=session, epoch=12)
    fetch("epoch repeated", [], session=session, epoch=12)
    fetch("epoch skipped", [], session=session, epoch=20)
    fetch("right epoch after wrong ones", [], session=session, epoch=13)
    fetch("unknown session", [], session=session ^ 0x5A5A, epoch=1)
    fetch("negative session", [], session=-5, epoch=1)
    fetch("full fetch in place of the session", [(topic, [(1, 0, {})])], session=session, epoch=0)
    fetch("the old session afterwards", [], session=session, epoch=14)
    fetch("no session with epoch 5", [(topic, [(1, 0, {})])], session=0, epoch=5)
    fetch("no session with epoch -1", [(topic, [(1, 0, {})])], session=0, epoch=-1)
