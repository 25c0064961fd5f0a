"""Hadoop's own client, for file systems that nobody else knows: HDFS, viewfs, and what a company has of its own.

It runs in a small JVM beside this process, from the jars of the installed Spark, and not in Spark's session: a command
that only reads starts no Spark, and a session must start with its own settings. The client finds its configuration in
`HADOOP_CONF_DIR`, as Spark does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JError, Py4JJavaError

from planopt_assets.delta.refusals import StorageRefused

_MEMORY = "-Xmx256m"


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file as a listing tells it. One that was replaced has another size or time."""

    path: str  # relative to the folder that was listed
    size: int
    modified_ms: int


class HadoopClient:
    """Reads one file system."""

    def __init__(self, location: str) -> None:
        jvm = _gateway(os.getpid(), os.environ.get("HADOOP_CONF_DIR", "")).jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        with _told(location):
            configuration = jvm.org.apache.hadoop.conf.Configuration()
            self._files = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI(location), configuration)

    def exists(self, path: str) -> bool:
        with _told(path):
            return bool(self._files.exists(self._path(path)))

    def size(self, path: str) -> int | None:
        """Of a file. None: there is none."""
        with _told(path):
            found = self._path(path)
            return int(self._files.getFileStatus(found).getLen()) if self._files.exists(found) else None

    def listed(self, folder: str, *, below: bool) -> dict[str, RemoteFile] | None:
        """The files of a folder, also `below` its folders, by their paths relative to it. None: there is no folder."""
        with _told(folder):
            root = self._path(folder)
            if not self._files.exists(root):
                return None
            whole = str(self._files.makeQualified(root).toUri().getPath()).rstrip("/") + "/"
            found, listing = {}, self._files.listFiles(root, below)
            while listing.hasNext():
                file = listing.next()
                path = str(file.getPath().toUri().getPath()).partition(whole)[2]
                found[path] = RemoteFile(path, int(file.getLen()), int(file.getModificationTime()))
            return found

    def read(self, path: str, start: int, length: int) -> bytes:
        """A part of a file; shorter where the file ends."""
        with _told(path):
            stream = self._files.open(self._path(path))
            try:
                stream.seek(start)
                return bytes(stream.readNBytes(length))
            finally:
                stream.close()

    def copy(self, source: str, target: Path) -> None:
        """A file to this machine, visible there at once and whole, without a checksum file beside it."""
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.new")
        with _told(source):
            self._files.copyToLocalFile(False, self._path(source), self._path(new.as_uri()), True)
        new.replace(target)


@contextmanager
def _told(location: str) -> Iterator[None]:
    """Whatever Hadoop says is storage that cannot be asked: nothing is known to be wrong with what it holds."""
    try:
        yield
    except Py4JJavaError as error:
        words = str(error.java_exception.toString()).splitlines()[0]
        raise StorageRefused(f"{location}: {words}") from error
    except (Py4JError, OSError) as error:
        raise StorageRefused(f"{location}: Hadoop's client does not answer: {error}") from error


@cache
def _gateway(pid: int, configuration: str) -> JavaGateway:
    """One JVM for a process. It ends with it: its standard input is closed then."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise StorageRefused("Hadoop's client is part of pyspark, which is not installed")
    jars = Path(found.origin).parent / "jars"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java") or "java"
    try:
        port, secret = launch_gateway(
            classpath=os.pathsep.join(filter(None, (configuration, str(jars / "*")))),
            jarpath=str(next(jars.glob("py4j-*.jar"))),
            javaopts=[_MEMORY, "-Dlog4j2.level=OFF", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"],
            java_path=java,
            die_on_exit=True,
            enable_auth=True,
            redirect_stderr=None,
        )
    except (Py4JError, OSError, ValueError) as error:
        raise StorageRefused(f"Hadoop's client does not start: {error}") from error
    return JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=secret, auto_convert=True))
