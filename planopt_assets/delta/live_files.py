"""The files that readers of a version see, replayed from the log: whatever features the table has.

delta-rs lists files too, but it refuses tables with features that it does not know, and shallow clones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from planopt_assets.delta.row_changes import row_change
from planopt_assets.model.data_file import Commit, DataFile
from planopt_assets.model.table_properties import AUTO_COMPACT_SMALL

if TYPE_CHECKING:
    from planopt_assets.delta.log_files import Json, LogFiles
    from planopt_assets.model.table_facts import TableFacts

COMMITS = 300
"""How many commits back growth is measured."""


def live_files(log: LogFiles, facts: TableFacts) -> tuple[DataFile, ...]:
    """All files of the version, by path."""
    logical = {c.physical_name or c.name: c.name for c in facts.columns}
    found: dict[tuple[str, str], Json] = {}
    for action in _actions(log, facts.version):
        if (add := action.get("add")) is not None:
            found[_key(add)] = add
        elif (remove := action.get("remove")) is not None:
            found.pop(_key(remove), None)
    return tuple(_data_file(found[key], logical) for key in sorted(found))


def recent_commits(log: LogFiles, version: int) -> tuple[Commit, ...]:
    """The newest commits that are still there, oldest first."""
    held = [v for v in range(max(0, version - COMMITS + 1), version + 1) if log.holds(v)]
    return tuple(_commit(v, list(log.commit_actions(v))) for v in held)


def _actions(log: LogFiles, version: int) -> Iterator[Json]:
    """From the newest checkpoint on. A checkpoint of version 2 keeps its list of files in sidecars."""
    commits = log.commits(version)
    for name in log.checkpoint(version)[1]:
        for action in log.checkpoint_actions(name, ("add", "sidecar")):
            if (sidecar := action.get("sidecar")) is not None:
                yield from log.checkpoint_actions(f"_sidecars/{sidecar['path']}", ("add",))
            yield action
    for commit in commits:
        yield from log.commit_actions(commit)


def _key(action: Json) -> tuple[str, str]:
    """A file with another deletion vector is another entry."""
    vector = action.get("deletionVector") or {}
    return action["path"], f"{vector.get('pathOrInlineDv', '')}@{vector.get('offset') or ''}"


def _data_file(add: Json, logical: Mapping[str, str]) -> DataFile:
    stats = orjson.loads(add["stats"]) if add.get("stats") else (add.get("stats_parsed") or {})
    return DataFile(
        add["path"],
        add["size"],
        rows=stats.get("numRecords"),
        partition=tuple(
            sorted((logical.get(name, name), value) for name, value in dict(add.get("partitionValues") or {}).items())
        ),
        least=dict(_leaves(stats.get("minValues"), logical)),
        greatest=dict(_leaves(stats.get("maxValues"), logical)),
        deleted_rows=(add.get("deletionVector") or {}).get("cardinality") or 0,
    )


def _leaves(values: Any, logical: Mapping[str, str], above: str = "") -> Iterator[tuple[str, Any]]:
    """Top-level columns by their logical names; below them the log's own names stay."""
    for name, value in (values or {}).items():
        path = f"{above}{name}" if above else logical.get(name, name)
        if isinstance(value, Mapping):
            yield from _leaves(value, logical, f"{path}.")
        elif value is not None:
            yield path, value


def _commit(version: int, actions: Iterable[Json]) -> Commit:
    info: Json = {}
    adds, removes = [], []
    for action in actions:
        info = action.get("commitInfo") or info
        adds += [action["add"]] if action.get("add") else []
        removes += [action["remove"]] if action.get("remove") else []
    kept = {a["path"] for a in adds}  # with another deletion vector: the file itself stays
    added_bytes = sum(a["size"] for a in adds)
    return Commit(
        version,
        info.get("inCommitTimestamp") or info.get("timestamp"),
        str(info.get("operation", "")),
        len(adds),
        added_bytes,
        sum(r["path"] not in kept for r in removes),
        data_change=any(a.get("dataChange", True) for a in (*adds, *removes)),
        small_files=_most_small_files(adds),
        row_change=row_change(info, added_bytes),
    )


def _most_small_files(adds: Iterable[Json]) -> int:
    small = (a for a in adds if a["size"] < AUTO_COMPACT_SMALL)
    by_partition = Counter(tuple(sorted((a.get("partitionValues") or {}).items())) for a in small)
    return max(by_partition.values(), default=0)
