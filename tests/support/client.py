"""What all clients of the end-to-end tests share: each runs jobs (dictionaries) in a process of its own."""

import json

from tests.support import processes

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Client:
    """A client that understands the jobs create, write and read. Jobs go in as JSON lines, one answer
    line comes back for each."""

    name = ""
    # Needs a long install or a long run: only with --all.
    long = False
    # Codec -> why this client lacks it.
    missing = {}
    # Codec -> why this client cannot read it from every other client.
    unreadable = {}
    # False: reads partitions from given offsets, because the client knows no groups.
    groups = True
    # False: the broker's clock stamps what it writes.
    sets_timestamps = True
    # False: when it reads, an empty key, value or header value and null look the same.
    tells_empty_from_null = True
    # What it keeps of the order of headers and of repeated names (records.py has the forms).
    headers = "list"
    reads_null_headers = True
    # What it cannot write (records.py has the list).
    unable = ()
    # True: it can only say what records.py calls plain.
    plain = False

    def command(self, bootstrap):
        raise NotImplementedError

    def codecs(self):
        return [codec for codec in CODECS if codec not in self.missing]

    def run(self, bootstrap, jobs, timeout=120):
        """Runs the jobs in order in one process; the `done` count of each."""
        text = "".join(json.dumps(job) + "\n" for job in jobs)
        done = processes.run(self.command(bootstrap), timeout=timeout, input=text)
        counts = [json.loads(line)["done"] for line in done.stdout.splitlines() if line.startswith("{")]
        if len(counts) != len(jobs):
            raise AssertionError(f"{self.name}: {len(counts)} of {len(jobs)} jobs answered\n"
                                 f"stdout: {done.stdout[-2000:]}\nstderr: {done.stderr[-2000:]}")
        return counts


class Program(Client):
    """A client whose command line a function gives: command_of(bootstrap)."""

    def __init__(self, name, command_of, **traits):
        self.name = name
        self._command_of = command_of
        for trait, value in traits.items():
            if not hasattr(Client, trait):
                raise AttributeError(trait)
            setattr(self, trait, value)

    def command(self, bootstrap):
        return self._command_of(bootstrap)
