"""The clients of the end-to-end tests behind one interface: Java, librdkafka (confluent-kafka), franz-go,
kcat. Each runs jobs (dictionaries) in a process of its own; what has to be built or installed lands in
the cache, once per version of its sources."""

import functools
import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile

from tests.support import kafka_tools, processes

_E2E = processes.ROOT / "tests" / "e2e"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CONFLUENT_KAFKA = "2.16.1"


class Client:
    """A client that understands the jobs create, write and read."""

    name = ""

    def command(self, bootstrap):
        raise NotImplementedError

    def run(self, bootstrap, jobs, timeout=120):
        """Runs the jobs in order in one process; the `done` count of each."""
        text = "".join(json.dumps(job) + "\n" for job in jobs)
        done = processes.run(self.command(bootstrap), timeout=timeout, input=text)
        return [json.loads(line)["done"] for line in done.stdout.splitlines()]


class Java(Client):
    name = "java"

    def command(self, bootstrap):
        return kafka_tools.java("JavaClient", bootstrap, extra_classpath=[java_classes()])


class Confluent(Client):
    name = "confluent"

    def command(self, bootstrap):
        return [confluent_python(), _E2E / "clients" / "confluent_client.py", bootstrap]


class FranzGo(Client):
    name = "franz"

    def command(self, bootstrap):
        return [franz_binary(), bootstrap]


class Kcat(Client):
    """kcat as a shell user runs it: one process a job. It creates topics by writing to them, and cannot
    set a timestamp; its headers are those of the command line."""

    name = "kcat"
    key_delimiter = b"\x02\x01\x02"
    record_delimiter = b"\x03\x01\x03"

    def run(self, bootstrap, jobs, timeout=120):
        return [getattr(self, job["op"])(bootstrap, job, timeout) for job in jobs]

    def create(self, bootstrap, job, timeout):
        """Nothing: the first write creates the topic."""
        return 0

    def write(self, bootstrap, job, timeout):
        records = [json.loads(line) for line in pathlib.Path(job["file"]).read_text().splitlines()]
        groups = {}
        for record in records:
            groups.setdefault((record["p"], json.dumps(record["h"])), []).append(record)
        for (partition, headers), members in groups.items():
            fields = [record[field] for record in members for field in ("k", "v")]
            empty_is_null = None in fields
            if empty_is_null and "" in fields:
                raise AssertionError("kcat cannot write null and empty fields in one run")
            arguments = ["-P", "-t", job["topic"], "-p", partition, "-z", job["codec"],
                         "-K", _escaped(self.key_delimiter), "-D", _escaped(self.record_delimiter)]
            for name, value in json.loads(headers):
                arguments += ["-H", f"{name}={bytes.fromhex(value).decode()}"]
            data = self.record_delimiter.join(
                (_bytes(r["k"]) or b"") + self.key_delimiter + (_bytes(r["v"]) or b"")
                for r in members)
            self._kcat(bootstrap, arguments + (["-Z"] if empty_is_null else []), timeout, data)
        return len(records)

    def read(self, bootstrap, job, timeout):
        """Dumps the records as kcat prints them: header values that are no text are not told apart."""
        form = "%t %p %o %T %K %S %h\\n%k%s\\n"
        arguments = ["-G", job["group"], "-X", "auto.offset.reset=earliest", "-u", "-q", "-c",
                     job["count"], "-f", form, *job["topics"]]
        printed = self._kcat(bootstrap, arguments, timeout)
        lines = list(parse_kcat(printed))
        pathlib.Path(job["file"]).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return len(lines)

    def _kcat(self, bootstrap, arguments, timeout, data=b""):
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
            given.write(data)
            given.seek(0)
            child = processes.spawn(
                [kcat_binary(), "-b", bootstrap, "-m", 30, "-X", "log_level=2", *arguments],
                stdin=given, stdout=out, stderr=processes.subprocess.PIPE)
            _, errors = child.communicate(timeout=timeout)
            if child.returncode != 0:
                raise AssertionError(f"kcat {arguments} ended with {child.returncode}: {errors}")
            out.seek(0)
            return out.read()


def parse_kcat(printed):
    position = 0
    while position < len(printed):
        end = printed.index(b"\n", position)
        topic, partition, offset, time, key_size, value_size, headers = printed[position:end].split(b" ", 6)
        position = end + 1
        fields = {}
        for name, size in (("k", int(key_size)), ("v", int(value_size))):
            fields[name] = None if size < 0 else printed[position:position + size].hex()
            position += max(size, 0)
        if printed[position:position + 1] != b"\n":
            raise AssertionError(f"kcat's output does not add up at byte {position}")
        position += 1
        yield {"topic": topic.decode(), "p": int(partition), "o": int(offset), "t": int(time),
               "h_text": headers.decode(errors="backslashreplace"), **fields}


def _bytes(text):
    return None if text is None else bytes.fromhex(text)


def _escaped(delimiter):
    return "".join(f"\\x{byte:02x}" for byte in delimiter)


ALL = {client.name: client for client in (Java(), Confluent(), FranzGo(), Kcat())}


def _cached(name, sources, build):
    """The cache entry for these sources, built by build(folder) when it is missing."""
    digest = hashlib.sha256(sys.version.encode())
    for source in sources:
        digest.update(source.read_bytes() if isinstance(source, pathlib.Path) else source.encode())
    entry = processes.CACHE / f"{name}-{digest.hexdigest()[:16]}"
    if not (entry / "complete").exists():
        shutil.rmtree(entry, ignore_errors=True)
        entry.mkdir(parents=True)
        build(entry)
        (entry / "complete").touch()
    return entry


@functools.cache
def java_classes():
    source = _E2E / "clients" / "JavaClient.java"

    def build(folder):
        processes.run(["javac", "-Xlint:all", "-Werror", "-proc:none", "-cp", kafka_tools.classpath(),
                       "-d", folder, source], timeout=120)

    return _cached("java-client", [source], build)


@functools.cache
def confluent_python():
    def build(folder):
        processes.run([sys.executable, "-m", "venv", folder / "venv"], timeout=120)
        processes.run([folder / "venv" / "bin" / "pip", "install", "-q",
                       f"confluent-kafka=={CONFLUENT_KAFKA}"], timeout=300)

    return _cached("confluent", [CONFLUENT_KAFKA], build) / "venv" / "bin" / "python"


@functools.cache
def franz_binary():
    folder = _E2E / "go"
    sources = [folder / name for name in ("go.mod", "go.sum", "main.go")]

    def build(entry):
        processes.run(["go", "build", "-o", entry / "franz", "."], timeout=600, cwd=folder)

    return _cached("franz", sources, build) / "franz"


@functools.cache
def kcat_binary():
    found = shutil.which("kcat")
    if found:
        return found
    if os.geteuid() != 0:
        raise AssertionError("kcat is missing and only root can install it")
    processes.run(["apt-get", "update", "-qq"], timeout=300)
    processes.run(["apt-get", "install", "-y", "-qq", "kcat"], timeout=300)
    return shutil.which("kcat")
