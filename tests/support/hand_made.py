"""Logs made by hand, batch by batch, for what no client can write (yet): open and ended transactions."""

import struct

from tests.support.kafka_codec import batch, record

TRANSACTIONAL, CONTROL = 0x10, 0x20
ABORT, COMMIT = 0, 1


class Log:
    """Batches one after another, in one or several segments. Record n is of time now + n."""

    def __init__(self, now):
        self.now, self.next, self.base = now, 0, 0
        self.segments, self.sequences = {0: b""}, {}

    def roll(self):
        self.base = self.next
        self.segments[self.base] = b""

    def _add(self, count, records, **fields):
        self.segments[self.base] += batch(records, base_offset=self.next, timestamp=self.now + self.next,
                                          leader_epoch=0, **fields)
        self.next += count

    def data(self, producer=-1, epoch=0, count=1, transactional=True, codec="none", value=b"v" * 40):
        """`count` records; producer -1: none."""
        attributes = TRANSACTIONAL if producer >= 0 and transactional else 0
        sequence = self.sequences.get((producer, epoch), 0)
        self.sequences[producer, epoch] = sequence + count
        if producer < 0:
            epoch = sequence = -1
        self._add(count, [(b"k", value)] * count, producer_id=producer, producer_epoch=epoch,
                  sequence=sequence, attributes=attributes, codec=codec)

    def marker(self, producer, kind, epoch=0, coordinator_epoch=0):
        key, value = struct.pack(">hh", 0, kind), struct.pack(">hi", 0, coordinator_epoch)
        self._add(1, [record(0, key, value)], producer_id=producer, producer_epoch=epoch,
                  attributes=TRANSACTIONAL | CONTROL)
