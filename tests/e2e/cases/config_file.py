"""Mistakes in server.properties (reliability check B13): each is told with its line, its key and its value, all of
them at once, and the broker does not start."""

from tests.e2e.case import case, expect, expect_equal
from tests.support import brokers, processes

_WRONG = {
    "num.partitons=3": "unknown key num.partitons=3; did you mean num.partitions?",
    "num.partitions=many": "num.partitions=many: not a whole number",
    "num.partitions=0": "num.partitions=0: must be at least 1",
    "num.partitions=99999999999": "num.partitions=99999999999: does not fit in 32 bits",
    "log.retention.ms=99999999999999999999": "does not fit in 64 bits",
    "auto.create.topics.enable=perhaps": "must be true or false",
    "compression.type=brotli": "must be one of",
    "queued.max.request.bytes=1000": "socket.request.max.bytes=104857600 must not be above queued.max.request.bytes=1000",
    "connections.max.idle.ms=50": "must be below connections.max.idle.ms=50",
    "max.connections.per.ip=0": "would let nobody in",
    "max.connections.per.ip.overrides=127.0.0.1": "is not address:count",
    "max.connections=-1": "max.connections=-1: must be at least 0",
    "pelton.connection.setup.timeout.ms=soon": "not a whole number",
    "listeners=PLAINTEXT://nowhere": "listeners",
    "authorizer.class.name=org.example.Mine": "there is no authorizer yet",
}


def _start(context, text):
    folder = context.folder("config")
    path = folder / "server.properties"
    path.write_text(f"log.dirs={folder}/data\nlisteners=PLAINTEXT://127.0.0.1:{processes.free_port()}\n" + text)
    done = processes.run([brokers.pelton_binary(), path], check=False, timeout=20)
    return path, done


@case(smoke=True, brokers=("pelton",))
def one_mistake(context):
    """Each kind of mistake alone: exit code 2, one sentence that names file and line, no data directory."""
    for line, wanted in _WRONG.items():
        path, done = _start(context, f"# a comment\n\n{line}\n")
        expect_equal(done.returncode, 2, f"exit code of {line}: {done.stderr}")
        told = done.stderr.splitlines()
        expect(any(f"{path} line 5: " in each and wanted in each for each in told), f"{line}: {done.stderr}")
        expect_equal(len(told), 1, f"sentences about {line}: {told}")
        expect(not (path.parent / "data").exists(), f"{line}: a data directory was made")


@case(brokers=("pelton",))
def all_at_once(context):
    """Several mistakes are told together, each with its own line; a key that is there twice is told too, and the
    later one counts; a file that is not there is told."""
    lines = ["num.partitions=x", "num.io.threads=0", "delete.topic.enable=1"]
    path, done = _start(context, "\n".join(lines) + "\n")
    expect_equal(done.returncode, 2, done.stderr)
    for number, line in enumerate(lines, start=3):
        expect(f"{path} line {number}: {line}: " in done.stderr, done.stderr)
    broker = context.own_unstarted()
    path = broker.work_dir / "twice.properties"
    path.write_text("num.partitions=3\nnum.partitions=4\nno.such.key.at.all=1\n")
    command = broker.command
    broker.command = lambda: [command()[0], path, *command()[1:]]
    broker.start(context.overrides)
    log = broker.log_file.read_text()
    expect(f"{path} line 2: num.partitions is there already ({path} line 1); the later one counts" in log, log)
    expect(f"{path} line 3: unknown key no.such.key.at.all is ignored" in log, log)
    done = processes.run([brokers.pelton_binary(), "/no/such/file"], check=False, timeout=20)
    expect_equal(done.returncode, 2, "exit code without the file")
    expect("cannot read /no/such/file" in done.stderr, done.stderr)
