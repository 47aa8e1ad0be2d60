"""What a sample is taken with: CPU of a broker, kernel worker threads, what else the machine did,
and the outputs of the tools and of strace. Nothing here knows the rows."""

import json
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import threading
import time

from tests.support import kafka_tools, processes

PROGRAMS = (processes.ROOT / os.environ.get("PELTON_BUILD_DIR", "build/release") / "bench" / "load")
HERE = pathlib.Path(__file__).resolve().parent
# The same for both brokers. The default compilers: a perf tool runs long enough for them to pay.
CLIENT_FLAGS = ["-XX:+UseSerialGC", "-Xshare:auto"]
CLIENT_HEAP = "512m"
_TICK = os.sysconf("SC_CLK_TCK")
_PRODUCER_LINE = re.compile(
    r"^(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\), ([\d.]+) ms avg latency, "
    r"([\d.]+) ms max latency, (\d+) ms 50th", re.MULTILINE)


def program(name, *arguments, timeout=120):
    """Runs one of the suite's own programs and returns the JSON object it prints."""
    done = processes.run([PROGRAMS / name, *arguments], timeout=timeout)
    return json.loads(done.stdout)


def tool(name, *arguments, timeout=180):
    command = kafka_tools.command(name, *arguments, heap=CLIENT_HEAP, flags=CLIENT_FLAGS)
    return processes.run(command, timeout=timeout).stdout


class Window:
    """A span of time around a load: the broker's CPU, its io-wq threads, CPU that others took."""

    def __init__(self, broker):
        self._broker = broker
        self._stop = threading.Event()
        self.io_workers = 0

    def __enter__(self):
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()
        self._broker_start = self._broker.cpu_seconds()
        self._children_start = _children_cpu()
        self._machine_start, self._steal_start = machine_cpu()
        self._started = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self._started
        self._stop.set()
        self._sampler.join()
        if not self._broker.alive():
            return
        self.cpu = self._broker.cpu_seconds() - self._broker_start
        machine, steal = machine_cpu()
        ours = self.cpu + _children_cpu() - self._children_start
        self.foreign_cores = (machine - self._machine_start - ours) / self.seconds
        self.stolen_cores = (steal - self._steal_start) / self.seconds

    def _sample(self):
        while not self._stop.wait(0.02):
            self.io_workers = max(self.io_workers, io_workers(self._broker.pid))

    def facts(self):
        """What every sample carries beside its own metrics."""
        return {"io_workers": self.io_workers, "foreign_cores": round(self.foreign_cores, 2),
                "stolen_cores": round(self.stolen_cores, 2)}


def io_workers(pid):
    """Kernel worker threads that io_uring started for the process."""
    count = 0
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/comm"):
        try:
            count += task.read_text().startswith("iou-wrk")
        except OSError:  # the thread ended meanwhile
            pass
    return count


def machine_cpu():
    """Busy and stolen CPU seconds of the whole machine since boot."""
    first = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _, _, irq, softirq, steal = (int(value) for value in first[:8])
    return (user + nice + system + irq + softirq) / _TICK, steal / _TICK


def _children_cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def producer_lines(output):
    """(records, MB/s, average ms, p50 ms) of every summary line of producer-perf-test."""
    found = [(int(line[1]), float(line[3]), float(line[4]), int(line[6]))
             for line in _PRODUCER_LINE.finditer(output)]
    if not found:
        raise AssertionError(f"producer-perf-test printed no summary:\n{output[-2000:]}")
    return found


def consumer_columns(output):
    """The last data line of consumer-perf-test as a dictionary of its columns."""
    lines = [line for line in output.splitlines() if "," in line]
    if len(lines) < 2:
        raise AssertionError(f"consumer-perf-test printed no figures:\n{output[-2000:]}")
    names = [name.strip() for name in lines[0].split(",")]
    values = [value.strip() for value in lines[-1].split(",")]
    return dict(zip(names, values, strict=True))


class SystemCalls:
    """Counts a process's system calls with strace while the body runs: .counts by name."""

    def __init__(self, pid, work_dir):
        self._pid = pid
        self._output = pathlib.Path(work_dir) / f"strace-{pid}.txt"

    def __enter__(self):
        self._output.unlink(missing_ok=True)
        self._strace = processes.spawn(
            ["strace", "-f", "-c", "-U", "name,calls", "-o", self._output, "-p", self._pid],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        threads = pathlib.Path(f"/proc/{self._pid}/task")
        until = time.monotonic() + 20
        while not all(_traced(task) for task in threads.iterdir()):
            if time.monotonic() > until or self._strace.poll() is not None:
                self._strace.kill()
                raise AssertionError("strace did not attach to every thread")
            time.sleep(0.05)
        return self

    def __exit__(self, kind, *_):
        self._strace.send_signal(signal.SIGINT)
        try:
            self._strace.wait(20)
        except subprocess.TimeoutExpired:
            self._strace.kill()
            raise AssertionError("strace did not end") from None
        if kind is None:
            self.counts = strace_counts(self._output.read_text())


def _traced(task):
    try:
        status = (task / "status").read_text()
    except OSError:  # the thread ended meanwhile
        return True
    # strace cannot see what io_uring's workers do: they run in the kernel only.
    return "\nTracerPid:\t0\n" not in status or status.startswith("Name:\tiou-")


def strace_counts(text):
    """Calls by name of a `strace -c -U name,calls` table."""
    counts = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[1].isdigit() and fields[0] != "total":
            counts[fields[0]] = int(fields[1])
    return counts


def summary(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values),
            "values": values}
