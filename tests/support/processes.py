"""Child processes and ports for tests: children die with the runner, ports are free ones on loopback."""

import atexit
import ctypes
import os
import pathlib
import select
import signal
import socket
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = pathlib.Path(os.environ.get("PELTON_CACHE", pathlib.Path.home() / ".cache" / "pelton"))
LOOPBACK = "127.0.0.1"

_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_children = []
_handed_out = set()


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def spawn(command, **options):
    """Starts a child that the kernel kills when this process ends. Call from the main thread: the
    kernel watches the thread that forked."""
    child = subprocess.Popen(
        [str(part) for part in command], preexec_fn=_die_with_parent, **options)
    _children.append(child)
    return child


def run(command, timeout, check=True, **options):
    """Runs a child to its end and returns its CompletedProcess with text output. A child that is
    still running after `timeout` seconds is killed and reported with what it had printed."""
    text_input = options.pop("input", None)
    stdin = subprocess.PIPE if text_input is not None else subprocess.DEVNULL
    child = spawn(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                  errors="backslashreplace", **options)
    name = pathlib.Path(str(command[0])).name
    try:
        out, err = child.communicate(text_input, timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        raise AssertionError(
            f"{name} still ran after {timeout} s: {describe(command)}\n"
            f"stdout: {out[-2000:]}\nstderr: {err[-2000:]}") from None
    finally:
        _children.remove(child)
    done = subprocess.CompletedProcess(command, child.returncode, out, err)
    if check and done.returncode != 0:
        raise AssertionError(f"{name} ended with {done.returncode}: {describe(command)}\n"
                             f"stdout: {out[-2000:]}\nstderr: {err[-2000:]}")
    return done


def read_line(child, seconds):
    """The next line of a child's standard output (a text pipe), fails when it stays silent."""
    ready, _, _ = select.select([child.stdout], [], [], seconds)
    if not ready:
        raise AssertionError(f"no line within {seconds} s from {describe(child.args)}")
    return child.stdout.readline()


def describe(command):
    """The command in one line, long arguments (class paths) shortened."""
    return " ".join(part if len(part) < 200 else part[:40] + "..." for part in map(str, command))


def free_port():
    """A port that nothing listens on now and that this process has not handed out before."""
    while True:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port = probe.getsockname()[1]
        if port not in _handed_out:
            _handed_out.add(port)
            return port


@atexit.register
def _kill_children():
    for child in _children:
        if child.poll() is None:
            child.kill()
