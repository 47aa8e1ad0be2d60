"""Java programs of the tests against Kafka's libraries of several versions: fetched with Maven, compiled,
cached by version and source."""

import functools

from tests.support import cache, kafka_tools, processes

SOURCES = processes.ROOT / "tests" / "e2e" / "clients" / "java"
FLAGS = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
          "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]


@functools.cache
def libraries(pom, version):
    """The folder with the jars of a pom of clients/java for one version of Kafka."""

    def build(folder):
        cache.fetch(["mvn", "-q", "-B", "-f", SOURCES / pom, f"-Dkafka.version={version}",
                     "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'libs'}"], folder, 600)

    name = f"java-{pom.removesuffix('.xml')}-{version}"
    return cache.entry(name, [SOURCES / pom, version], build) / "libs"


@functools.cache
def classes(source, classpath):
    """The folder with the compiled program, and with what it uses of the other programs."""

    def build(folder):
        processes.run(["javac", "-Xlint:all,-classfile", "-Werror", "-proc:none", "-cp", classpath,
                       "-sourcepath", SOURCES, "-d", folder, SOURCES / source], timeout=120)

    sources = [SOURCES / source, SOURCES / "JavaClient.java"]
    return cache.entry(source.removesuffix(".java"), [*sources, classpath], build)


def command(source, pom, version, *arguments, heap="256m"):
    """The command line of a JVM that runs a program of clients/java with the libraries of a pom."""
    classpath = f"{libraries(pom, version)}/*"
    return ["java", f"-Xmx{heap}", *FLAGS, "-cp", f"{classes(source, classpath)}:{classpath}",
            source.removesuffix(".java"), *map(str, arguments)]


def reference_command(source, *arguments):
    """The same with the reference's own jars."""
    return kafka_tools.java(source.removesuffix(".java"), *arguments,
                            extra_classpath=[classes(source, kafka_tools.classpath())])
