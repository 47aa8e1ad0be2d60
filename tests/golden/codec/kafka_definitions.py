"""Message definitions as Apache Kafka publishes them: JSON with // comments inside its jars."""

import json
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from proto.gen import model  # noqa: E402

COMMENT_OR_STRING = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*')


class Definition:
    """One message: `body` is the parsed JSON, `class_name` the Java class that carries it."""

    def __init__(self, jar, entry, body, class_name):
        self.jar, self.entry, self.body, self.class_name = jar, entry, body, class_name
        self.name = body["name"]
        self.versions = parse_versions(body["validVersions"])

    @property
    def where(self):
        return f"{self.jar}:{self.entry}"


def parse_versions(text):
    if text == "none":
        return model.NONE
    if text.endswith("+"):
        return model.Versions(int(text[:-1]), model.OPEN)
    lo, _, hi = text.partition("-")
    return model.Versions(int(lo), int(hi or lo))


def fetch():
    """The folder of Kafka's jars, assembled if it is not there yet."""
    command = [str(ROOT / "tests/support/fetch_kafka")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def strip_comments(text):
    return COMMENT_OR_STRING.sub(lambda m: m[1] or "", text)


def java_class_name(body):
    """Requests, responses and headers have the suffix Data, all others their own name."""
    suffix = "Data" if body["type"] in ("request", "response", "header") else ""
    return body["name"] + suffix


def read_jar(path):
    found = []
    with zipfile.ZipFile(path) as jar:
        names = jar.namelist()
        classes = {n.rsplit("/", 1)[-1]: n for n in names
                   if n.endswith("JsonConverter.class") and "$" not in n}
        for entry in names:
            if not re.search(r"(^|/)(message|metadata)/[A-Za-z]+\.json$", entry):
                continue
            body = json.loads(strip_comments(jar.read(entry).decode("utf-8")))
            if body["validVersions"] == "none":  # withdrawn: the name and number stay reserved
                continue
            converter = classes.pop(java_class_name(body) + "JsonConverter.class", None)
            if converter is None:
                raise SystemExit(f"{path}: no Java class for {entry}")
            name = converter.removesuffix("JsonConverter.class").replace("/", ".")
            found.append(Definition(path.name, entry, body, name))
        if classes:
            raise SystemExit(f"{path}: classes without a definition: {sorted(classes)}")
    return found


def read_all(libs):
    """{message name: Definition} over all of Kafka's own jars."""
    found = {}
    for path in sorted(pathlib.Path(libs).glob("kafka*.jar")):
        for definition in read_jar(path):
            if definition.name in found:
                raise SystemExit(f"{definition.where}: also in {found[definition.name].where}")
            found[definition.name] = definition
    if not found:
        raise SystemExit(f"{libs}: no message definitions")
    return found
