"""A setting that most queries of a workload gained from is the first candidate of a new one, over real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, no_change, propose
from planopt_assets.loop import experiences
from planopt_assets.model.decision import AS_MOST
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query, Workload
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.one_pass import run_all
from planopt_tests.rows import FEWER
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark

PARTITIONS = "spark.sql.shuffle.partitions"
OWN = Policy.of({PARTITIONS: "50"})
"""What a rule wants for the new query: another value for the same knob, so the two cannot be in force together."""
OLD = [
    Query(name, sql=f"SELECT shop, {what} AS n FROM sales GROUP BY shop", runs_per_day=1000.0)
    for name, what in (("counted", "count(*)"), ("summed", "sum(id)"), ("largest", "max(amount)"))
]
NEW = Query("smallest", sql="SELECT shop, min(amount) AS n FROM sales GROUP BY shop", runs_per_day=1000.0)


def as_scripted(evidence: Evidence) -> Answer:
    """Few partitions for the three; for the new one another number, for which it promises a hundred times more."""
    if evidence.policy.parts:
        return no_change("they are few", {})
    if evidence.query_id == NEW.id:
        return propose(dict(OWN.settings), "fifty are right", saved_cpu_ns=10**11, arithmetic={})
    return propose(dict(FEWER.settings), "there are many", saved_cpu_ns=10**9, arithmetic={})


@pytest.fixture(scope="module")
def done(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workload]:
    """Three queries with the same accepted setting; then a fourth one stands in the workload file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decide_module, "RULES", (("as_scripted", as_scripted),))
        # What an accept saved is told and not measured: no test depends on a clock.
        patch.setattr(experiences, "_saved", lambda verdict: 0.3 if verdict.accepted else 0.0)
        workload = workload_of(make_tables(tmp_path_factory.mktemp("common")), OLD, mode="auto")
        run_all(workload)
        grown = replace(workload, queries=(*workload.queries, NEW))
        run_all(grown)
        yield grown


def rows_of(workload: Workload, table: str, query_id: str) -> list[dict[str, Any]]:
    return StoredRows(workload.store, workload.name).rows(table, query_id=query_id)


def test_the_three_gained_from_one_setting(done: Workload) -> None:
    for query in OLD:
        accepted = [v["policy_id"] for v in rows_of(done, "verdicts", query.id) if v["outcome"] == "accept"]
        assert accepted == [FEWER.id]


def test_it_is_proposed_to_the_fourth_beside_what_the_rule_wants(done: Workload) -> None:
    proposed = {d["rule"]: d for d in rows_of(done, "policy_decisions", NEW.id) if d["kind"] == "proposal"}
    assert set(proposed) >= {AS_MOST, "as_scripted"}
    assert Policy.from_json(proposed[AS_MOST]["policy_after"]) == FEWER
    assert proposed[AS_MOST]["expected_gain_cpu_ns"] < proposed["as_scripted"]["expected_gain_cpu_ns"]


def test_it_is_the_first_candidate_that_the_fourth_tries(done: Workload) -> None:
    planned = {c["policy_id"] for c in rows_of(done, "candidate_plans", NEW.id)}
    assert {FEWER.id, OWN.id} <= planned
    trials = sorted(rows_of(done, "trials", NEW.id), key=lambda t: (t["round"], t["position"]))
    ran = [t["policy_id"] for t in trials if t["policy_id"] != ORIGINAL.id]
    assert ran[0] == FEWER.id
    last_of_it = max(n for n, policy_id in enumerate(ran) if policy_id == FEWER.id)
    assert OWN.id not in ran[:last_of_it]
