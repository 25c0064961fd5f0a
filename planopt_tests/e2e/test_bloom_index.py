"""Bloom filters through the loop: proposed for a needle that nothing else skips, proven, applied, taken back.

What a clock would decide is left out, as in `test_layout_cases.py`: whether fewer rows are read decides.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.own_commits import changes_rows
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.maintaining import layout_trial
from planopt_assets.loop.maintaining.undo import undo_layout
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.maintain.index import READS_LESS
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.verdict import Criterion
from planopt_assets.model.workload import Query
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_TRIALS, LAYOUT_VERDICTS, PROPOSALS
from planopt_tests.conftest import workload_of
from planopt_tests.engine.test_layouts_in_spark import bytes_of
from planopt_tests.lenient import LENIENT

pytestmark = pytest.mark.e2e

FILES, ROWS = 6, 40_000
"""Each key is there once, so Parquet keeps no dictionary of them. Each code is there twice: its dictionary tells it."""
QUERIES = {
    "needle": "SELECT count(*) AS n, max(code) AS code FROM parcels WHERE key = 'ac09bdc10c90d57bd2d9117485ce3fa7'",
    "by_code": "SELECT count(*) AS n, max(key) AS key FROM parcels WHERE code = 20011",
    "range": "SELECT count(*) AS n, max(code) AS code FROM parcels WHERE key > '5'",
}


@pytest.fixture(scope="module", autouse=True)
def any_rewrite_pays() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout_trial, "break_even_days", lambda *_: 1.0)
        yield


@pytest.fixture(scope="module")
def folder(spark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every file holds keys and codes of the whole range, each of them in one file only."""
    made = tmp_path_factory.mktemp("bloom")
    rows = spark.range(0, FILES * ROWS, 1, FILES)
    columns = rows.selectExpr("md5(CAST(id AS STRING)) AS key", f"pmod(id div 2 * 7919, {FILES * ROWS // 2}) AS code")
    columns.write.format("delta").save(str(made / "data" / "parcels"))
    return made


def new_run(folder: Path, *queries: str, index: bool = True) -> Run:
    """A run with a store of its own for each set of queries."""
    asked = [Query(name, sql=QUERIES[name], runs_per_day=1000.0, max_loss=1e9) for name in queries]
    made = workload_of(folder, asked, mode="auto", store=str(folder / f"store-{'-'.join(queries)}"))
    tables = tuple(replace(t, maintain="auto", index=index) for t in made.tables)
    return Run(Workspace(replace(made, tables=tables)), str(uuid.uuid4()), rules=LENIENT)


def proposed(run: Run) -> list[LayoutProposal]:
    observe(run, [q.id for q in run.workload.queries])
    readiness(run, ["parcels"])
    return run.store.newest().read(PROPOSALS, table="parcels")


def maintained(run: Run) -> tuple[StageResult, LayoutVerdict, dict[str, Criterion]]:
    (result,) = maintain(run, ["parcels"])
    (verdict,) = run.store.newest().read(LAYOUT_VERDICTS, table="parcels")
    return result, verdict, {c.name: c for c in verdict.criteria}


def test_a_range_gets_no_index_nor_does_a_table_whose_owner_did_not_ask_for_one(folder: Path) -> None:
    assert [p.action for p in proposed(new_run(folder, "range"))] == []
    assert [p.action for p in proposed(new_run(folder, "needle", index=False))] == []


def test_an_index_that_leaves_nothing_out_is_rejected_whatever_it_costs(folder: Path) -> None:
    before, run = bytes_of(folder / "data" / "parcels"), new_run(folder, "by_code")
    assert [(p.action, p.columns) for p in proposed(run)] == [("bloom", ("code",))]
    result, verdict, criteria = maintained(run)
    assert (result.changed, verdict.outcome) == (True, "reject")
    assert verdict.reason.startswith("the filters leave nothing out: input_rows"), verdict.reason
    assert criteria[READS_LESS].passed is False
    assert run.store.newest().read(ACTIONS, table="parcels") == []
    assert bytes_of(folder / "data" / "parcels") == before


def test_an_index_for_a_needle_is_proven_by_the_rows_it_leaves_out_charged_applied_and_taken_back(folder: Path) -> None:
    parcels, run = folder / "data" / "parcels", new_run(folder, "needle")
    before = bytes_of(parcels)
    (proposal,) = proposed(run)
    assert (proposal.action, proposal.columns, proposal.files_after) == ("bloom", ("key",), FILES)
    result, verdict, criteria = maintained(run)
    assert (verdict.outcome, verdict.results_equal) == ("accept", True), verdict.reason
    assert (criteria[READS_LESS].baseline, criteria[READS_LESS].candidate) == (FILES * ROWS, ROWS)  # one file holds it
    assert criteria["pays_back"].passed
    assert verdict.rewrite_cpu_ns > 0
    assert 0 < verdict.bytes_rewritten < 1.2 * proposal.bytes_before  # filters are as large as their files need them
    trials = run.store.newest().read(LAYOUT_TRIALS, table="parcels")
    assert {t.layout for t in trials} == {False, True}

    assert result.changed
    (action,) = run.store.newest().read(ACTIONS, table="parcels")
    assert (action.action, action.status, action.files_before, action.files_after) == ("bloom", "applied", FILES, FILES)
    assert not changes_rows(LogFiles("parcels", str(parcels)).commit_actions(1))
    later = new_run(folder, "needle")
    observe(later, ["needle"])
    readiness(later, ["parcels"])
    assert later.standings()["needle"].changes == ()
    known = later.store.newest().read(PROPOSALS, table="parcels")
    assert [p for p in known if p.rewrites] == [proposal]  # the filters are there: not proposed again
    undone = undo_layout(later, "parcels", who="ada")
    assert (undone.status, undone.undoes) == ("undone", action.id)
    after = bytes_of(parcels)
    assert {name: after[name] for name in before} == before  # the old files are in force, and were never touched
