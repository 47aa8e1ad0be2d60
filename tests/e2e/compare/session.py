"""What a comparison script sees, and the transcript that is compared.

A script is a module with `def run(s)`; `s` is a Session with one broker. Each labelled call becomes a step:
its answer, decoded, goes into the transcript as it came; the script uses values of earlier answers (topic
ids, member ids) freely. The same script runs against both brokers with the same clock value `s.now`."""

import struct
import time

from tests.support import kafka_codec, wire
from tests.support.connection import Connection, batches

CLOSED = {"connection": "closed"}
SILENT = {"connection": "no answer"}
# Answers that say "not yet": Apache Kafka gives them for a moment after topics or groups come to life.
_PASSING = {14, 15, 16}


class Session:
    def __init__(self, broker, now):
        self.broker, self.now = broker, now
        self.steps = []  # (label, api or None, version, answer)
        self.topic_names = {}
        self.answered = set()  # (API, version), when the session is closed
        self._connections = []
        self.main = self.connect()

    # Recording.
    def note(self, label, value):
        """A fact that the script derived: compared as it is."""
        self.steps.append((label, None, 0, {"note": value}))

    def record(self, label, api, version, answer):
        self.steps.append((label, api, version, answer))

    # Talking.
    def connect(self, client_id="script"):
        connection = Connection(self.broker.port, client_id=client_id)
        self._connections.append(connection)
        return connection

    def call(self, label, api, version, values, on=None, fit=False):
        """Sends and records the answer; CLOSED or SILENT when the broker gave none."""
        connection = on or self.main
        try:
            answer = connection.call(api, version, values, fit)
        except kafka_codec.CodecError as problem:
            if connection.unanswered:  # the request is wrong, not the answer
                raise
            answer = {"undecodable": str(problem)}
        except ConnectionError:
            answer = CLOSED
        except TimeoutError:
            answer = SILENT
        if answer in (CLOSED, SILENT) and connection is self.main:
            self.main = self.connect()
        self.record(label, api, version, answer)
        return answer

    def patient(self, label, api, version, values, error_of, on=None):
        """As call(), but asks again while error_of(answer) is one of the coordinator's passing errors."""
        end = time.monotonic() + 20
        while True:
            answer = (on or self.main).call(api, version, values)
            if error_of(answer) not in _PASSING or time.monotonic() > end:
                self.record(label, api, version, answer)
                return answer
            time.sleep(0.05)

    def raw(self, label, frame, api, version):
        """Sends bytes on a connection of their own and records the answer or its close."""
        with wire.connect(self.broker.port) as connection:
            connection.sendall(frame)
            try:
                _, answer = kafka_codec.decode_response(api, version, wire.receive(connection))
                self.answered.add((api, version))
            except ConnectionError:
                answer = CLOSED
        self.record(label, api, version, answer)
        return answer

    def topic(self, name, partitions=1, configs=None):
        """A topic ready for use; its id. Not a step."""
        topic_id = self.main.create_topic(name, partitions, configs)
        self.topic_names[topic_id] = name
        return topic_id

    def plant(self, logs):
        """Stops the broker, puts hand-made segments, {(topic, partition): {base offset: bytes}}, in place of
        what the partitions hold, and starts it again. It finds neither indexes nor checkpoints."""
        self.close()
        self.broker.plant(logs)
        self._connections.clear()
        self.main = self.connect()
        for topic_id, name in self.topic_names.items():
            for (topic, partition), segments in logs.items():
                if topic == name:
                    self.main.wait_for_leader(topic_id, partition)
                    self._wait_committed(topic_id, partition, segments)

    def _wait_committed(self, topic_id, partition, segments):
        """Apache Kafka's leader takes requests a moment before its high watermark is at the log's end."""
        base, count = batches(next(data for _, data in sorted(segments.items(), reverse=True) if data))[-1]
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if self.main.fetch(topic_id, partition, base + count, max_wait=0)["HighWatermark"] == base + count:
                return
            time.sleep(0.01)
        raise AssertionError(f"the high watermark of partition {partition} does not reach {base + count}")

    def waited(self, label, since, low, high):
        """Notes whether the time since `since` (time.monotonic) lies in a range of seconds."""
        seconds = time.monotonic() - since
        self.note(label, "in time" if low <= seconds < high else f"after {seconds:.2f} s")

    def close(self):
        for connection in self._connections:
            self.answered |= connection.answered
            connection.close()


def produce_body(topics, acks=-1, **more):
    """[(name or id, [(partition, records)])] as a Produce request."""
    return {"Acks": acks, "TimeoutMs": 10000, **more, "TopicData": [
        {_key(topic, "Name"): topic, "PartitionData": [
            {"Index": partition, "Records": records} for partition, records in partitions]}
        for topic, partitions in topics]}


def fetch_body(topics, max_wait=0, min_bytes=1, max_bytes=1 << 24, session=0, epoch=-1, forgotten=(),
               isolation=0):
    """[(name or id, [(partition, offset, {more fields})])] as a Fetch request."""
    return {"MaxWaitMs": max_wait, "MinBytes": min_bytes, "MaxBytes": max_bytes, "SessionId": session,
            "SessionEpoch": epoch, "IsolationLevel": isolation, "Topics": [
                {_key(topic, "Topic"): topic, "Partitions": [
                    {"Partition": partition, "FetchOffset": offset, "PartitionMaxBytes": 1 << 20, **more}
                    for partition, offset, more in partitions]} for topic, partitions in topics],
            "ForgottenTopicsData": [{_key(topic, "Topic"): topic, "Partitions": partitions}
                                    for topic, partitions in forgotten]}


def _key(topic, name):
    return "TopicId" if isinstance(topic, bytes) else name


def values_of(batches):
    """The record values in fetched, uncompressed batches."""
    found, position = [], 0
    while position + 61 <= len(batches):
        (size,) = struct.unpack_from(">i", batches, position + 8)
        found.append(batches[position + 61:position + 12 + size])
        position += 12 + size
    return found
