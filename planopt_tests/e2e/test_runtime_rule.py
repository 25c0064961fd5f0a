"""A join input that is small only at run time: found from actual rows, re-planned without the shuffle, accepted.

`events` has 1,000,000 rows of 37 kinds. Grouped by kind it is 37 rows, but the planner estimates it at the size of the
table. So it shuffles `visits`, 400,000 rows, before adaptive execution can see how small the other side is.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.decide.stage import decide_queries
from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Knobs, Query, Workload
from planopt_assets.observe.stage import observe
from planopt_assets.replan.stage import replan
from planopt_assets.run import Run
from planopt_assets.store.reader import StoreReader
from planopt_assets.validate.stage import validate
from planopt_tests.conftest import workload_of
from planopt_tests.lenient import LENIENT

pytestmark = pytest.mark.e2e

RULE = "broadcast_small_side"
EVENTS, VISITS, PAYLOAD = 1_000_000, 400_000, 40
GROUPED = "(SELECT kind, max(value) AS top, max(other) AS other FROM events GROUP BY kind) g"
MODULE = """
from pyspark.sql import functions as F

def frame(spark):
    top, other = F.max("value").alias("top"), F.max("other").alias("other")
    g = spark.table("events").groupBy("kind").agg(top, other).alias("g")
    v = spark.table("visits").alias("v")
    return v.join(g, F.col("v.kind") == F.col("g.kind")).select("v.id", "v.payload", "g.top", "g.other")
"""
QUERIES = [
    Query(
        "text",
        sql=f"SELECT v.id, v.payload, g.top, g.other FROM visits v JOIN {GROUPED} ON v.kind = g.kind",
        runs_per_day=1000,
    ),
    Query("frame", python="queries:frame", runs_per_day=1000),
    # The same, joined to a table that is broadcast anyway: there is nothing to save.
    Query("small", sql=f"SELECT k.name, g.top FROM kinds k JOIN {GROUPED} ON k.kind = g.kind", runs_per_day=1000),
]


def make_data(folder: Path) -> Path:
    """Values and payloads are random, so that files are as large as what is in them; drawn from a fixed seed."""
    from deltalake import write_deltalake

    draw = np.random.default_rng(7)
    tables = {
        "events": {
            "kind": pa.array(np.arange(EVENTS) % 37),
            "value": pa.array(draw.integers(0, 2**62, EVENTS)),
            "other": pa.array(draw.integers(0, 2**62, EVENTS)),
        },
        "visits": {
            "id": pa.array(np.arange(VISITS)),
            "kind": pa.array(np.arange(VISITS) % 41),
            "payload": pa.array([draw.bytes(PAYLOAD) for _ in range(VISITS)], pa.binary()),
        },
        "kinds": {"kind": pa.array(np.arange(37)), "name": pa.array([f"k{i}" for i in range(37)])},
    }
    for name, columns in tables.items():
        write_deltalake(folder / "data" / name, pa.table(columns))
    (folder / "queries.py").write_text(MODULE)
    return folder


@pytest.fixture(scope="module")
def workload(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Workload:
    """After observe, decide, replan and validate; other knobs are not allowed, so that only this rule speaks."""
    folder = make_data(tmp_path_factory.mktemp("runtime"))
    only = Knobs(allow=("spark.sql.autoBroadcastJoinThreshold",))
    done = workload_of(folder, QUERIES, knobs=only, allow_python=True, mode="advise")
    run = Run(Workspace(done), str(uuid.uuid4()), rules=LENIENT)
    for stage in (observe, decide_queries, replan, validate):
        stage(run, [q.id for q in QUERIES])
    return done


def stored(workload: Workload, table: str, query: str) -> list[dict[str, Any]]:
    return StoreReader(workload.store, workload.name).rows(table, query_id=query)


def decision(workload: Workload, query: str) -> dict[str, Any]:
    (one,) = [d for d in stored(workload, "policy_decisions", query) if d["rule"] == RULE]
    return one


@pytest.mark.parametrize("query", ["text", "frame"])
def test_the_small_side_is_found_from_actual_rows(workload: Workload, query: str) -> None:
    found = decision(workload, query)
    assert found["kind"] == "proposal", found["reason"]
    assert Policy.from_json(found["policy_after"]) == Policy(hints=("broadcast(join0.right g)",))


@pytest.mark.parametrize("query", ["text", "frame"])
def test_it_is_replanned_without_the_shuffle(workload: Workload, query: str) -> None:
    (candidate,) = stored(workload, "candidate_plans", query)
    assert (candidate["kept"], candidate["took_effect"]) == (True, ["broadcast(join0.right g)"])
    diff = candidate["diff"].splitlines()
    assert any(line.startswith("-") and "SortMergeJoin" in line for line in diff)
    assert any(line.startswith("+") and "BroadcastHashJoin Inner Right" in line for line in diff)


@pytest.mark.parametrize("query", ["text", "frame"])
def test_it_is_accepted_with_equal_results_and_fewer_shuffle_bytes(workload: Workload, query: str) -> None:
    (verdict,) = stored(workload, "verdicts", query)
    assert (verdict["outcome"], verdict["results_equal"]) == ("accept", True), verdict["reason"]
    counters = [c for c in stored(workload, "runtime_counters", query) if c["purpose"] == "trial"]
    before = [c["shuffle_write_bytes"] for c in counters if c["policy_id"] == ORIGINAL.id]
    after = [c["shuffle_write_bytes"] for c in counters if c["policy_id"] == verdict["policy_id"]]
    assert min(before) > VISITS * PAYLOAD  # every visit went through the shuffle with its payload
    assert max(after) < 1_000_000  # only the grouped kinds do


def test_where_the_other_side_is_small_as_well_nothing_is_proposed(workload: Workload) -> None:
    assert decision(workload, "small")["kind"] == "no_change"
    assert stored(workload, "candidate_plans", "small") == []
