"""Statistics that the log does not hold, through the loop: proposed, proven on a clone, collected, taken back.

No data file is written, neither by the trial nor by applying it. What a clock would decide is left out.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.maintaining import layout_trial
from planopt_assets.loop.maintaining.undo import undo_layout
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.model.workload import Query
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS, PROPOSALS, READINESS
from planopt_tests.conftest import workload_of
from planopt_tests.lenient import LENIENT

pytestmark = pytest.mark.e2e

STATISTICS = "delta.dataSkippingStatsColumns"
DAYS, ROWS = 6, 20_000
QUERY = Query("by_day", sql="SELECT count(*) AS n, sum(id) AS ids FROM visits WHERE day = 3", runs_per_day=1000.0)


@pytest.fixture(autouse=True)
def any_rewrite_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout_trial, "break_even_days", lambda *_: 1.0)


@pytest.fixture
def run(spark, tmp_path: Path) -> Iterator[Run]:
    """One file per day, and a writer that keeps statistics of `id` alone."""
    from delta.tables import DeltaTable

    visits = str(tmp_path / "data" / "visits")
    table = DeltaTable.create(spark).location(visits).addColumn("id", "BIGINT").addColumn("day", "BIGINT")
    table.property(STATISTICS, "id").execute()
    rows = spark.range(0, DAYS * ROWS, 1, DAYS).selectExpr("id", f"id div {ROWS} AS day")
    rows.write.format("delta").mode("append").save(visits)
    made = workload_of(tmp_path, [replace(QUERY, max_loss=1e9)], mode="auto")
    made = replace(made, tables=tuple(replace(t, maintain="auto") for t in made.tables))
    run = Run(Workspace(made), str(uuid.uuid4()), rules=LENIENT)
    yield run
    run.workspace.close()


def test_files_in_order_of_a_column_without_statistics_get_them_and_no_file_is_written(run: Run) -> None:
    visits = Path(str(run.workload.tables[0].path))
    files = sorted(visits.glob("*.parquet"))
    observe(run, ["by_day"])
    readiness(run, ["visits"])
    found = run.store.newest()
    assert "no_statistics" in {f.cause for f in found.read(READINESS, table="visits")[-1].findings}
    (proposal,) = found.read(PROPOSALS, table="visits")
    assert (proposal.action, proposal.columns, proposal.bytes_rewritten) == ("statistics", ("day",), 0)
    assert [(e.files_before, e.files_after) for e in proposal.expected] == [(DAYS, 1)]

    (result,) = maintain(run, ["visits"])
    (verdict,) = run.store.newest().read(LAYOUT_VERDICTS, table="visits")
    assert (verdict.outcome, verdict.results_equal, verdict.bytes_rewritten) == ("accept", True, 0), verdict.reason
    assert verdict.rewrite_cpu_ns > 0  # reading every row for its ranges is charged
    assert [(m.files_before, m.files_after) for m in verdict.measured] == [(DAYS, 1)]
    assert verdict.prediction_error == 0.0
    assert result.changed
    (action,) = run.store.newest().read(ACTIONS, table="visits")
    assert (action.action, action.status, action.files_before, action.files_after) == (
        *("statistics", "applied"),
        *(DAYS, DAYS),
    )
    assert read_table_facts("visits", str(visits)).property(STATISTICS) == "id,day"
    assert sorted(visits.glob("*.parquet")) == files

    later = Run(Workspace(run.workload), str(uuid.uuid4()), rules=LENIENT)
    observe(later, ["by_day"])
    readiness(later, ["visits"])
    found = later.store.newest()
    assert "no_statistics" not in {f.cause for f in found.read(READINESS, table="visits")[-1].findings}
    assert found.read(PROPOSALS, table="visits") == [proposal]  # nothing more is proposed
    undone = undo_layout(later, "visits", who="ada")
    assert (undone.status, undone.undoes) == ("undone", action.id)
    assert read_table_facts("visits", str(visits)).property(STATISTICS) == "id"
    later.workspace.close()
