"""What a case sees: the broker under test, a work folder, and checks that say what they saw."""

import contextlib
import pathlib
import shutil

from tests.support import brokers


class Skip(Exception):
    """The case cannot say anything on this machine or broker; the text says why."""


def case(smoke=False, long=False, brokers=("pelton", "kafka")):
    """Marks a function of a case file. It takes a Context; an exception is its failure. A long case runs
    with --all, or when it is named."""

    def mark(function):
        function.is_case = True
        function.smoke = smoke
        function.long = long
        function.brokers = brokers
        return function

    return mark


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def expect_equal(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


class Context:
    """One run: which broker, where its files go, overrides of the command line, and whether the long
    cases (and the clients that take long) take part."""

    def __init__(self, kind, work_dir, overrides, long=False):
        self.kind = kind
        self.work_dir = pathlib.Path(work_dir)
        self.overrides = overrides
        self.long = long
        self._notes = []
        self._shared = None
        self._own = []
        self._names = 0

    def shared(self):
        """The broker that cases share. A case that restarts or loads a broker takes its own."""
        if self._shared is None:
            self._shared = brokers.make(self.kind, self.work_dir / "shared")
        if not self._shared.alive():
            self._shared.start(self.overrides)
        return self._shared

    def own(self, overrides=None, kind=None):
        """A broker of this case alone, started; it ends with the case."""
        broker = self.own_unstarted(kind)
        return broker.start(self.overrides | (overrides or {}))

    def own_unstarted(self, kind=None):
        return self.adopt(brokers.make(kind or self.kind, self.folder("broker")))

    def adopt(self, broker):
        """Lets the broker end with the case."""
        self._own.append(broker)
        return broker

    def folder(self, name):
        """A new empty folder for this run."""
        self._names += 1
        path = self.work_dir / f"{name}-{self._names}"
        path.mkdir(parents=True)
        return path

    def topic(self, stem="topic"):
        """A topic name that no other case of this run uses."""
        self._names += 1
        return f"{stem}-{self._names}"

    def note(self, text):
        """Something that the run's output should say: what was left out, and why."""
        self._notes.append(text)

    def take_notes(self):
        notes, self._notes = self._notes, []
        return notes

    def end_case(self, failed):
        """Ends the case's own brokers; on a failure returns the logs' last lines."""
        logs = []
        if failed:
            for broker in self._own + ([self._shared] if self._shared else []):
                logs.append(broker.log_tail())
        for broker in self._own:
            broker.close()
            if not failed:
                shutil.rmtree(broker.work_dir, ignore_errors=True)
        self._own.clear()
        return "\n".join(logs)

    def shared_died(self):
        return self._shared is not None and not self._shared.alive()

    @contextlib.contextmanager
    def running(self):
        try:
            yield self
        finally:
            self.end_case(False)
            if self._shared is not None:
                self._shared.close()
