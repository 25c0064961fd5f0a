"""The files of one `_delta_log`: a listing, the files to replay for a version, and their content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from planopt_assets.delta.place import LOG, place
from planopt_assets.delta.refusals import refusal, unreachable_table
from planopt_assets.errors import TableUnreadable

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

Json = dict[str, Any]

_NAME = re.compile(
    r"(?P<version>\d{20})\.(?:(?P<commit>json)|(?P<checksum>crc)|checkpoint\.(?:parquet"
    r"|(?P<part>\d{10})\.(?P<parts>\d{10})\.parquet"
    r"|(?P<uuid>[0-9a-fA-F-]{36})\.(?:json|parquet)))"
)
_HADOOP = re.compile(r"\.(?P<version>\d{20})\.json\.crc")


class LogFiles:
    """One listing of a log. A missing file that a reader needs is an error here, even if Spark ignores it."""

    def __init__(self, table: str, location: str) -> None:
        self._table = table
        self._location = location
        try:
            self._folder = place(location).files
        except OSError as error:
            raise self._unreachable(error) from error
        self._commits: dict[int, int] = {}  # version -> size
        self._checksums: set[int] = set()
        self._hadoop: set[int] = set()  # versions whose commit has a checksum of Hadoop's beside it
        self._size = (0, 0)
        self._checkpoints: dict[int, dict[str, set[str]]] = {}  # version -> the files of each of its checkpoints
        self._last_read = ("", b"")  # the head is replayed, asked for its time and hashed: read once
        self._list()
        if not self._commits and not self._checkpoints:
            raise TableUnreadable(
                f"{location} holds no Delta table: it has no log",
                where=f"table {table}",
                fix="check the path in the workload file; it must be a folder that holds `_delta_log`",
            )

    @property
    def folder(self) -> FileSystem:
        """The table's folder, by paths relative to it."""
        return self._folder

    @property
    def size(self) -> tuple[int, int]:
        """How many files the log has, and their bytes; checksums of Hadoop do not count."""
        return self._size

    def newest(self) -> int:
        """The version a reader sees now."""
        if self._ends_early():
            self._list()  # the commit may have been written during the first listing
        if self._ends_early():
            raise self.damaged(
                f"its newest commit is missing: a checksum file names version {max(self._checksums)}, "
                f"the log ends at version {self._last()}"
            )
        return self._last()

    def checkpoint(self, version: int) -> tuple[int, list[str]]:
        """The newest complete checkpoint up to a version, and its files. -1: there is none, replay from version 0."""
        for at in sorted((v for v in self._checkpoints if v <= version), reverse=True):
            for kind, names in sorted(self._checkpoints[at].items()):
                if len(names) == (int(kind) if kind.isdigit() else 1):
                    return at, sorted(names)
        return -1, []

    def commits(self, version: int) -> range:
        """The commits after the newest checkpoint. Each must exist and must not be empty."""
        if not 0 <= version <= self._last():
            raise TableUnreadable(
                f"{self._location} has no version {version}",
                where=f"table {self._table}",
                fix=f"ask for a version up to {self._last()}, the newest",
            )
        commits = range(self.checkpoint(version)[0] + 1, version + 1)
        for at in commits:
            if at not in self._commits and at == 0:
                gone = "its log does not begin at version 0, and no checkpoint stands in for what is gone"
                raise self.damaged(gone, _commit_name(at))
            if at not in self._commits:
                raise self.damaged(f"commit {at} is missing in its log", _commit_name(at))
            if self._commits[at] == 0:
                # Spark treats it as a commit without actions. The rows it added would be lost without an error.
                raise self.damaged(f"commit {at} in its log is empty", _commit_name(at))
        return commits

    def holds(self, version: int) -> bool:
        """Whether the commit of a version is still there. Old ones may be deleted once a checkpoint replaces them."""
        return version in self._commits

    def commit_actions(self, version: int) -> Iterator[Json]:
        """The actions of a commit. Empty if a checkpoint replaces it."""
        return self._lines(_commit_name(version)) if version in self._commits else iter(())

    def head(self, version: int) -> str:
        """The hash of the commit that made a version: diverged copies of a table differ in it, true copies do not.

        A commit holds the names of the files it adds, which are drawn, and its time. Where it is gone, the newest
        checkpoint, which must be of this version, stands in for it: small enough as JSON, and by its footers as
        Parquet. They hold the sizes, and the least and greatest values, of every column of the list of files.
        """
        if self._commits.get(version):
            return f"commit {_hash(self._read(_commit_name(version)))}"
        names = self.checkpoint(version)[1]
        return f"checkpoint {_hash(*(self._read(n) if n.endswith('.json') else self._footer(n) for n in names))}"

    def checkpoint_actions(self, name: str, kinds: tuple[str, ...]) -> Iterator[Json]:
        """Some kinds of a checkpoint's actions, or single fields of them (`add.path`). Nothing else is read.

        The list of files is often huge, above all for its statistics.
        """
        if name.endswith(".json"):
            yield from self._lines(name)
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with self._folder.open_input_file(f"{LOG}/{name}") as source:
                parquet = pq.ParquetFile(source)
                columns = [kind for kind in kinds if kind.partition(".")[0] in parquet.schema_arrow.names]
                for batch in parquet.iter_batches(columns=columns):
                    for kind in batch.schema.names:
                        yield from ({kind: action} for action in batch.column(kind).drop_null().to_pylist())
        except (OSError, pa.ArrowException) as error:
            raise self._unread_checkpoint(name, error) from error

    def checksum(self, version: int) -> Json:
        """The checksum file that Delta wrote after a commit. None: there is none, or it cannot be read."""
        if version not in self._checksums:
            return {}
        try:
            noted = orjson.loads(self._read(f"{version:020d}.crc"))
        except orjson.JSONDecodeError:
            return {}
        return noted if isinstance(noted, dict) else {}

    @property
    def lost_commits(self) -> tuple[int, ...]:
        """Versions after the newest one of which Hadoop's checksum is still there: their commits were deleted."""
        return tuple(sorted(v for v in self._hadoop if v > self._last()))

    def with_hadoop_checksums(self, version: int) -> Iterator[tuple[str, bytes, bytes]]:
        """Commits that readers of a version replay, with their content and the checksum that Hadoop left beside it."""
        for at in self.commits(version):
            if at in self._hadoop:
                name = _commit_name(at)
                yield name, self._read(name), self._read(f".{name}.crc")

    def damaged(self, what: str, name: str = "") -> TableUnreadable:
        """The error for a damaged log; `name` is that of the file, where one is to blame."""
        error = TableUnreadable(
            f"{self._location}: {what}",
            where=f"table {self._table}",
            fix="restore the table's `_delta_log` from a backup, or write the table anew",
        )
        error.file = f"{LOG}/{name}" if name else ""
        return error

    def _last(self) -> int:
        return max([*self._commits, *self._checkpoints])

    def _ends_early(self) -> bool:
        """Delta writes a checksum file after its commit. A checksum file without a commit means a lost commit."""
        return max(self._checksums, default=-1) > self._last()

    def _list(self) -> None:
        from pyarrow.fs import FileSelector

        try:
            found = self._folder.get_file_info(FileSelector(LOG, allow_not_found=True))
        except (OSError, ValueError) as error:
            raise self._unreachable(error) from error
        own = [file for file in found if file.is_file and not file.base_name.startswith(".")]
        self._size = (len(own), sum(file.size for file in own))
        self._hadoop = {int(m["version"]) for file in found if (m := _HADOOP.fullmatch(file.base_name))}
        for file in own:
            if (match := _NAME.fullmatch(file.base_name)) is None:
                continue
            version = int(match["version"])
            if match["commit"]:
                self._commits[version] = file.size
            elif match["checksum"]:
                self._checksums.add(version)
            elif file.size:
                kind = match["uuid"] or match["parts"] or "classic"
                self._checkpoints.setdefault(version, {}).setdefault(kind, set()).add(file.base_name)

    def _lines(self, name: str) -> Iterator[Json]:
        for line in self._read(name).splitlines():
            try:
                action = orjson.loads(line) if line.strip() else {}
            except orjson.JSONDecodeError as error:
                raise self.damaged(f"{name} in its log holds a line that is no JSON", name) from error
            if not isinstance(action, dict):
                raise self.damaged(f"{name} in its log holds a line that is no action", name)
            yield action

    def _read(self, name: str) -> bytes:
        if self._last_read[0] != name:
            try:
                with self._folder.open_input_stream(f"{LOG}/{name}") as source:
                    self._last_read = (name, bytes(source.read()))
            except OSError as error:
                raise self._unreachable(error) from error
        return self._last_read[1]

    def _footer(self, name: str) -> bytes:
        """The end of a Parquet file: its metadata, their length in four bytes, and a mark of four."""
        try:
            with self._folder.open_input_file(f"{LOG}/{name}") as source:
                size = source.size()
                length = int.from_bytes(source.read_at(8, size - 8)[:4], "little")
                return bytes(source.read_at(length + 8, size - length - 8))
        except (OSError, ValueError) as error:
            raise self._unread_checkpoint(name, error) from error

    def _unread_checkpoint(self, name: str, error: Exception) -> TableUnreadable:
        if refusal(error):
            return self._unreachable(error)
        return self.damaged(f"checkpoint {name} cannot be read: {_first_line(error)}", name)

    def _unreachable(self, error: Exception) -> TableUnreadable:
        if words := refusal(error):
            return unreachable_table(self._table, self._location, words)
        return TableUnreadable(
            f"{self._location} cannot be read: {_first_line(error)}",
            where=f"table {self._table}",
            fix="check the path in the workload file and the access to it",
        )


def _commit_name(version: int) -> str:
    return f"{version:020d}.json"


def _hash(*parts: bytes) -> str:
    """Of hashes, so that it matters where one part ends and the next begins."""
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    return hashlib.sha256(digests).hexdigest()[:16]


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
