"""History over a real store: a policy judged on similar inputs is not tried again, and stays in force."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from planopt_assets.decide.stage import decide_queries
from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.workload import Query, Workload
from planopt_assets.observe.stage import observe
from planopt_assets.promote.stage import promote
from planopt_assets.replan.stage import replan
from planopt_assets.run import Run, read_standings
from planopt_assets.store.reader import StoreReader
from planopt_assets.validate.stage import validate
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.lenient import LENIENT

pytestmark = pytest.mark.spark

TEXT = "SELECT shop, count(*) AS n FROM sales GROUP BY shop"


def run_all(workload: Workload) -> Run:
    run = Run(Workspace(workload), str(uuid.uuid4()), rules=LENIENT)
    for stage in (observe, decide_queries, replan, validate, promote):
        stage(run, ["by_shop"])
    return run


def test_a_policy_in_force_stays_without_a_new_trial_while_its_table_grows(spark: SparkSession, tables: Path) -> None:
    workload = workload_of(tables, [Query("by_shop", sql=TEXT, runs_per_day=1000)], mode="auto")
    run_all(workload)
    first = read_standings(workload)["by_shop"]
    assert (first.outcome, first.facts()["carried_over"]) == ("accept", False)
    reader = StoreReader(workload.store, workload.name)
    trials = reader.table("trials").num_rows

    # The same query in other letters: nothing to do at all.
    other = replace(
        workload,
        queries=(replace(workload.queries[0], sql="select s.shop, count(*) as n from sales s group by s.shop"),),
    )
    assert read_standings(other)["by_shop"].settled

    # One more commit: observed and decided again, not tried again, and in force as before.
    make_tables(tables, files=1)
    assert read_standings(workload)["by_shop"].changes == ("sales v5 -> v6",)
    run_all(workload)
    second = read_standings(workload)["by_shop"]
    assert (second.outcome, second.facts()["carried_over"], second.settled) == ("accept", True, True)
    assert second.active is not None
    assert (second.active.generation, second.active.policy) == (1, first.policy)
    assert reader.table("trials").num_rows == trials

    # A query that means something else starts anew.
    changed = replace(workload.queries[0], sql=TEXT.replace("GROUP", "WHERE shop > 3 GROUP"))
    assert not read_standings(replace(workload, queries=(changed,)))["by_shop"].observed
