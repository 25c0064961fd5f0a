"""A layout through the whole way: tried on a clone, put on the table, taken back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.own_commits import changes_rows
from planopt_assets.engine.delta.clones import Clones
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.errors import MaintenanceRefused, TableReplaced, UndoRefused, VacuumRefused
from planopt_assets.loop.maintaining.apply import apply_layout
from planopt_assets.loop.maintaining.layout_trial import try_layouts
from planopt_assets.loop.maintaining.measured_reads import NOT_COMPARED
from planopt_assets.loop.maintaining.undo import undo_layout
from planopt_assets.loop.maintaining.vacuum import vacuum_table
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.model.workload import Maintenance
from planopt_assets.store.codecs.maintaining import LAYOUT_TRIALS, LAYOUT_VERDICTS, PROPOSALS
from planopt_tests.e2e.tried_layouts import (
    FILES,
    actions,
    any_rewrite_pays,
    maintained,
    new_run,
    only_log,
    proposal_of,
    workload,
)
from planopt_tests.engine.test_layouts_in_spark import append, bytes_of, files_of, rows

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module", autouse=True)
def patched() -> Iterator[None]:
    with any_rewrite_pays():
        yield


@pytest.fixture
def folder(tried_layout: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tried_layout, tmp_path, dirs_exist_ok=True)


@pytest.fixture
def run(folder: Path) -> Iterator[Run]:
    made = new_run(workload(folder))
    yield made
    made.workspace.close()


def test_a_trial_measures_every_query_of_the_table_on_both_sides(tried_layout: Path) -> None:
    run = new_run(workload(tried_layout))
    trials = run.snapshot.read(LAYOUT_TRIALS)
    assert {t.query_id for t in trials} == {"by_shop", "total"}
    assert {(t.query_id, t.layout) for t in trials if not t.warm_up} == {
        (q, layout) for q in ("by_shop", "total") for layout in (False, True)
    }
    assert len({t.digest.bits for t in trials if t.query_id == "by_shop" and t.digest}) == 1
    (verdict,) = run.snapshot.read(LAYOUT_VERDICTS)
    assert (verdict.outcome, verdict.results_equal, verdict.subset) == ("accept", True, "")
    assert verdict.rewrite_cpu_ns > 0
    assert verdict.bytes_rewritten > 0
    assert (verdict.files_before, verdict.files_after) == (FILES, 1)
    assert {(m.query_id, m.files_before, m.files_after, m.prediction_error) for m in verdict.measured} == {
        ("by_shop", FILES, 1, 0.0),
        ("total", FILES, 1, 0.0),
    }
    assert verdict.prediction_error == 0.0
    assert {c.name for c in verdict.criteria} >= {"results_equal", "pays_back", "total: wall_ns"}


def test_a_proven_layout_is_applied_once_and_can_be_taken_back(spark, folder: Path, run: Run) -> None:
    sales = folder / "data" / "sales"
    expected = rows(spark, sales)
    (result,) = maintain(run, ["sales"])
    assert result.changed
    (action,) = actions(run)
    assert (action.status, action.who, action.attempts) == ("applied", None, 1)
    assert (action.files_before, action.files_after) == (FILES, 1)
    assert (action.version_before, action.version_after) == (FILES - 1, FILES)
    assert action.undo == "planopt maintain sales --undo"
    assert action.undo_until is not None
    assert not changes_rows(LogFiles("sales", str(sales)).commit_actions(FILES))
    assert rows(spark, sales) == expected
    later = new_run(workload(folder))
    assert maintain(later, ["sales"])[0].summary == "no layout is proposed for the table as it is"
    undone = undo_layout(later, "sales", who="ada")
    assert (undone.action, undone.status, undone.undoes, undone.who) == ("restore", "undone", action.id, "ada")
    assert files_of(sales) == FILES
    assert rows(spark, sales) == expected
    assert len(actions(later)) == 2


def test_a_checkpoint_needs_no_trial_and_properties_need_a_person(folder: Path, run: Run) -> None:
    sales, wish = folder / "data" / "sales", {"properties": (("delta.autoOptimize.optimizeWrite", "true"),)}
    run.append("propose", {PROPOSALS: [only_log(run, "checkpoint"), only_log(run, "properties", **wish)]})
    (result,) = maintain(run, ["sales"])
    assert "applied: write a checkpoint of sales" in result.summary
    assert "not applied: those who write to the table pay for it" in result.summary
    assert [(a.action, a.status, a.undo != "") for a in actions(run)] == [
        ("compact", "applied", True),
        ("checkpoint", "applied", False),
    ]
    assert (sales / "_delta_log" / f"{FILES:020d}.checkpoint.parquet").exists()
    with pytest.raises(MaintenanceRefused, match="for a person to decide"):
        apply_layout(run, only_log(run, "properties", **wish))

    later = new_run(maintained(workload(folder), "by_hand"))
    later.append("propose", {PROPOSALS: [only_log(later, "properties", **wish)]})
    (result,) = maintain(later, ["sales"], who="ada", apply=False)
    assert "in need of no trial: set delta.autoOptimize.optimizeWrite = true on sales" in result.summary
    assert maintain(later, ["sales"], who="ada")[0].changed
    assert read_table_facts("sales", str(sales)).property("delta.autoOptimize.optimizeWrite") == "true"
    assert new_run(workload(folder)).standings()["by_shop"].changes == (
        f"sales v{FILES - 1} -> v{FILES + 1}, a new layout of the same rows",
    )
    append(sales)
    last = new_run(workload(folder))
    undone = undo_layout(last, "sales", who="ada")
    assert (undone.action, undone.version_after) == ("restore", FILES + 3)
    assert read_table_facts("sales", str(sales)).property("delta.autoOptimize.optimizeWrite") is None
    with pytest.raises(UndoRefused, match=f"version {FILES + 2} was written after it"):
        undo_layout(last, "sales", who="ada")


def test_deletion_vectors_need_a_person_and_the_word_of_the_workload_file(spark, folder: Path, run: Run) -> None:
    sales, name = folder / "data" / "sales", "delta.enableDeletionVectors"
    apply_layout(run, proposal_of(run))
    made = maintained(workload(folder), "by_hand")
    closed = new_run(made)
    wish = only_log(closed, "properties", properties=((name, "true"),))
    closed.append("propose", {PROPOSALS: [wish]})
    before, expected = bytes_of(sales), rows(spark, sales)
    (result,) = maintain(closed, ["sales"], who="ada")
    assert "`deletionVectors` could no longer read it or write to it" in result.summary
    assert bytes_of(sales) == before

    allowed = replace(made, tables=tuple(replace(t, features=("deletionVectors",)) for t in made.tables))
    assert maintain(new_run(allowed), ["sales"], who="ada")[0].changed
    assert actions(new_run(allowed))[-1].undo == "planopt maintain sales --undo"
    assert read_table_facts("sales", str(sales)).property(name) == "true"
    spark.sql(f"DELETE FROM delta.`{sales}` WHERE id = {expected[0]['id']}")
    undone = undo_layout(new_run(allowed), "sales", who="ada")
    facts = read_table_facts("sales", str(sales))
    assert (undone.status, facts.property(name), facts.protocol.min_reader) == ("undone", None, 3)
    assert rows(spark, sales) == expected[1:]


def test_nobody_writes_a_checkpoint_into_a_table_of_others(folder: Path) -> None:
    made = new_run(maintained(workload(folder), "never"))
    made.append("propose", {PROPOSALS: [only_log(made, "checkpoint")]})
    before = bytes_of(folder / "data" / "sales")
    assert not maintain(made, ["sales"])[0].changed
    with pytest.raises(MaintenanceRefused, match="does not say that planopt may change"):
        apply_layout(made, only_log(made, "checkpoint"), who="ada")
    assert bytes_of(folder / "data" / "sales") == before


def test_a_new_layout_is_told_from_new_rows(folder: Path, run: Run) -> None:
    apply_layout(run, proposal_of(run))
    changes = new_run(workload(folder)).standings()["by_shop"].changes
    assert changes == (f"sales v{FILES - 1} -> v{FILES}, a new layout of the same rows",)
    append(folder / "data" / "sales")
    changes = new_run(workload(folder)).standings()["by_shop"].changes
    assert changes == (f"sales v{FILES - 1} -> v{FILES + 1}",)


@pytest.mark.parametrize(
    ("how", "mode", "who", "why"),
    [
        ("never", "auto", "ada", "does not say that planopt may change its layout"),
        ("by_hand", "auto", None, "only a person may change"),
        ("auto", "advise", None, "the workload's mode is advise"),
    ],
)
def test_a_table_is_written_only_where_the_workload_file_says_so(
    folder: Path, how: str, mode: Any, who: str | None, why: str
) -> None:
    before, made = bytes_of(folder / "data" / "sales"), new_run(replace(maintained(workload(folder), how), mode=mode))
    with pytest.raises(MaintenanceRefused, match=why):
        apply_layout(made, proposal_of(made), who=who)
    (row,) = actions(made)
    assert (row.status, row.error_code, row.who) == ("refused", "PLN-602", who)
    assert bytes_of(folder / "data" / "sales") == before


def test_a_layout_without_an_accepted_verdict_is_not_applied(observed: Path, tmp_path: Path) -> None:
    made = new_run(workload(shutil.copytree(observed, tmp_path, dirs_exist_ok=True)))
    with pytest.raises(MaintenanceRefused, match="never tried"):
        apply_layout(made, proposal_of(made), who="ada")


def test_a_table_that_was_replaced_meanwhile_is_not_touched(folder: Path, run: Run) -> None:
    sales, proposal = folder / "data" / "sales", proposal_of(run)
    shutil.rmtree(sales)
    write_deltalake(sales, pa.table({"id": pa.array([1], pa.int64())}))
    before = bytes_of(sales)
    with pytest.raises(TableReplaced):
        apply_layout(run, proposal, who="ada")
    assert bytes_of(sales) == before


def test_vacuum_waits_for_runs_and_clones_that_need_an_old_version(folder: Path) -> None:
    made = workload(folder)
    table = next(t for t in new_run(made).workspace.tables if t.name == "sales")
    with Clones(made.store).holding([table], "run-other"):
        done = vacuum_table(new_run(made), "sales", hours=None, who="ada")  # the newest version is safe
        append(folder / "data" / "sales")
        with pytest.raises(VacuumRefused, match=f"run-other needs version {FILES - 1}"):
            vacuum_table(new_run(made), "sales", hours=None, who="ada")
    with pytest.raises(VacuumRefused, match="1 hours are below its retention of 168 hours"):
        vacuum_table(new_run(made), "sales", hours=1.0, who="ada")
    rows_of = [a for a in actions(new_run(made)) if a.action == "vacuum"]
    assert done == rows_of[0]
    assert [(a.status, a.error_code) for a in rows_of] == [
        ("applied", None),
        ("refused", "PLN-606"),
        ("refused", "PLN-606"),
    ]


def test_a_table_beyond_the_limit_is_tried_on_some_of_its_files(observed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(observed, tmp_path, dirs_exist_ok=True)
    made = replace(workload(folder), maintenance=Maintenance(trial_bytes=9_000, pay_back_days=1e9))
    run, before = new_run(made), bytes_of(folder / "data" / "sales")
    proposal = proposal_of(run)
    verdict = try_layouts(run, [proposal]).verdicts[0]
    assert verdict.outcome == "accept", verdict.reason
    assert f" of {FILES} files" in verdict.subset
    assert verdict.reason.startswith(f"tried on {verdict.subset}")
    assert (verdict.files_before, verdict.files_after, verdict.prediction_error) == (FILES, None, None)
    assert [(m.files_after, m.prediction_error, m.note) for m in verdict.measured] == [(None, None, NOT_COMPARED)] * 2
    assert bytes_of(folder / "data" / "sales") == before
    run.append("maintain", {LAYOUT_VERDICTS: [verdict]})
    with pytest.raises(MaintenanceRefused, match="for a person to decide"):
        apply_layout(run, proposal)


def test_clustering_is_rejected_where_nobody_allowed_the_feature(observed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(observed, tmp_path, dirs_exist_ok=True)
    run = new_run(workload(folder))
    proposal = replace(proposal_of(run), action="cluster", columns=("shop",))
    verdict = try_layouts(run, [proposal]).verdicts[0]
    assert verdict.outcome == "reject"
    assert "`clustering`" in verdict.reason
    assert "could no longer write to it" in verdict.reason


def test_merging_is_tried_where_a_better_layout_is_refused_and_with_all_tables_at_once(
    observed: Path, tmp_path: Path
) -> None:
    """Clustering `sales` promises more, and nobody allowed it: both tables are merged, by one trial of both."""
    folder = shutil.copytree(observed, tmp_path, dirs_exist_ok=True)
    run = new_run(workload(folder))
    merge = proposal_of(run)
    more = tuple(replace(e, saving_cpu_ns=1000) for e in merge.expected)
    clustered = replace(merge, action="cluster", columns=("shop",), expected=more)
    shops = next(t for t in run.workspace.tables if t.name == "shops")
    other = replace(merge, table="shops", table_id=shops.table_id, version=shops.version, expected=())
    run.append("propose", {PROPOSALS: [clustered, other]})
    done = maintain(run, ["sales", "shops"])
    assert [r.summary.split(":")[0] for r in done] == ["applied", "applied"]
    verdicts = run.store.newest().read(LAYOUT_VERDICTS)
    assert [(v.table, v.proposal_id, v.outcome, len(v.together)) for v in verdicts] == [
        ("sales", clustered.id, "reject", 2),
        ("shops", other.id, "reject", 2),
        ("sales", merge.id, "accept", 2),
        ("shops", other.id, "accept", 2),
    ]
    assert files_of(folder / "data" / "sales") == 1
    run.workspace.close()
