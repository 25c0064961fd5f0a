"""One policy for all queries over real Spark: proposed, tried on the whole workload, stored and exported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, no_change, propose
from planopt_assets.errors import NothingForAll
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.workload_policy import try_workload_policy
from planopt_assets.loop.workload_policies import workload_policy
from planopt_assets.model.automation import TrialWindow
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.workload import Query, Workload
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.one_pass import new_run, run_all
from planopt_tests.rows import FEWER
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark

QUERIES = [  # none minds a slower clock: no test depends on one
    Query(name, sql=f"SELECT shop, {what} AS n FROM sales GROUP BY shop", runs_per_day=1000.0, max_loss=1e9)
    for name, what in (("counted", "count(*)"), ("summed", "sum(id)"), ("largest", "max(amount)"))
]


def fewer(evidence: Evidence) -> Answer:
    if evidence.setting("spark.sql.shuffle.partitions") == "2":
        return no_change("they are few", {})
    return propose(dict(FEWER.settings), "there are many", saved_cpu_ns=10**9, arithmetic={})


@pytest.fixture(scope="module")
def done(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workload, Run]]:
    """Three queries with the same policy in force, and the trial of that policy on all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decide_module, "RULES", (("fewer", fewer),))
        workload = workload_of(make_tables(tmp_path_factory.mktemp("all")), QUERIES, mode="auto")
        run_all(workload)
        yield workload, new_run(workload)


def test_outside_the_hours_of_trials_it_is_not_tried(done: tuple[Workload, Run]) -> None:
    workload = replace(done[0], trial_window=TrialWindow(22, 6))
    run = replace(new_run(workload), now=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))
    with pytest.raises(NothingForAll, match="22:00 to 06:00"):
        try_workload_policy(run)
    assert not StoredRows(workload.store, workload.name).rows("verdicts", query_id="*")


def test_it_is_tried_on_every_query_and_judged_on_the_whole(done: tuple[Workload, Run]) -> None:
    workload, run = done
    found = try_workload_policy(run)
    assert (found.policy, found.gained, found.state) == (FEWER, ("counted", "summed", "largest"), "accept")
    rows = StoredRows(workload.store, workload.name)
    (verdict,) = rows.rows("verdicts", query_id="*")
    assert (verdict["outcome"], verdict["results_equal"], verdict["purpose"]) == ("accept", True, "try")
    trials = {t["trial_id"]: t for t in rows.rows("trials")}
    of_it = [trials[i] for i in verdict["trial_ids"]]
    assert {t["query_id"] for t in of_it} == {q.id for q in QUERIES}
    assert len({t["policy_id"] for t in of_it}) == 2


def test_asked_again_the_stored_verdict_answers_and_nothing_runs(done: tuple[Workload, Run]) -> None:
    workload, _ = done
    run = new_run(workload)
    assert try_workload_policy(run).state == "accept"
    assert not run.workspace.started


def test_the_queries_themselves_are_settled_as_before(done: tuple[Workload, Run]) -> None:
    workload, _ = done
    run = new_run(workload)
    assert all(s.settled for s in run.standings().values())
    assert workload_policy(workload, run.snapshot, run.standings()) is not None


def test_without_a_common_setting_there_is_nothing_to_try(done: tuple[Workload, Run]) -> None:
    workload, _ = done
    alone = replace(workload, queries=workload.queries[:1], store=f"{workload.store}-none")
    with pytest.raises(NothingForAll, match="PLN-410"):
        try_workload_policy(new_run(alone))
