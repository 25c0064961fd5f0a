"""Properties that keep a layout, before anything starts Spark: which are set, which are refused, and what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import MaintenanceRefused
from planopt_assets.loop.maintaining.apply import apply_layout
from planopt_assets.loop.maintaining.records import keep_action
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages import maintain as stage
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.model.table_properties import AUTO_COMPACT, DELETION_VECTORS, OPTIMIZE_WRITE
from planopt_assets.store.codecs.maintaining import ACTIONS, PROPOSALS
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.no_spark import no_spark

pytestmark = pytest.mark.fast

LOCKS_OUT = "software without the table feature `deletionVectors` could no longer read it or write to it"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_tables(tmp_path, files=1, rows=5)


def run_of(folder: Path, name: str, **table: Any) -> Run:
    made = workload_of(folder, [], mode="auto")
    tables = tuple(replace(t, **{"maintain": "by_hand", **table}) for t in made.tables)
    return Run(Workspace(replace(made, tables=tables), no_spark), name)


def proposal(run: Run, name: str) -> LayoutProposal:
    table = next(t for t in run.workspace.tables if t.name == "sales")
    properties = ((name, "true"),)
    return LayoutProposal("sales", table.table_id, table.version, "properties", properties=properties, reason="many")


def propose(run: Run, *names: str) -> None:
    """These properties, for a table that planopt has laid out."""
    made = [proposal(run, name) for name in names]
    layout = MaintenanceAction("mnt-0", "sales", made[0].table_id, "compact", "applied", "small files")
    run.append("propose", {PROPOSALS: made, ACTIONS: [layout]})


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The properties that were set."""
    done: list[str] = []

    def apply(run: Run, made: LayoutProposal, *, who: str | None) -> MaintenanceAction:
        done.append(made.properties[0][0])
        action = MaintenanceAction(
            *(f"mnt-{run.run_id}-{made.id}", "sales", made.table_id, "properties", "applied", ""), proposal_id=made.id
        )
        keep_action(run, action)
        return action

    monkeypatch.setattr(stage, "apply_layout", apply)
    return done


def test_a_person_sets_one_of_two_remedies_and_nothing_that_locks_others_out(folder: Path, applied: list[str]) -> None:
    run = run_of(folder, "day")
    propose(run, AUTO_COMPACT, DELETION_VECTORS, OPTIMIZE_WRITE)
    (asked,) = maintain(run, ["sales"], who="ada", apply=False)
    assert (
        f"set {AUTO_COMPACT} = true on sales (not yet: {OPTIMIZE_WRITE} is the same remedy for less)" in asked.summary
    )
    assert f"set {DELETION_VECTORS} = true on sales (not yet: {LOCKS_OUT}" in asked.summary
    (result,) = maintain(run, ["sales"], who="ada")
    assert applied == [OPTIMIZE_WRITE]
    assert f"applied: set {OPTIMIZE_WRITE} = true on sales" in result.summary
    assert f"set {AUTO_COMPACT} = true on sales: not applied: {OPTIMIZE_WRITE} is the same" in result.summary
    assert f"set {DELETION_VECTORS} = true on sales: not applied: {LOCKS_OUT}" in result.summary
    assert "write `features: [deletionVectors]` below `sales:`" in result.summary


def test_auto_compaction_alone_is_set(folder: Path, applied: list[str]) -> None:
    run = run_of(folder, "day")
    propose(run, AUTO_COMPACT)
    assert maintain(run, ["sales"], who="ada")[0].changed
    assert applied == [AUTO_COMPACT]


def test_deletion_vectors_are_set_where_the_workload_file_allows_exactly_them(folder: Path, applied: list[str]) -> None:
    propose(run_of(folder, "look"), DELETION_VECTORS)
    maintain(run_of(folder, "day-1", features=("clustering",)), ["sales"], who="ada")
    assert applied == []
    maintain(run_of(folder, "day-2", features=("deletionVectors",)), ["sales"], who="ada")
    assert applied == [DELETION_VECTORS]


def test_automation_sets_none_of_them(folder: Path) -> None:
    run = run_of(folder, "night", maintain="auto", features=("deletionVectors",))
    propose(run, AUTO_COMPACT, DELETION_VECTORS)
    (result,) = maintain(run, ["sales"])
    assert not result.changed
    assert result.summary.count("not applied: those who write to the table pay for it") == 2


def test_a_property_that_locks_others_out_is_refused_right_before_it_is_set(folder: Path) -> None:
    """Whoever asks, and whatever was looked at before: a row says so, and Spark is not started."""
    run = run_of(folder, "day")
    with pytest.raises(MaintenanceRefused, match="could no longer read it or write to it"):
        apply_layout(run, proposal(run, DELETION_VECTORS), who="ada")
    (row,) = run.store.newest().read(ACTIONS, table="sales")
    assert (row.status, row.error_code, row.who) == ("refused", "PLN-602", "ada")
    assert not run.workspace.started


def test_each_property_is_looked_for_in_the_log_after_a_kill(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One was set by a process that ended before it stored its row, and another one was proposed with it."""
    run, asked = run_of(folder, "day"), []
    propose(run, AUTO_COMPACT, DELETION_VECTORS, OPTIMIZE_WRITE)
    monkeypatch.setattr(stage, "recover", lambda _run, made: asked.append(made.properties[0][0]))
    maintain(run, ["sales"], who="ada", apply=False)
    assert sorted(asked) == sorted([AUTO_COMPACT, DELETION_VECTORS, OPTIMIZE_WRITE])
