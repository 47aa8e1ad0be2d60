"""Cache entries for what tests have to fetch, install or build: one folder a version of its sources."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import sys
import time

from tests.support import processes


def entry(name, sources, build):
    """The folder for these sources (files, or texts such as a version), filled by build(folder) when
    it is not complete. Runs side by side wait for one another."""
    digest = hashlib.sha256(sys.version.encode())
    for source in sources:
        digest.update(source.read_bytes() if isinstance(source, pathlib.Path) else source.encode())
    folder = processes.CACHE / f"{name}-{digest.hexdigest()[:16]}"
    if (folder / "complete").exists():
        return folder
    with _locked(folder.with_suffix(".lock")):
        if not (folder / "complete").exists():
            started = time.monotonic()
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            build(folder)
            (folder / "complete").touch()
            print(f"built {name} in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return folder


@contextlib.contextmanager
def _locked(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fetch(command, folder, timeout):
    """Runs a package client; three attempts, since registries drop connections."""
    for attempt in range(3):
        try:
            return processes.run(command, timeout=timeout, cwd=folder)
        except AssertionError:
            if attempt == 2:
                raise
            time.sleep(5 * (attempt + 1))


def program(name, package):
    """A program of the machine; when it is missing, root installs its Debian package."""
    if shutil.which(name) is None:
        if os.geteuid() != 0:
            raise AssertionError(f"{name} is missing and only root can install it")
        processes.run(["apt-get", "update", "-qq"], timeout=300)
        processes.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package], timeout=600)
    return shutil.which(name)
