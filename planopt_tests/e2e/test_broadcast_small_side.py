"""A join input that is small only at run time: found from actual rows, re-planned without the shuffle, accepted.

`events` has 1,000,000 rows of 37 kinds. Grouped by kind it is 37 rows, but the planner estimates it at the size of the
table. So it shuffles `visits`, 400,000 rows, before adaptive execution can see how small the other side is.

Two such inputs in sub-queries have no name that a hint could use: one threshold lets in both, if the driver holds both.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.decide import driver_memory, materiality
from planopt_assets.loop.decisions import decisions_for, evidence_for
from planopt_assets.loop.run import read_standings
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, try_rule, write_table

pytestmark = pytest.mark.e2e

THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
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
        runs_per_day=RUNS_PER_DAY,
    ),
    Query("frame", python="queries:frame", runs_per_day=RUNS_PER_DAY),
    # The same, joined to a table that is broadcast anyway: there is nothing to save.
    Query(
        "small", sql=f"SELECT k.name, g.top FROM kinds k JOIN {GROUPED} ON k.kind = g.kind", runs_per_day=RUNS_PER_DAY
    ),
]

IN_BOTH = Query(
    "in_both",
    sql="SELECT v.id, v.payload FROM visits v"
    " WHERE v.kind IN (SELECT kind FROM events GROUP BY kind HAVING max(value) > 0)"
    " AND v.shop IN (SELECT shop FROM events GROUP BY shop HAVING max(other) > 0)",
    runs_per_day=RUNS_PER_DAY,
)


def make_data(folder: Path, *, with_shops: bool = False) -> Path:
    """Values and payloads are random, so that files are as large as what is in them; drawn from a fixed seed."""
    draw = np.random.default_rng(7)
    events = {
        "kind": pa.array(np.arange(EVENTS) % 37),
        "value": pa.array(draw.integers(0, 2**62, EVENTS)),
        "other": pa.array(draw.integers(0, 2**62, EVENTS)),
    }
    visits = {
        "id": pa.array(np.arange(VISITS)),
        "kind": pa.array(np.arange(VISITS) % 41),
        "payload": pa.array([draw.bytes(PAYLOAD) for _ in range(VISITS)], pa.binary()),
    }
    if with_shops:
        events["shop"], visits["shop"] = pa.array(np.arange(EVENTS) % 53), pa.array(np.arange(VISITS) % 59)
    write_table(folder, "events", events)
    write_table(folder, "visits", visits)
    write_table(folder, "kinds", {"kind": pa.array(np.arange(37)), "name": pa.array([f"k{i}" for i in range(37)])})
    (folder / "queries.py").write_text(MODULE)
    return folder


@pytest.fixture(scope="module")
def tried(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder = make_data(tmp_path_factory.mktemp("runtime"))
    return try_rule(folder, "broadcast_small_side", QUERIES, allow=(THRESHOLD,), allow_python=True)


@pytest.mark.parametrize("query", ["text", "frame"])
def test_the_small_side_is_found_from_actual_rows(tried: Tried, query: str) -> None:
    assert tried.proposed(query) == Policy.of(hints=["broadcast(join0.right g)"])


@pytest.mark.parametrize("query", ["text", "frame"])
def test_it_is_replanned_without_the_shuffle(tried: Tried, query: str) -> None:
    (candidate,) = tried.rows("candidate_plans", query)
    assert (candidate["kept"], candidate["took_effect"]) == (True, ["broadcast(join0.right g)"])
    diff = candidate["diff"].splitlines()
    assert any(line.startswith("-") and "SortMergeJoin" in line for line in diff)
    assert any(line.startswith("+") and "BroadcastHashJoin Inner Right" in line for line in diff)


@pytest.mark.parametrize("query", ["text", "frame"])
def test_it_is_accepted_with_equal_results_and_fewer_shuffle_bytes(tried: Tried, query: str) -> None:
    tried.accepted(query)
    before, after = tried.counter(query, "shuffle_write_bytes")
    assert min(before) > VISITS * PAYLOAD  # every visit went through the shuffle with its payload
    assert max(after) < 1_000_000  # only the grouped kinds do


def test_where_the_other_side_is_small_as_well_nothing_is_proposed(tried: Tried) -> None:
    tried.left_alone("small")


# Several joins of one query together


@pytest.fixture(scope="module")
def together(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """Broadcasts end at 1 MiB, below both estimates."""
    folder = make_data(tmp_path_factory.mktemp("together"), with_shops=True)
    return try_rule(folder, "broadcast_small_side", [IN_BOTH], allow=(THRESHOLD,), settings={THRESHOLD: "1048576"})


def test_one_threshold_is_proposed_for_both_inputs(together: Tried) -> None:
    arithmetic = json.loads(together.decision("in_both")["arithmetic"])
    assert arithmetic["inputs_newly_broadcast"] == 2
    assert together.proposed("in_both") == Policy.of({THRESHOLD: str(arithmetic["threshold_target"])})


def test_under_it_neither_join_sorts_or_shuffles(together: Tried) -> None:
    before, after = together.ran("in_both")
    assert [node.kind for node in before.nodes].count("Exchange") > [n.kind for n in after.nodes].count("Exchange")
    diff = together.rows("candidate_plans", "in_both")[0]["diff"].splitlines()
    assert any(line.startswith("-") and "SortMergeJoin" in line for line in diff)
    assert not any(line.startswith("+") and "SortMergeJoin" in line for line in diff)
    assert [node.kind for node in after.nodes].count("BroadcastHashJoin") == 2


def test_it_is_accepted_with_equal_results_and_no_visit_in_a_shuffle(together: Tried) -> None:
    together.accepted("in_both")
    before, after = together.counter("in_both", "shuffle_write_bytes")
    assert min(before) > VISITS * PAYLOAD  # every visit went through a shuffle with its payload
    assert max(after) < 1_000_000


@pytest.mark.parametrize(("missing", "kind"), [(0, "proposal"), (1, "cannot_tell")])
def test_it_is_proposed_only_while_both_together_fit_into_the_driver(
    together: Tried, monkeypatch: pytest.MonkeyPatch, missing: int, kind: str
) -> None:
    """The stored rows decided again, with room for both to the byte, and with one byte less."""
    snapshot = Snapshot(together.workload.store, together.workload.name)
    standing = read_standings(together.workload, snapshot=snapshot)["in_both"]
    evidence, _ = evidence_for(together.workload, snapshot, standing, None)
    assert evidence is not None
    target = json.loads(together.decision("in_both")["arithmetic"])["threshold_target"]
    inputs = [side.bytes or 0 for e in evidence.executions for _, side in driver_memory.let_in(e, target)]
    assert min(inputs) > 0
    both = sum(inputs)
    monkeypatch.setattr(driver_memory, "LARGEST", driver_memory.held_bytes(evidence) + both - missing)
    monkeypatch.setattr(materiality, "TRIAL_SHARE", materiality.FLOOR_SHARE)  # as in `try_rule`
    (found,) = [d for d in decisions_for(together.workload, snapshot, standing) if d.rule == together.rule]
    assert found.kind == kind
    if missing:
        assert f"larger than {both - 1:,} bytes together" in found.reason
