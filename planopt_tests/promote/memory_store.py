"""A store in memory under the real promote stage: Delta's transaction ids, and a process that dies before a write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from unittest import mock

from planopt_assets.loop.run import Run
from planopt_assets.loop.standing import Standing
from planopt_assets.model.promotion import Chain
from planopt_assets.model.workload import Query, Workload
from planopt_assets.promote.transitions import Expire, Revert
from planopt_assets.store import writer
from planopt_assets.store.codecs.deciding import VERDICTS
from planopt_assets.store.promotions import verified_chain
from planopt_assets.store.store import Store
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.rows import Row, standing

Mode = Literal["advise", "auto"]


class Killed(BaseException):
    """Like a signal: nothing catches it."""


@dataclass
class Memory:
    """The tables, and what Delta remembers about writers; it outlives every process."""

    tables: dict[str, list[Row]] = field(default_factory=dict)
    transactions: dict[tuple[str, str], int] = field(default_factory=dict)
    inputs: str = "inp_0"
    found: tuple[int, Expire | Revert] | None = None  # what watch sees, and in which generation
    runs: int = 0
    writes_left: int | None = None  # None: the process lives
    _verified: tuple[int, Chain] = (0, ())  # of so many rows

    def write(self, table: str, rows: list[Row], app_id: str, version: int) -> None:
        if self.writes_left == 0:
            raise Killed
        if self.writes_left is not None:
            self.writes_left -= 1
        if self.transactions.get((table, app_id), -1) < version:
            self.transactions[table, app_id] = version
            self.tables.setdefault(table, []).extend(rows)

    @property
    def chain(self) -> Chain:
        """Rows are added and never changed, so a chain is verified once for each number of them."""
        rows = self.rows("active_policies")
        if self._verified[0] != len(rows):
            self._verified = len(rows), verified_chain("demo", "q", rows)
        return self._verified[1]

    def rows(self, table: str) -> list[Row]:
        return self.tables.get(table, [])

    def copied(self) -> Memory:
        tables = {name: list(rows) for name, rows in self.tables.items()}
        return replace(self, tables=tables, transactions=dict(self.transactions))

    def standing(self, mode: Mode) -> Standing:
        chain = self.chain
        verdicts = list(map(VERDICTS.from_row, self.rows("verdicts")))
        current = {v.candidate_id: v for v in verdicts if v.input_fingerprint == self.inputs}
        return standing(
            input_fingerprint=self.inputs,
            mode=mode,
            verdicts=list(current.values()),
            chain=chain,
            due=self.found[1] if self.found and self.found[0] == len(chain) else None,
            unlinked=any(p.id not in {e["child_id"] for e in self.rows("lineage")} for p in chain),
            promoted_by=next((v for v in verdicts if chain and v.id == chain[-1].verdict_id), None),
        )


class MemoryStore(Store):
    """Reads the tables as they are when a snapshot is taken; what is written goes through the real writer."""

    def __init__(self, memory: Memory) -> None:
        super().__init__("memory://", "demo", lambda: None)  # type: ignore[arg-type, return-value]
        self.memory = memory

    def newest(self) -> MemorySnapshot:
        return MemorySnapshot(**{name: list(rows) for name, rows in self.memory.tables.items()})


class MemoryRun(Run):
    """One process; with `stale` it has read where the query stands before somebody else wrote."""

    def __init__(
        self, memory: Memory, mode: Mode = "auto", *, by_hand: bool = False, stale: Standing | None = None
    ) -> None:
        memory.runs += 1
        workload = Workload("demo", Path("planopt.yaml"), "memory", (), (Query("q", sql="SELECT 1"),), mode=mode)
        workspace: Any = SimpleNamespace(workload=workload, store=MemoryStore(memory))
        super().__init__(workspace, f"run-{memory.runs}", by_hand=by_hand)
        self.memory, self.stale = memory, stale

    def standings(self) -> dict[str, Standing]:
        return {"q": self.stale or self.memory.standing(self.workload.mode)}  # type: ignore[arg-type]


@contextmanager
def written_to(memory: Memory, dies_after: int | None = None) -> Iterator[None]:
    """Everything the stage writes lands here; the process dies before write `dies_after` + 1."""

    def write(_: Any, root: str, table: str, rows: list[Row], *, app_id: str, version: int, after: int = 0) -> None:
        memory.write(table, [dict(row) for row in rows], app_id, version)

    memory.writes_left = dies_after
    with mock.patch.object(writer, "write", write):
        try:
            yield
        finally:
            memory.writes_left = None
