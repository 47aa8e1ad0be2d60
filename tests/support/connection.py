"""A raw connection that speaks through kafka_codec: requests as dictionaries, answers as dictionaries."""

import itertools
import struct
import time

from tests.support import kafka_codec, wire


class Connection:
    """One socket. send() and receive() apart allow pipelining; call() does both."""

    def __init__(self, port, timeout=20.0, client_id="script", host="127.0.0.1"):
        self.socket = wire.connect(port, timeout, host)
        self.client_id = client_id
        self._correlation = itertools.count(100)
        self._expected = []
        self.answered = set()  # (API, version) of every answer so far

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    @property
    def unanswered(self):
        """How many requests wait for their answer."""
        return len(self._expected)

    def send(self, api, version, values, fit=False, answered=True):
        correlation = next(self._correlation)
        if fit:
            values = kafka_codec.fitting(api, version, values)
        self.socket.sendall(
            kafka_codec.encode_request(api, version, correlation, values, self.client_id))
        if answered:
            self._expected.append((api, version, correlation))

    def receive(self):
        """The next answer; it must answer the oldest request."""
        api, version, correlation = self._expected.pop(0)
        got, body = kafka_codec.decode_response(api, version, wire.receive(self.socket))
        if got != correlation:
            raise AssertionError(f"{api}: correlation id {got} instead of {correlation}")
        self.answered.add((api, version))
        return body

    def call(self, api, version, values, fit=False):
        self.send(api, version, values, fit)
        return self.receive()

    # The calls that many tests need, in one version each.
    def create_topic(self, name, partitions=1, configs=None):
        """Creates a topic and waits until every partition has a leader; its id."""
        configs = [{"Name": key, "Value": str(value)} for key, value in (configs or {}).items()]
        answer = self.call("CreateTopics", 7, {"timeoutMs": 30000, "Topics": [
            {"Name": name, "NumPartitions": partitions, "ReplicationFactor": 1, "Configs": configs}]})
        created = answer["Topics"][0]
        if created["ErrorCode"] != 0:
            raise AssertionError(f"create {name}: {created}")
        for partition in range(partitions):
            self.wait_for_leader(created["TopicId"], partition)
        return created["TopicId"]

    def wait_for_leader(self, topic_id, partition=0):
        """Apache Kafka answers CreateTopics, and starts, a moment before the leader takes requests."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            answer = self.fetch(topic_id, partition, 0, max_wait=0)
            if answer["ErrorCode"] == 0:
                return
            time.sleep(0.001)
        raise AssertionError(f"partition {partition} without a leader: {answer}")

    def produce(self, topic_id, partition, records, acks=-1, version=13):
        """Produces to one partition; its part of the answer."""
        answer = self.call("Produce", version, {"Acks": acks, "TimeoutMs": 10000, "TopicData": [
            {"TopicId": topic_id, "PartitionData": [{"Index": partition, "Records": records}]}]})
        return answer["Responses"][0]["PartitionResponses"][0]

    def fetch(self, topic_id, partition, offset, max_wait=500, min_bytes=1):
        """Fetches from one partition without a session; its part of the answer."""
        answer = self.call("Fetch", 17, {
            "MaxWaitMs": max_wait, "MinBytes": min_bytes, "SessionEpoch": -1, "Topics": [
                {"TopicId": topic_id, "Partitions": [
                    {"Partition": partition, "FetchOffset": offset, "PartitionMaxBytes": 1 << 20}]}]})
        return answer["Responses"][0]["Partitions"][0]


def batches(data):
    """(base offset, record count) of each whole batch in fetched records."""
    found, position = [], 0
    while position + 61 <= len(data):
        base, size = struct.unpack_from(">qi", data, position)
        if position + 12 + size > len(data):
            break
        (count,) = struct.unpack_from(">i", data, position + 57)
        found.append((base, count))
        position += 12 + size
    return found
