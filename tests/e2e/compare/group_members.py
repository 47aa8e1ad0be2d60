"""Members of classic groups for comparison scripts: each has a connection of its own, so that its JoinGroup may
wait while others act."""

import struct
import time

_RETRIED = {14, 15, 16}


def wait_for_coordinators(connection, groups=256):
    """Apache Kafka creates __consumer_offsets, elects leaders and loads coordinators one after another; until
    then some groups get errors that pass. Returns when every partition's coordinator answers."""
    names = [f"is-there-{number}" for number in range(groups)]  # some for each partition
    end = time.monotonic() + 30
    while True:
        found = connection.call("FindCoordinator", 4, {"CoordinatorKeys": names[:1]})
        errors = {found["Coordinators"][0]["ErrorCode"]}
        if errors == {0}:
            described = connection.call("DescribeGroups", 5, {"Groups": names})
            errors = {group["ErrorCode"] for group in described["Groups"]}
        if errors == {0}:
            return
        if time.monotonic() > end or not errors <= _RETRIED | {0}:
            raise AssertionError(f"coordinators do not answer: {errors}")
        time.sleep(0.05)


def subscription(*topics, owned=()):
    """A consumer's metadata, version 1."""
    data = struct.pack(">hi", 1, len(topics))
    for topic in topics:
        data += struct.pack(">h", len(topic)) + topic.encode()
    return data + struct.pack(">ii", -1, len(owned))


class Member:
    """Requests of one member; every answer is a step of the script, labelled with the member's name."""

    def __init__(self, s, group, name, instance=None, version=5, type="consumer", protocols=(("range", b"meta"),),
                 session=10000, rebalance=10000):
        self.s, self.group, self.name, self.instance, self.version = s, group, name, instance, version
        self.type, self.protocols, self.session, self.rebalance = type, list(protocols), session, rebalance
        self.id, self.generation, self.leads = "", -1, False
        self.connection = s.connect(f"client-of-{name}")

    def body(self, **more):
        body = {"GroupId": self.group, "SessionTimeoutMs": self.session, "RebalanceTimeoutMs": self.rebalance,
                "MemberId": self.id, "ProtocolType": self.type,
                "Protocols": [{"Name": name, "Metadata": data} for name, data in self.protocols], **more}
        if self.version >= 5:
            body["GroupInstanceId"] = self.instance
        return body

    def take_id(self):
        """The id that a dynamic member is given before it joins (from version 4 on)."""
        answer = self.connection.call("JoinGroup", self.version, self.body(MemberId=""))
        assert answer["ErrorCode"] == 79, answer
        self.id = answer["MemberId"]
        return self

    def send_join(self, **more):
        self.connection.send("JoinGroup", self.version, self.body(**more))
        return self

    def joined(self, label="joined"):
        """The answer to send_join()."""
        answer = self.connection.receive()
        self.s.record(f"{self.name} {label}", "JoinGroup", self.version, answer)
        if answer["ErrorCode"] == 0:
            self.id, self.generation = answer["MemberId"], answer["GenerationId"]
            self.leads = answer["Leader"] == answer["MemberId"]
        return answer

    def join(self, label="joined", **more):
        if not self.id and self.instance is None and self.version >= 4:
            self.take_id()
        return self.send_join(**more).joined(label)

    def send_sync(self, assignments=(), **more):
        body = {"GroupId": self.group, "GenerationId": self.generation, "MemberId": self.id,
                "GroupInstanceId": self.instance, **more, "Assignments": [
                    {"MemberId": member.id, "Assignment": data} for member, data in assignments]}
        self.connection.send("SyncGroup", 3, body)
        return self

    def synced(self, label="synced"):
        answer = self.connection.receive()
        self.s.record(f"{self.name} {label}", "SyncGroup", 3, answer)
        return answer

    def sync(self, assignments=(), label="synced", **more):
        return self.send_sync(assignments, **more).synced(label)

    def heartbeat(self, label="heartbeat", **more):
        return self.s.call(f"{self.name} {label}", "Heartbeat", 4, {
            "GroupId": self.group, "GenerationId": self.generation, "MemberId": self.id,
            "GroupInstanceId": self.instance, **more})

    def wait_for(self, error, label="is told", seconds=20):
        """Heartbeats until one is answered so; the others are no steps."""
        end = time.monotonic() + seconds
        body = {"GroupId": self.group, "GenerationId": self.generation, "MemberId": self.id,
                "GroupInstanceId": self.instance}
        with_own = self.s.main
        while True:
            answer = with_own.call("Heartbeat", 4, body)
            if answer["ErrorCode"] == error or time.monotonic() > end:
                break
            time.sleep(0.02)
        self.s.record(f"{self.name} {label}", "Heartbeat", 4, answer)

    def commit(self, label, topic, offset, version=9, **more):
        return self.s.call(f"{self.name} {label}", "OffsetCommit", version, {
            "GroupId": self.group, "GenerationIdOrMemberEpoch": self.generation, "MemberId": self.id,
            "GroupInstanceId": self.instance, **more, "Topics": [{"Name": topic, "Partitions": [
                {"PartitionIndex": 0, "CommittedOffset": offset, "CommittedMetadata": ""}]}]})

    def leave(self, label="leaves", **more):
        return self.s.call(f"{self.name} {label}", "LeaveGroup", 5, {"GroupId": self.group, "Members": [
            {"MemberId": self.id, "GroupInstanceId": self.instance, **more}]})

    def abandon(self):
        """Its connection goes, without a word."""
        self.connection.close()


def stable_pair(s, group, protocols=(("range", b"meta"),), **more):
    """Two members of a stable group; the first one leads."""
    one, two = (Member(s, group, name, protocols=protocols, **more) for name in ("one", "two"))
    one.join("joins alone")
    one.sync([(one, b"all")], "has all")
    rejoin_both(s, one, two)
    return one, two


def rejoin_both(s, one, two, assignments=(b"first's", b"second's")):
    """`two` joins anew, `one` again; the leader assigns."""
    if not two.id and two.instance is None:
        two.take_id()
    two.send_join()
    one.wait_for(27)
    one.send_join()
    one.joined("joined with two")
    two.joined("joined with one")
    leader, follower = (one, two) if one.leads else (two, one)
    s.note(f"{one.group}: who leads", leader.name)
    follower.send_sync()
    leader.send_sync(list(zip((one, two), assignments)))
    one.synced("synced with two")
    two.synced("synced with one")
