"""What an undo decides before it starts Spark: whether planopt may write, what is to go, and what is stored."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import MaintenanceRefused, TableReplaced, UndoRefused
from planopt_assets.loop.maintaining.records import keep_action
from planopt_assets.loop.maintaining.undo import _last_change, undo_layout
from planopt_assets.loop.run import Run
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.store.codecs.maintaining import ACTIONS
from planopt_tests.conftest import make_tables, workload_of

pytestmark = pytest.mark.fast


def run_of(folder: Path, how: Any) -> Run:
    made = workload_of(folder, [])
    return Run(Workspace(replace(made, tables=tuple(replace(t, maintain=how) for t in made.tables))), str(uuid.uuid4()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_tables(tmp_path, files=1, rows=5)


@pytest.fixture
def run(folder: Path) -> Iterator[Run]:
    made = run_of(folder, "by_hand")
    yield made
    assert not made.workspace.started
    made.workspace.close()


def changed(run: Run, name: str, status: Any = "applied", **more: Any) -> MaintenanceAction:
    table = next(t for t in run.workspace.tables if t.name == "sales")
    undo = "planopt maintain sales --undo"
    made = MaintenanceAction(
        *(f"mnt-{name}", "sales", table.table_id, "compact", status, "compacts sales"),
        **{"version_before": 0, "version_after": 1, "undo": undo} | more,
    )
    keep_action(run, made)
    run.store.refresh()
    return made


def rows(run: Run) -> list[tuple[str, str | None, str | None, str]]:
    found = run.store.newest().read(ACTIONS, table="sales")
    return [(a.status, a.error_code, a.who, a.undoes) for a in found if a.action == "restore"]


def test_a_table_of_others_is_not_written_by_an_undo_either_and_the_refusal_is_stored(folder: Path) -> None:
    made = run_of(folder, "never")
    changed(made, "1")
    with pytest.raises(MaintenanceRefused, match="does not say that planopt may change its layout"):
        undo_layout(made, "sales", who="ada")
    assert rows(made) == [("refused", "PLN-602", "ada", "")]
    assert not made.workspace.started


def test_where_nothing_was_changed_nothing_is_taken_back_and_the_refusal_is_stored(run: Run) -> None:
    with pytest.raises(UndoRefused, match="has changed nothing"):
        undo_layout(run, "sales", who="ada")
    assert rows(run) == [("refused", "PLN-605", "ada", "")]


def test_a_table_that_was_replaced_is_not_touched_and_the_refusal_names_the_change(folder: Path, run: Run) -> None:
    last = changed(run, "1")
    shutil.rmtree(folder / "data" / "sales")
    write_deltalake(folder / "data" / "sales", pa.table({"id": [1]}))
    with pytest.raises(TableReplaced):
        undo_layout(run, "sales", who="ada")
    assert rows(run) == [("refused", "PLN-607", "ada", last.id)]


def test_a_refused_undo_does_not_count_as_done(run: Run) -> None:
    first, last = changed(run, "1"), changed(run, "2")
    changed(run, "3", "refused", undo="", undoes=last.id)
    assert _last_change(run, "sales").id == last.id
    changed(run, "4", "undone", undo="", undoes=last.id)
    assert _last_change(run, "sales").id == first.id


def test_what_a_failed_change_left_on_the_table_is_taken_back_first(run: Run) -> None:
    changed(run, "1")
    changed(run, "2", "failed", undo="")  # the table was as before
    left = changed(run, "3", "failed")
    assert _last_change(run, "sales").id == left.id
