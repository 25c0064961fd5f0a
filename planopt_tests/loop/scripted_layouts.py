"""Tables that automation may lay out, and trials of layouts that answer as they are told: no clone, no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.maintaining.layout_trial import Tried
from planopt_assets.loop.maintaining.readers import readers_word
from planopt_assets.loop.maintaining.remembering import proven_verdict, readers
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.loop.stages import maintain as stage
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.model.layout_proposal import ExpectedRead, LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store.codecs.maintaining import ACTIONS, PROPOSALS
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.no_spark import no_spark
from planopt_tests.store.written import WrittenStore

ONE = Query("q1", sql="SELECT shop FROM sales", runs_per_day=96.0)
TWO = Query("q2", sql="SELECT id FROM sales", runs_per_day=2.0)
Tables = tuple[str, ...]


class Observed(WrittenStore):
    """Observations of one of several queries."""

    def __init__(self, workload: Workload, query: Query, run_id: str) -> None:
        super().__init__(replace(workload, tables=tuple(t for t in workload.tables if t.name == "sales")))
        self._query_id = query.id
        self.observe(query, run_id)

    def append(self, table: str, row: dict[str, Any], **how: Any) -> dict[str, Any]:
        return super().append(table, {**row, "query_id": self._query_id}, **how)


class Worked(Exception):
    """The stage began to work."""


PERMISSIONS = [(mode, maintain) for mode in ("observe", "advise", "auto") for maintain in ("never", "by_hand", "auto")]
"""Each mode of a workload with each `maintain` of a table."""


class Trials:
    """What a trial of layouts comes to, by the tables and the action; and which were asked for."""

    def __init__(self, told: Any) -> None:
        self._told = told
        self.asked: list[tuple[Tables, str]] = []

    def __call__(self, run: Run, proposals: Sequence[LayoutProposal]) -> Tried:
        tables = tuple(p.table for p in proposals)
        self.asked.append((tables, proposals[0].action))
        answer = self._told(tables, proposals[0].action)
        if isinstance(answer, Exception):
            raise answer
        outcomes = [answer] * len(tables) if isinstance(answer, str) else answer
        together = tuple(p.layout_id for p in proposals) if len(proposals) > 1 else ()
        return Tried(
            tuple(
                LayoutVerdict(
                    f"ver-{run.run_id}-{len(self.asked)}-{p.table}",
                    *(p.id, p.table, p.table_id, p.version, outcome, "as told", True),
                    files_before=p.files_before,
                    bytes_before=p.bytes_before,
                    layout_id=p.layout_id,
                    readers=readers_word(run.workload, readers(run), p.table),
                    together=together,
                    error_spent=0.01,
                )
                for p, outcome in zip(proposals, outcomes, strict=True)
            ),
            (),
        )


def laid_out_by_automation(tmp_path: Path) -> Workload:
    """`sales`, read by both queries, and `shops`; both may be laid out by automation."""
    made = workload_of(make_tables(tmp_path, files=2, rows=5), [ONE, TWO], mode="auto")
    made = replace(made, tables=tuple(replace(t, maintain="auto") for t in made.tables))
    Observed(made, ONE, "run-1"), Observed(made, TWO, "run-2")
    return made


def run_of(workload: Workload, name: str) -> Run:
    return Run(Workspace(workload, no_spark), name)


def propose(workload: Workload, table: str = "sales", action: Any = "compact", **more: Any) -> LayoutProposal:
    run = run_of(workload, f"propose-{table}-{action}")
    pinned = next(t for t in run.workspace.tables if t.name == table)
    read = (ExpectedRead("q1", 96.0, 40, 4_000, 1, 4_000, more.pop("saves", 1_000)),)
    known: dict[str, Any] = {"files_before": 40, "bytes_before": 4_000, "expected": read, "reason": "small", **more}
    made = LayoutProposal(table, pinned.table_id, pinned.version, action, **known)
    run = run_of(workload, f"propose-{made.id}")
    run.append("propose", {PROPOSALS: [made]})
    return made


def applying(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on applying a layout only stores it; the tables that got one."""
    done: list[str] = []

    def apply(run: Run, proposal: LayoutProposal, *, who: str | None) -> MaintenanceAction:
        if proposal.needs_proof:
            proven_verdict(run, proposal, by_hand=who is not None)
        done.append(proposal.table)
        action = MaintenanceAction(
            *(f"mnt-{run.run_id}-{proposal.table}", proposal.table, proposal.table_id, proposal.action, "applied", ""),
            proposal_id=proposal.id,
        )
        run.append(f"maintain:{proposal.table}", {ACTIONS: [action]})
        return action

    monkeypatch.setattr(stage, "apply_layout", apply)
    monkeypatch.setattr(stage, "recover", lambda *_: None)
    return done


def maintained(
    monkeypatch: pytest.MonkeyPatch, workload: Workload, name: str, trials: Trials, *tables: str, **how: Any
) -> list[StageResult]:
    monkeypatch.setattr(stage, "try_layouts", trials)
    return maintain(run_of(workload, name), tables or ["sales"], **how)


def append(workload: Workload) -> None:
    row = pa.table({"id": pa.array([9], pa.int64())})
    write_deltalake(str(workload.table("sales").path), row, mode="append", schema_mode="merge")
