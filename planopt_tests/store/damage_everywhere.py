"""Damages one file of a whole store at a time, and asks planopt what it makes of it, before and after a repair.

    python -m planopt_tests.store.damage_everywhere [FLIPS]

prints the table of `docs/using.md`: every file emptied, halved, deleted, and with FLIPS times one flipped bit.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from planopt_assets.errors import PlanoptError
from planopt_assets.job.in_force import read_in_force
from planopt_assets.loop.gates import evaluate
from planopt_assets.loop.run import read_standings
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Workload
from planopt_assets.store import repair as repair_module
from planopt_assets.store import snapshot as snapshot_module
from planopt_assets.store.repair import Repair, repair
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.store.table_heads import table_head_file
from planopt_tests.store.whole_store import IN_FORCE, write_whole_store

HOWS = ("emptied", "halved", "deleted")
Rows = Counter[str]


@dataclass(frozen=True, slots=True)
class Case:
    """One file, and how it is damaged. A flip is named by its seed."""

    file: str  # below the store
    how: str

    @property
    def kind(self) -> str:
        """commit | checkpoint | data | head"""
        if self.file.startswith("_heads"):
            return "head"
        if "_delta_log" in self.file:
            return "commit" if self.file.endswith(".json") else "checkpoint"
        return "data"

    @property
    def table(self) -> str:
        """The table it belongs to; heads of queries are heads of promotions."""
        first, second = Path(self.file).parts[:2]
        if first != "_heads":
            return first
        return "active_policies" if second == "queries" else Path(self.file).stem

    def inflict(self, store: Path) -> None:
        """The file is replaced, never changed in place: it may be a link to the file of another store."""
        file = store / self.file
        content = bytearray(file.read_bytes())
        file.unlink()
        if self.how == "deleted":
            return
        if self.how.startswith("flip"):
            drawn = random.Random(f"{self.file.split('-')[0]}{self.how}{len(content)}")
            place = drawn.randrange(len(content))
            content[place] ^= 1 << drawn.randrange(8)
        file.write_bytes({"emptied": b"", "halved": content[: len(content) // 2]}.get(self.how, content))


class Everywhere:
    """One store, written once. Each case gets a copy of it made of links."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workload = write_whole_store(folder)
        self._answers: dict[tuple[str, ...], Any] = {}  # about tables of the whole store

    def copied(self, store: Path) -> Workload:
        """The store in another folder, made of links."""
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(self.workload.store, store, copy_function=os.link)
        return at(self.workload, store)

    @contextmanager
    def whole_tables_looked_at_once(self) -> Iterator[None]:
        """What a table holds, and what is damaged in it, depends on its files and its head, and on nothing else.

        A table of a copy whose files and head are the very files of the whole store has the answer of the whole store,
        which was really asked for, once. A table with anything else in it is always looked at.
        """
        read = Snapshot.table

        def table(snapshot: Snapshot, name: str, columns: list[str] | None = None, **wanted: Any) -> pa.Table:
            if not self._is_whole(snapshot.root, name):
                return read(snapshot, name, columns, **wanted)
            some = {k: v if v is None or isinstance(v, str | bool) else sorted(v) for k, v in wanted.items()}
            key = ("rows", snapshot.workload, name, repr(columns), repr(some))
            rows: pa.Table = self._kept(key, read, snapshot, name, columns, **wanted)
            return rows

        with (
            patch.object(repair_module, "damage_of", self._once(repair_module.damage_of)),
            patch.object(snapshot_module, "open_sound", self._once(snapshot_module.open_sound)),
            patch.object(Snapshot, "table", table),
        ):
            yield

    def _once(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        def answer(root: str, name: str, **how: Any) -> Any:
            if not self._is_whole(root, name):
                return ask(root, name, **how)
            return self._kept((ask.__name__, name, repr(how)), ask, self.workload.store, name, **how)

        return answer

    def _is_whole(self, root: str, name: str) -> bool:
        whole = self._kept(("identities", name), _identities, self.workload.store, name)
        return root != self.workload.store and _identities(root, name) == whole

    def _kept(self, key: tuple[str, ...], ask: Callable[..., Any], *about: Any, **how: Any) -> Any:
        if key not in self._answers:
            self._answers[key] = ask(*about, **how)
        return self._answers[key]

    def cases(self, flips: int) -> list[Case]:
        store = Path(self.workload.store)
        files = sorted(str(f.relative_to(store)) for f in store.rglob("*") if f.is_file())
        return [Case(f, how) for f in files for how in (*HOWS, *(f"flip {n}" for n in range(flips)))]

    @cached_property
    def rows(self) -> dict[str, Rows]:
        return {name: rows_of(self.workload, name) for name in TABLES}

    def outcome(self, case: Case) -> str:
        """What became of one damage: `found` (an error, or a broken query) or `harmless` (nothing is lost).

        Anything else is an assertion that fails.
        """
        with self.whole_tables_looked_at_once():
            return self._outcome(case)

    def _outcome(self, case: Case) -> str:
        store = self.folder / "damaged"
        damaged = self.copied(store)
        case.inflict(store)
        told = list(self._told(damaged, case))
        for words in told:
            assert "planopt repair" in words, words
            assert f"{store}/{case.table}" in words or f"{store}/_heads" in words, words
        before = files_of(store)
        done = repair(str(store), stamp="then", run_id="run-repair")
        if told or files_of(store) != before:  # else all was found whole above, and is what it was
            self._check_repair(damaged, case, done, told)
        return "found" if told else "harmless"

    def _told(self, damaged: Workload, case: Case) -> Iterator[str]:
        """Every message that somebody gets. What is read without one is what was written."""
        for query_id, policy in IN_FORCE.items():
            found = read_in_force(damaged, query_id, timeout_s=600.0)
            if found.failure is None:
                assert found.policy == policy, f"{query_id} runs under {found.policy.describe()}"
            else:
                assert (found.policy, found.failure.code) in ((ORIGINAL, "PLN-301"), (ORIGINAL, "PLN-403"))
                yield str(found.failure)
        try:
            assert rows_of(damaged, case.table) == self.rows[case.table], f"rows of {case.table} are lost silently"
        except PlanoptError as error:
            yield str(error)
        except AssertionError:  # of promotions, each query is checked by itself
            if case.table != "active_policies":
                raise
        try:
            snapshot = Snapshot(damaged.store, damaged.name)
            standings = read_standings(damaged, snapshot=snapshot)
            gates = evaluate(list(IN_FORCE), snapshot, standings)
        except PlanoptError as error:
            yield str(error)
            return
        for query_id, standing in standings.items():
            assert standing.to_promote is None, f"automation would change {query_id}"
            if standing.broken is not None:
                assert gates["not_regressed"][query_id].severe
                yield str(standing.broken)
            else:
                assert (standing.active.policy if standing.active else ORIGINAL) == IN_FORCE[query_id]

    def _check_repair(self, damaged: Workload, case: Case, done: Repair, told: list[str]) -> None:
        assert done.needed or not told, "an error advises a repair that finds nothing"
        lost = {table.table: table.rows_lost for table in done.tables}
        kept = rows_of(damaged, case.table)
        assert kept <= self.rows[case.table], "a repair brings rows that nobody wrote, or one twice"
        assert self.rows[case.table].total() - kept.total() == (
            lost.get(case.table, 0) if case.table != "active_policies" else 0
        )
        for query_id, policy in IN_FORCE.items():
            found = read_in_force(damaged, query_id, timeout_s=600.0)
            assert (found.failure, found.policy) == (None, policy), f"{query_id}: {found.reason}"
        snapshot = Snapshot(damaged.store, damaged.name)
        standings = read_standings(damaged, snapshot=snapshot)
        evaluate(list(IN_FORCE), snapshot, standings)
        assert not any(s.broken or s.to_promote for s in standings.values())


def _identities(root: str, table: str) -> dict[str, int]:
    """Every file of a table and of its head, by path below the store: a link to a file is that file."""
    head = table_head_file(root, table)
    found = {head.path: file.stat().st_ino} if (file := Path(str(head))).exists() else {}
    folders = [table]
    while folders:
        folder = folders.pop()
        with suppress(FileNotFoundError), os.scandir(f"{root}/{folder}") as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}"
                if entry.is_dir():
                    folders.append(path)
                else:
                    found[path] = entry.inode()
    return found


def files_of(store: Path) -> dict[Path, tuple[int, int]]:
    """Every file with its size and the moment of its last change."""
    found = ((file, file.stat()) for file in store.rglob("*") if file.is_file())
    return {file: (stat.st_size, stat.st_mtime_ns) for file, stat in found}


def rows_of(workload: Workload, table: str) -> Rows:
    return Counter(map(repr, Snapshot(workload.store, workload.name).table(table).to_pylist()))


def at(workload: Workload, store: Path) -> Workload:
    from dataclasses import replace

    return replace(workload, store=str(store))


def main(flips: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        everywhere = Everywhere(Path(folder))
        counted: Counter[tuple[str, str, str]] = Counter()
        cases = everywhere.cases(flips)
        for case in cases:
            counted[case.kind, case.how.split()[0], everywhere.outcome(case)] += 1
    for (kind, how, outcome), number in sorted(counted.items()):
        print(f"{kind:<12}{how:<10}{outcome:<10}{number:>5}")
    print(f"{len(cases)} cases over {len({case.file for case in cases})} files")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
