"""Clients of the ecosystems other than Java's: installed from lock files, built, cached."""

import functools
import shutil
import sys

from tests.support import cache, processes

_CLIENTS = processes.ROOT / "tests" / "e2e" / "clients"


@functools.cache
def venv(requirements):
    """The Python of a virtual environment that holds exactly the pinned packages of a file."""
    source = _CLIENTS / "python" / requirements

    def build(folder):
        processes.run([sys.executable, "-m", "venv", folder / "venv"], timeout=120)
        cache.fetch([folder / "venv" / "bin" / "pip", "install", "-q", "--disable-pip-version-check",
                     "--no-deps", "-r", source], folder, 300)

    name = source.stem
    return cache.entry(f"python-{name}", [source], build) / "venv" / "bin" / "python"


def python_command(requirements, script, *arguments):
    return [venv(requirements), "-B", _CLIENTS / "python" / script, *arguments]


def _files(folder, *patterns):
    return sorted(path for pattern in patterns for path in folder.glob(pattern))


@functools.cache
def go_binaries():
    """The folder with the programs of clients/go/cmd."""
    folder = _CLIENTS / "go"

    def build(entry):
        cache.fetch(["go", "mod", "download"], folder, 300)
        processes.run(["go", "build", "-mod=readonly", "-o", f"{entry}/", "./cmd/..."], timeout=600,
                      cwd=folder)

    return cache.entry("go-clients", _files(folder, "go.*", "**/*.go"), build)


@functools.cache
def rust_binaries():
    """The folder with the programs of clients/rust."""
    folder = _CLIENTS / "rust"

    def build(entry):
        target, cargo = entry / "target", cache.program("cargo", "cargo-web")
        cache.fetch([cargo, "fetch", "--locked", "--quiet"], folder, 300)
        processes.run([cargo, "build", "--release", "--locked", "--quiet", "--target-dir", target],
                      timeout=3600, cwd=folder)
        for source in (folder / "src" / "bin").glob("*.rs"):
            shutil.copy(target / "release" / source.stem, entry)
        shutil.rmtree(target)

    return cache.entry("rust-clients", _files(folder, "Cargo.*", "src/**/*.rs"), build)


@functools.cache
def node_programs(name="node"):
    """A copy of clients/node or clients/node_rdkafka with the packages of its lock file."""
    sources = _files(_CLIENTS / name, "*.js*")
    if name != "node":
        sources.append(_CLIENTS / "node" / "jobs.js")

    def build(entry):
        for source in sources:
            shutil.copy(source, entry)
        cache.fetch(["npm", "ci", "--no-progress", "--no-fund", "--no-audit"], entry, 1800)

    return cache.entry(f"{name}-clients", sources, build)
