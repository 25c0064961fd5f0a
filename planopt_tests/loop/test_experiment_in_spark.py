"""Experiments over real executions; only clocks and faults are made up, so that no verdict hangs on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import QueryTimedOut
from planopt_assets.loop.experiment import Experiment
from planopt_assets.model.arm import Arm
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.counters import Counters
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Budgets, Query, Workload
from planopt_assets.validate.judge_rules import Rules
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.measured import MIB

pytestmark = pytest.mark.spark

FEWER = Policy.of({"spark.sql.shuffle.partitions": "2"})
TWIN = Policy.of({"spark.sql.shuffle.partitions": "200"})  # what Spark does anyway
BY_SHOP = Query("by_shop", sql="SELECT shop, count(*) AS n, max(id) AS newest FROM sales GROUP BY shop")
BY_CITY = Query(
    "by_city",
    sql="SELECT shop, count(*) AS n FROM sales WHERE shop < :most GROUP BY shop",
    bindings=((("most", 5),), (("most", 17),)),
)
# A task looks up after every 1,000 rows of the long side, so the short one decides how soon a killed task ends.
ENDLESS = "SELECT sum(a.id * b.id % 7) AS s, 1 AS n, 1 AS m FROM range(200000000000) a CROSS JOIN range(1000) b"

Change = Callable[[Policy, int, Counters], dict[str, int]]


def clocks(seconds: dict[Policy, float]) -> Change:
    """Every run of a policy takes as long, whatever it really took."""
    return lambda policy, binding, counters: dict.fromkeys(("cpu_ns", "wall_ns"), round(seconds[policy] * 1e9))


class Doctored(Workspace):
    """Runs everything for real, and then changes what was counted; `before` is called before each execution."""

    def __init__(self, workload: Workload, change: Change, before: Callable[[int], None] = lambda number: None) -> None:
        super().__init__(workload)
        self._change, self._before, self._number = change, before, 0

    def execute(self, query: Query, binding: int, arm: Arm, **how: Any) -> Any:
        self._before(self._number)
        self._number += 1
        done = super().execute(query, binding, arm, **how)
        return replace(done, counters=replace(done.counters, **self._change(arm.policy, binding, done.counters)))


def experiment(workspace: Workspace, query: Query, policy: Policy = FEWER, **how: Any) -> Experiment:
    execute, baseline = Workspace.execute, workspace.baseline
    observed = [execute(workspace, query, b, baseline, timeout_s=60) for b in range(len(query.bindings))]
    return Experiment(
        workspace,
        query,
        [Candidate(query.id, policy, (), True, "", "", "", "", "")],
        [o.digest for o in observed if o.digest],
        trial_prefix="tri",
        run_deadline=float("inf"),
        observed_wall_s=[1.0] * len(observed),
        **how,
    )


def verdict_of(workspace: Workspace, query: Query, policy: Policy = FEWER, **how: Any) -> Any:
    return experiment(workspace, query, policy, **how).run()[0].judgement


HALF = {ORIGINAL: 3.0, FEWER: 1.5}


def test_fewer_blocks_that_the_clocks_confirm_are_accepted_after_seven_executions(spark, tables: Path) -> None:
    trials = experiment(Doctored(workload_of(tables, [BY_SHOP]), clocks(HALF)), BY_SHOP)
    (judged,) = trials.run()
    assert (judged.judgement.outcome, judged.judgement.pairs, judged.executions) == ("accept", 3, 7)
    assert next(c.passed for c in judged.judgement.criteria if c.name == "work_ns") is True


def test_the_query_against_itself_is_not_applied_however_much_faster_it_seems(spark, tables: Path) -> None:
    workspace = Doctored(workload_of(tables, [BY_SHOP]), clocks({ORIGINAL: 3.0, TWIN: 0.3}))
    verdict = verdict_of(workspace, BY_SHOP, TWIN)
    assert (verdict.outcome, verdict.pairs) == ("reject", 1)
    assert verdict.reason == "not applied: the final plan and all deterministic counters are those of the baseline"


# Planted regressions: none is accepted, each says why


def spilling(policy: Policy, binding: int, counters: Counters) -> dict[str, int]:
    return clocks(HALF)(policy, binding, counters) | ({"disk_spill_bytes": 64 * MIB} if policy == FEWER else {})


def worse_on_one_binding(policy: Policy, binding: int, counters: Counters) -> dict[str, int]:
    return clocks({ORIGINAL: 3.0, FEWER: 0.5 if binding == 0 else 3.6})(policy, binding, counters)


@pytest.mark.parametrize(
    ("query", "change", "words"),
    [
        (BY_SHOP, spilling, "guard disk_spill_bytes broken: 0 -> 67,108,864"),
        (BY_CITY, worse_on_one_binding, "guard binding_1_cpu_ns broken: 1.200"),
        (BY_SHOP, clocks({ORIGINAL: 3.0, FEWER: 3.6}), "guard wall_ns broken: 1.200"),
    ],
    ids=["faster but spills", "worse on one binding", "slower by 20 %"],
)
def test_a_planted_regression_is_rejected_and_says_why(spark, tables: Path, query, change, words) -> None:
    verdict = verdict_of(Doctored(workload_of(tables, [query]), change), query)
    assert verdict.outcome == "reject"
    assert verdict.reason.startswith(words)


class Faulty(Workspace):
    """The candidate is built another way than the baseline."""

    def __init__(self, workload: Workload, build: Callable[[Faulty, Any], Any]) -> None:
        super().__init__(workload)
        self._build = build

    def frame(self, query: Query, binding: int, arm: Arm) -> Any:
        frame = super().frame(query, binding, arm)
        return frame if arm == self.baseline else self._build(self, frame)


QUICK = Rules(timeout_floor_s=2.0)


def _wrong_in_one_row(_: Workspace, frame: Any) -> Any:
    return frame.selectExpr("shop", "n", "newest + int(shop = 3) AS newest")


def test_a_candidate_wrong_in_a_single_row_is_rejected(spark, tables: Path) -> None:
    one_row = Faulty(
        workload_of(tables, [BY_SHOP]), lambda w, f: f.selectExpr("shop", "n", "newest + int(shop = 3) AS newest")
    )
    verdict = verdict_of(one_row, BY_SHOP)
    assert (verdict.outcome, verdict.results_equal) == ("reject", False)
    assert verdict.reason == "the result is not the same: same number of rows, different values"


def test_a_candidate_that_times_out_is_rejected(spark, tables: Path) -> None:
    endless = Faulty(workload_of(tables, [BY_SHOP]), lambda w, f: w.isolated(w.arm(FEWER)).sql(ENDLESS))
    verdict = verdict_of(endless, BY_SHOP, rules=QUICK)
    assert (verdict.outcome, verdict.reason) == ("reject", "the candidate ran out of time")


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_candidate_that_hangs_in_planning_is_left_behind_and_rejected(
    spark, tables: Path, release: threading.Event
) -> None:
    def wait(workspace: Workspace, frame: Any) -> Any:
        release.wait(600)
        return frame

    hangs = Faulty(workload_of(tables, [BY_SHOP]), wait)
    session = hangs.isolated(hangs.arm(FEWER))
    trials = experiment(hangs, BY_SHOP, rules=QUICK)
    (judged,) = trials.run()
    assert (judged.judgement.outcome, judged.judgement.reason) == ("reject", "the candidate hangs in planning")
    (trial,) = [t for t in trials.trials if t.policy_id == FEWER.id]
    assert trial.status == "timed_out"
    assert "PLN-214" in trial.error
    assert hangs.isolated(hangs.arm(FEWER)) is not session
    release.set()
    assert hangs.execute(BY_SHOP, 0, hangs.arm(FEWER), timeout_s=60).digest is not None


def test_a_thread_of_the_jvm_that_hangs_is_interrupted(spark, tables: Path) -> None:
    def sleep(workspace: Workspace, frame: Any) -> Any:
        workspace.spark._jvm.java.lang.Thread.sleep(600_000)
        return frame

    hangs = Faulty(workload_of(tables, [BY_SHOP]), sleep)
    assert verdict_of(hangs, BY_SHOP, rules=QUICK).reason == "the candidate hangs in planning"
    for thread in [t for t in threading.enumerate() if t.name.startswith("planopt-by_shop")]:
        thread.join(30)
        assert not thread.is_alive()


# Commits, budgets


def test_a_commit_to_a_table_that_is_read_taints_the_round_and_changes_no_result(spark, tables: Path) -> None:
    def commit(number: int) -> None:
        if number == 2:  # the second of the first pair
            make_tables(tables, files=1)

    trials = experiment(Doctored(workload_of(tables, [BY_SHOP]), clocks(HALF), commit), BY_SHOP)
    (judged,) = trials.run()
    assert [(t.round, t.error) for t in trials.trials if t.status == "tainted"] == [
        (1, "table sales was committed to")
    ] * 2
    assert (judged.judgement.outcome, judged.judgement.pairs, judged.executions) == ("accept", 3, 9)


def test_a_query_is_stopped_by_its_budget_and_what_was_learned_is_kept(spark, tables: Path) -> None:
    workload = workload_of(tables, [BY_SHOP], budgets=Budgets(per_query=3.0))
    endless = Faulty(workload, lambda w, f: w.isolated(w.arm(FEWER)).sql(ENDLESS))
    trials = experiment(endless, BY_SHOP, rules=Rules(timeout_floor_s=600.0))
    (judged,) = trials.run()
    assert judged.judgement.outcome == "inconclusive"
    assert judged.judgement.reason == "stopped by budget: only 0 of the 3 pairs needed were run"
    assert [t.status for t in trials.trials if t.policy_id == FEWER.id] == ["timed_out"]


def test_comparing_rows_one_by_one_ends_with_its_time(spark, tables: Path) -> None:
    endless = Query("endless", sql=ENDLESS)
    workspace = Workspace(workload_of(tables, [endless, BY_SHOP]))
    with pytest.raises(QueryTimedOut):
        workspace.difference(endless, 0, workspace.baseline, workspace.arm(FEWER), timeout_s=2)
    assert workspace.difference(BY_SHOP, 0, workspace.baseline, workspace.arm(FEWER), timeout_s=600) == ""
