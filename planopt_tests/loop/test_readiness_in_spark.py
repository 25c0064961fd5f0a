"""Tables that Spark wrote and queries that Spark ran: what readiness and proposals make of real scans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.loop.table_standing import TableStanding, table_standings
from planopt_assets.model.workload import Query
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.conftest import workload_of
from planopt_tests.one_pass import new_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUERIES = [
    Query("total", sql="SELECT shop, sum(amount) AS amount FROM feed GROUP BY shop", runs_per_day=1000),
    Query(
        "named", sql="SELECT city, amount FROM feed JOIN towns USING (shop) WHERE day = '2026-01-02'", runs_per_day=10
    ),
]


@pytest.fixture(scope="module")
def feed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> TableStanding:
    """Three appends of 49 files, each from a session of its own: auto compaction is not sure to act on them."""
    folder = tmp_path_factory.mktemp("feed")
    for part in range(3):
        frame = spark.newSession().range(part * 490, (part + 1) * 490, 1, 49)
        rows = frame.selectExpr(
            "id",
            "id % 5 AS shop",
            "cast(id AS double) AS amount",
            "date_add('2026-01-01', cast(id % 7 AS int)) AS day",
        )
        rows.write.format("delta").mode("append").save(str(folder / "data" / "feed"))
    spark.range(5).selectExpr("id AS shop", "concat('c', id) AS city").write.format("delta").save(
        str(folder / "data" / "towns")
    )
    workload = workload_of(folder, QUERIES)
    run = new_run(workload)
    observe(run, [q.id for q in QUERIES])
    readiness(run, ["feed", "towns"])
    return table_standings(workload, Snapshot(workload.store, workload.name), run.workspace.pins)["feed"]


def test_the_debt_of_49_file_appends_is_found_and_verified(feed: TableStanding) -> None:
    found = feed.readiness
    assert found is not None
    assert (found.files, found.debt, found.integrity, found.ready) == (147, 146, "verified", True)
    assert found.read_by == ("named", "total")
    assert {c.column: c.used_by for c in found.columns} == {"day": ("named",), "shop": ("named",)}


def test_merging_is_proposed_with_what_each_query_saves_and_what_keeps_it_so(feed: TableStanding) -> None:
    merge, keep = feed.proposals
    assert (merge.action, merge.files_before, merge.files_after) == ("compact", 147, 1)
    assert {e.query_id: (e.files_before, e.files_after) for e in merge.expected} == {
        "named": (147, 1),
        "total": (147, 1),
    }
    assert merge.gain == ("named", "total")
    assert merge.break_even_days is not None
    assert merge.break_even_days < 1
    assert (keep.action, dict(keep.properties)) == ("properties", {"delta.autoOptimize.optimizeWrite": "true"})
    assert "instead of 49" in keep.writers
    assert dict(merge.arithmetic)["delta.autoOptimize.autoCompact"] == (
        "not proposed: it is not sure to act: after the first write of a process it needs 50 small files in a "
        "partition, and 0 of 3 appends leave so many, none more than 49"
    )


def test_what_was_proposed_leads_back_to_the_observations(feed: TableStanding) -> None:
    assert set(feed.proposals[0].evidence_ids) == {"feed@v2", *(a.observation_id for a in feed.observations)}
