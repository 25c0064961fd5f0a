"""Layouts by processes that are killed: the next start is clean, the table is whole, and nothing is done twice."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from py4j.protocol import Py4JError

from planopt_assets.engine.delta import rewriting
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import MaintenanceFailed
from planopt_assets.loop.maintaining.apply import apply_layout
from planopt_assets.loop.maintaining.remembering import memory
from planopt_assets.loop.maintaining.undo import undo_layout
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.store.codecs.maintaining import LAYOUT_VERDICTS, PROPOSALS
from planopt_assets.store.crash_points import EXIT_CODE, VARIABLE
from planopt_assets.workload.load import load_workload
from planopt_tests.conftest import write_workload_file
from planopt_tests.e2e.test_layouts import (
    FILES,
    QUERIES,
    actions,
    any_rewrite_pays,
    folder,
    new_run,
    observed,
    only_log,
    proposal_of,
    run,
    tried,
    workload,
)
from planopt_tests.engine.test_layouts_in_spark import append, bytes_of, files_of, rows
from planopt_tests.promote.lenient_planopt import lenient_planopt

__all__ = ["any_rewrite_pays", "folder", "observed", "run", "tried"]
pytestmark = pytest.mark.e2e

STATISTICS = "delta.dataSkippingStatsColumns"


def workload_file(folder: Path) -> Path:
    queries = "\n".join(f"  - {{id: {q}, sql: {sql!r}, runs_per_day: 1000}}" for q, sql in QUERIES.items())
    file = write_workload_file(folder, queries)
    file.write_text(file.read_text().replace("  sales: data/sales", "  sales: {path: data/sales, maintain: auto}"))
    return file


def prove_for(file: Path) -> None:
    """The same verdicts for the readers of the file: their limits are others than those of the tests."""
    run = new_run(load_workload(file))
    readers = memory(run, "sales").readers
    verdicts = run.snapshot.read(LAYOUT_VERDICTS)
    run.append("prove", {LAYOUT_VERDICTS: [replace(v, id=f"{v.id}-file", readers=readers) for v in verdicts]})


def planopt(folder: Path, *arguments: str, crash: str = "") -> subprocess.CompletedProcess[str]:
    words = ["maintain", "sales", *arguments, "-w", str(workload_file(folder))]
    return lenient_planopt(*words, cwd=folder, env={**os.environ, VARIABLE: crash})


LEFT = {
    "after_clone_mark": {".planopt"},
    "after_clone": {"", ".planopt"},
    "after_layout_rewritten": {"", ".planopt"},
    "after_layout_trials": {"", ".planopt"},
    "after_clone_folder_removed": {".planopt"},
}


@pytest.mark.parametrize("point", list(LEFT))
def test_killed_in_a_trial_or_its_clean_up_the_next_start_is_clean(observed: Path, tmp_path: Path, point: str) -> None:
    folder = shutil.copytree(observed, tmp_path, dirs_exist_ok=True)
    before = bytes_of(folder / "data" / "sales")
    done = planopt(folder, crash=point)
    assert done.returncode == EXIT_CODE, done.stderr
    left = [f for f in (folder / "store" / "_clones").iterdir() if f.name.startswith("lay-")]
    assert {f.suffix for f in left} == LEFT[point]
    Workspace(workload(folder))._hold()
    assert [f.name[:4] for f in (folder / "store" / "_clones").iterdir()] == ["run-"]
    assert bytes_of(folder / "data" / "sales") == before


def test_killed_right_before_the_commit_the_table_is_whole_and_the_next_run_applies_it(spark, folder: Path) -> None:
    sales = folder / "data" / "sales"
    before, expected = bytes_of(sales), rows(spark, sales)
    prove_for(workload_file(folder))
    done = planopt(folder, "--apply", crash="before_layout_commit")
    assert done.returncode == EXIT_CODE, done.stderr
    assert bytes_of(sales) == before
    run = new_run(workload(folder))
    assert actions(run) == []
    assert maintain(run, ["sales"])[0].changed
    assert [(a.status, a.version_after) for a in actions(run)] == [("applied", FILES)]
    assert (files_of(sales), rows(spark, sales)) == (1, expected)


def sorted_by_shop(run: Run) -> LayoutProposal:
    """An accepted layout of two commits: a table property, then the files."""
    (verdict,) = run.snapshot.read(LAYOUT_VERDICTS)
    wanted = replace(proposal_of(run), action="zorder", columns=("shop",), properties=((STATISTICS, "id,shop"),))
    more = tuple(replace(e, saving_cpu_ns=1000) for e in wanted.expected)  # it is the first to be applied
    wanted = replace(wanted, expected=more)
    accepted = replace(verdict, id=f"{verdict.id}-sorted", proposal_id=wanted.id, layout_id=wanted.layout_id)
    run.append("propose", {PROPOSALS: [wanted], LAYOUT_VERDICTS: [accepted]})
    return wanted


def test_killed_between_the_property_and_the_files_the_action_has_failed_and_can_be_taken_back(
    spark, folder: Path
) -> None:
    sales = folder / "data" / "sales"
    sorted_by_shop(new_run(workload(folder)))
    prove_for(workload_file(folder))
    done = planopt(folder, "--apply", crash="after_layout_settings")
    assert done.returncode == EXIT_CODE, done.stderr
    assert (files_of(sales), read_table_facts("sales", str(sales)).property(STATISTICS)) == (FILES, "id,shop")
    append(sales)
    expected, run = rows(spark, sales), new_run(workload(folder))
    (result,) = maintain(run, ["sales"])
    assert "its process ended before it rewrote anything" in result.summary
    (action,) = actions(run)
    assert (action.action, action.status, action.error_code) == ("zorder", "failed", "PLN-604")
    assert (action.version_before, action.version_after) == (FILES - 1, FILES)
    assert action.undo == "planopt maintain sales --undo"
    undone = undo_layout(run, "sales", who="ada")
    assert (undone.undoes, undone.status) == (action.id, "undone")
    assert read_table_facts("sales", str(sales)).property(STATISTICS) is None
    assert rows(spark, sales) == expected


def test_what_an_action_had_set_is_put_back_when_its_rewrite_fails(
    spark, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> None:
        append(sales)
        raise Py4JError("no disk space left")

    sales, wanted = folder / "data" / "sales", sorted_by_shop(run)
    monkeypatch.setattr(rewriting, "_change", gone)
    with pytest.raises(MaintenanceFailed, match="no disk space left; what it had set on the table was put back"):
        apply_layout(run, wanted, who="ada")
    (action,) = actions(run)
    assert (action.status, action.error_code, action.undo) == ("failed", "PLN-604", "")
    assert (action.version_before, action.version_after) == (FILES - 1, FILES + 2)
    assert read_table_facts("sales", str(sales)).property(STATISTICS) is None
    assert len(rows(spark, sales)) == FILES * 20 + 3


def test_killed_after_an_undo_it_is_neither_lost_nor_done_twice(spark, folder: Path, run: Run) -> None:
    sales = folder / "data" / "sales"
    expected = rows(spark, sales)
    applied = apply_layout(run, sorted_by_shop(run), who="ada")
    assert (applied.version_before, applied.version_after) == (FILES - 1, FILES + 1)
    done = planopt(folder, "--undo", crash="after_undo_commit")
    assert done.returncode == EXIT_CODE, done.stderr
    assert len(actions(run)) == 1
    undone = undo_layout(new_run(workload(folder)), "sales", who="ada")
    assert (undone.undoes, undone.version_after) == (applied.id, FILES + 2)
    assert DeltaTable(str(sales)).version() == FILES + 2
    assert read_table_facts("sales", str(sales)).property(STATISTICS) is None
    assert (files_of(sales), rows(spark, sales)) == (FILES, expected)
    assert [a.status for a in actions(new_run(workload(folder)))] == ["applied", "undone"]


def test_killed_after_the_commit_the_action_is_neither_lost_nor_done_twice(spark, folder: Path) -> None:
    sales = folder / "data" / "sales"
    expected = rows(spark, sales)
    prove_for(workload_file(folder))
    done = planopt(folder, "--apply", crash="after_layout_commit")
    assert done.returncode == EXIT_CODE, done.stderr
    assert files_of(sales) == 1
    run = new_run(workload(folder))
    assert actions(run) == []
    (result,) = maintain(run, ["sales"])
    assert "found in the table's log" in result.summary
    (action,) = actions(run)
    assert (action.status, action.files_before, action.files_after) == ("applied", FILES, 1)
    assert (action.version_before, action.version_after) == (FILES - 1, FILES)
    assert DeltaTable(str(sales)).version() == FILES
    assert rows(spark, sales) == expected

    wish = {"properties": (("delta.autoOptimize.optimizeWrite", "true"),)}
    later = new_run(workload(folder))
    later.append("propose", {PROPOSALS: [only_log(later, "properties", **wish)]})
    done = planopt(folder, "--apply", crash="after_layout_commit")
    assert done.returncode == EXIT_CODE, done.stderr
    last = new_run(workload(folder))
    assert len(actions(last)) == 1
    (result,) = maintain(last, ["sales"])
    assert "found in the table's log" in result.summary
    assert [(a.action, a.status, a.version_after) for a in actions(last)] == [
        ("compact", "applied", FILES),
        ("properties", "applied", FILES + 1),
    ]
    for undone in reversed(actions(last)):  # the last change goes first
        assert undo_layout(last, "sales", who="ada").undoes == undone.id
    assert read_table_facts("sales", str(sales)).property("delta.autoOptimize.optimizeWrite") is None
    assert files_of(sales) == FILES
    assert rows(spark, sales) == expected
