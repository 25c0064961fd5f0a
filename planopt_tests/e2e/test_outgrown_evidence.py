"""A table grows two hundredfold: its policy is suspended at once, and back when the next run has tried it again."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from planopt_assets import tuned
from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, no_change
from planopt_assets.job import production_log
from planopt_assets.loop.run import read_standings
from planopt_assets.loop.verdict_gates import conditions_hold
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.store.lineage import tree
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.one_pass import OnePass, run_all

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def no_rule_proposes(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(evidence: Evidence) -> Answer:
        return no_change("nothing to gain", {})

    monkeypatch.setattr(decide_module, "RULES", (("any_rule", rule),))


def test_a_policy_does_not_outlive_its_evidence(spark: SparkSession, one_pass: OnePass, tmp_path: Path) -> None:
    workload = one_pass.copied(tmp_path, after="promote")
    first = read_standings(workload)["by_shop"]
    assert first.active is not None
    assert first.active.conditions is not None
    proven, policy = first.active.conditions.proven, first.active.policy
    assert (proven.cores, [t.name for t in proven.tables], proven.parameters) == (2, ["sales"], ("{}",))
    assert (proven.engine or "").endswith("spark 4.2.0")
    assert first.suspended == ""

    rows = spark.range(1800 * 200).selectExpr("id", "id % 17 AS shop", "rand(7) AS amount", "uuid() AS note")
    rows.write.format("delta").mode("append").save(str(tmp_path / "data" / "sales"))
    grown = read_standings(workload)["by_shop"]
    assert "sales, which has " in grown.suspended
    assert not conditions_hold(grown).passed
    job = tuned(spark, "by_shop", workload)
    job.sql()
    assert (job.policy, job.reason) == (ORIGINAL, f"generation 1 is suspended: {grown.suspended}")

    run_all(workload)  # no rule proposes anything: the policy in force is tried because it is in force
    again = read_standings(workload)["by_shop"]
    assert [(v.policy, v.outcome) for v in again.verdicts] == [(policy, "accept")]
    assert again.active is not None
    assert (again.active.generation, again.active.policy, again.suspended) == (2, policy, "")
    (candidate,) = again.candidates
    assert [p.id for p in tree(Snapshot(workload.store, workload.name), candidate.id).parents] == ["pro-by_shop-g1"]
    job = tuned(spark, "by_shop", workload)
    job.sql()
    assert (job.policy, job.reason) == (policy, "")
    production_log._OPEN.clear()
