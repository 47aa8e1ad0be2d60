"""kcat behind the interface of the other clients: it takes no jobs, so each becomes a command line."""

import json
import pathlib
import tempfile

from tests.support import cache, processes
from tests.support.client import Client


class Kcat(Client):
    """kcat as a shell user runs it: one process a job. It creates topics by writing to them, and cannot
    set a timestamp; its headers are those of the command line."""

    name = "kcat"
    sets_timestamps = False
    plain = True
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
                [cache.program("kcat", "kcat"), "-b", bootstrap, "-m", 30, "-X", "log_level=2", *arguments],
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
