"""What can still be read of a damaged table: every row once, and what is lost.

planopt only ever appends rows. So a row in any file that a commit once added is a row of the table, whatever became of
the commit, and a row that stands in two files stands there because one file replaced the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import orjson
import pyarrow as pa

from planopt_assets.delta.place import Folder
from planopt_assets.errors import PlanoptError, StoreTooNew
from planopt_assets.store.head_files import HeadUnreadable
from planopt_assets.store.opened import first_line, open_sound
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.table_heads import TableHead, fits, read_table_head

DAMAGED = "_damaged"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"\d{20}\.checkpoint.*\.parquet")


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The rows of a table that can be read, and what was found damaged. `lost` None: nobody knows how many."""

    name: str
    damage: tuple[str, ...]
    rows: pa.Table
    lost: int | None
    transactions: Mapping[str, int]  # the last version of each application that the log remembers


@dataclass
class _Named:
    """The files that a log names, as far as it can be read."""

    live: set[str] = field(default_factory=set)
    rows: dict[str, int | None] = field(default_factory=dict)  # of each file that was ever added
    added_at: dict[str, int] = field(default_factory=dict)
    removed_at: dict[str, int] = field(default_factory=dict)
    transactions: dict[str, int] = field(default_factory=dict)
    damaged: bool = False

    def remember(self, transaction: Mapping[str, Any]) -> None:
        app_id, version = transaction["appId"], int(transaction["version"])
        self.transactions[app_id] = max(self.transactions.get(app_id, version), version)

    def in_order(self, files: Iterable[Path]) -> list[Path]:
        """By the commit that added them; where none is known, by their own time."""
        last = max(self.added_at.values(), default=0) + 1
        return sorted(files, key=lambda file: (self.added_at.get(file.name, last), file.stat().st_mtime_ns))


def damage_of(root: str, name: str, *, by_head: bool = True) -> tuple[str, ...]:
    """What is wrong with a table, after every file of it was compared and read. Empty: nothing."""
    try:
        found = open_sound(root, name, whole=True, by_head=by_head)
    except PlanoptError as error:
        return (error.what,)
    unreadable = [why for file in found.files if (why := _why_unreadable(Path(root, name, file), name))]
    return (*(f"{root}/{name}/{file} is lost" for file in found.lost), *unreadable)


def salvage(root: str, name: str, damage: tuple[str, ...]) -> Salvaged:
    """Every row of a table that can be read, once, in the order of the commits."""
    folder = Path(root, name)
    named = _named(folder / "_delta_log")
    try:
        head = read_table_head(root, name)
    except HeadUnreadable:
        head = None
    expected = set(named.live)
    if head is not None:
        expected |= {file for file in head.files if named.removed_at.get(file, -1) <= head.version}
    if named.damaged:  # a commit that cannot be read may have added any file that no other names
        expected |= {file.name for file in folder.glob("*.parquet")} - set(named.rows) - set(named.removed_at)
    good, bad = _sorted_out(root, name, expected, head)
    if head is not None:  # up to its version a head knows every file: another name is a damaged one
        bad = [f for f in bad if f in head.files or named.added_at.get(f, head.version + 1) > head.version]
    rows = _unique(_read(named.in_order(good), name))
    lost: int | None = 0
    if bad:
        earlier, _ = _sorted_out(root, name, set(named.rows) - expected, head)
        known = [head.files[f].rows if head and f in head.files else named.rows.get(f) for f in bad]
        rows, before = _unique(_read(named.in_order([*good, *earlier]), name)), rows.num_rows
        lost = None if None in known else max(sum(filter(None, known)) - (rows.num_rows - before), 0)
    newest = max((v for v in rows["schema_version"].to_pylist() if v is not None), default=0)
    if newest > SCHEMA_VERSION:
        raise StoreTooNew(
            f"table {name} holds rows of schema version {newest}, this planopt knows {SCHEMA_VERSION}",
            where=root,
            fix="upgrade planopt, then repair the store",
        )
    return Salvaged(name, damage, rows, lost, named.transactions)


def _named(log: Path) -> _Named:
    """Replayed from the first file to the last. What cannot be read is skipped, and noted."""
    found = _Named()
    files = sorted(log.iterdir()) if log.is_dir() else []
    versions = sorted(int(match[1]) for file in files if (match := _COMMIT.fullmatch(file.name)))
    checkpoints = [file for file in files if _CHECKPOINT.fullmatch(file.name)]
    found.damaged = versions != list(range(versions[0], versions[-1] + 1)) if versions else True
    found.damaged |= not checkpoints and 0 not in versions
    for file in files:
        if match := _COMMIT.fullmatch(file.name):
            content = file.read_bytes()
            found.damaged |= not content.strip()
            for line in content.splitlines():
                _replay(found, line, int(match[1]))
        elif file in checkpoints:
            added = [unquote(add["path"]) for add in _in_checkpoint(file, "add")]
            found.damaged |= not added
            for transaction in _in_checkpoint(file, "txn"):
                found.remember(transaction)
            found.rows = {**dict.fromkeys(added), **found.rows}
            found.live |= set(added)
    return found


def _replay(found: _Named, line: bytes, version: int) -> None:
    try:
        action = orjson.loads(line)
        if add := action.get("add"):
            name = unquote(add["path"])
            found.live.add(name)
            found.added_at[name] = version
            found.rows[name] = orjson.loads(add.get("stats") or "{}").get("numRecords")
        elif remove := action.get("remove"):
            name = unquote(remove["path"])
            found.live.discard(name)
            found.removed_at[name] = version
        elif transaction := action.get("txn"):
            found.remember(transaction)
        elif not action.keys() & {"commitInfo", "protocol", "metaData", "cdc", "domainMetadata"}:
            found.damaged = True
    except (ValueError, AttributeError, KeyError, TypeError):
        found.damaged = True


def _in_checkpoint(file: Path, kind: str) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    try:
        found: list[dict[str, Any]] = pq.read_table(file, columns=[kind])[kind].drop_null().to_pylist()
    except (OSError, pa.ArrowException, ValueError, KeyError):
        return []
    return found


def _sorted_out(root: str, name: str, files: Iterable[str], head: TableHead | None) -> tuple[list[Path], list[str]]:
    """Files that hold what was written, wherever they are now, and the names of the others."""
    good: list[Path] = []
    bad: list[str] = []
    for file in sorted(files):
        places = [Path(root, name, file), *(at / name / file for at in sorted(Path(root, DAMAGED).glob("*")))]
        whole = next((place for place in places if _is_whole(place, name, head)), None)
        if whole is None:
            bad.append(file)
        else:
            good.append(whole)
    return good, bad


def _is_whole(file: Path, name: str, head: TableHead | None) -> bool:
    known = head.files.get(file.name) if head is not None else None
    if not file.is_file() or (known is not None and not fits(Folder(str(file.parent)), file.name, known)):
        return False
    return not _why_unreadable(file, name)


def _why_unreadable(file: Path, name: str) -> str:
    try:
        _read([file], name).validate(full=True)  # also that every text is UTF-8
    except (OSError, pa.ArrowException) as error:
        return f"{file} cannot be read: {first_line(error)}"
    return ""


def _read(files: list[Path], name: str) -> pa.Table:
    import pyarrow.dataset as ds

    if not files:
        return TABLES[name].empty_table()
    return ds.dataset([str(f) for f in files], schema=TABLES[name], format="parquet").to_table()


def _unique(rows: pa.Table) -> pa.Table:
    seen: set[bytes] = set()
    return rows.filter(pa.array(_first_times(rows, seen), pa.bool_()))


def _first_times(rows: pa.Table, seen: set[bytes]) -> Iterator[bool]:
    import hashlib

    for batch in rows.to_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            key = hashlib.blake2b(repr(row).encode(), digest_size=16).digest()
            yield key not in seen
            seen.add(key)
