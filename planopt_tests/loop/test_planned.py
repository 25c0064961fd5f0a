"""What becomes of a proposal once it is planned, from plans the test makes up: kept, or dropped with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.errors import PlanoptError, PolicyNotApplied, QueryFailed
from planopt_assets.loop.planned import planned_candidate
from planopt_assets.model.arm import Arm
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query

pytestmark = pytest.mark.fast

SHUFFLE, OPEN_COST = "spark.sql.shuffle.partitions", "spark.sql.files.openCostInBytes"
ADVISORY, BATCH = "spark.sql.adaptive.advisoryPartitionSizeInBytes", "spark.sql.parquet.columnarReaderBatchSize"
HINT = "broadcast(join0.right d)"


class Planner:
    """A workspace that plans and nothing else: a setting or hint it is told of changes the plan, others do not."""

    def __init__(self, *heeded: str, joins: tuple[tuple[str, str], ...] = (), bindings: int = 1) -> None:
        self.heeded, self.joins = set(heeded), list(joins)
        self.query = Query("q", sql="SELECT 1", bindings=((),) * bindings)
        self.planned: list[tuple[Arm, int]] = []
        self.baseline = Arm(ORIGINAL)
        self.error: PlanoptError | None = None

    def plan(self, query: Query, binding: int, arm: Arm) -> tuple[Plan, dict[str, list[int]]]:
        self.planned.append((arm, binding))
        policy = arm.policy
        if self.error and policy != ORIGINAL:
            raise self.error
        parts = [*(f"{n}={v}" for n, v in policy.settings), *map(str, policy.hints), *policy.rewrites]
        shown = sorted(p for p in parts if p.partition("=")[0] in self.heeded)
        nodes = tuple(PlanNode(i, i - 1, kind, kind) for i, kind in enumerate(["Scan", *shown]))
        return Plan("initial", nodes, "x"), {}

    def hinted_joins(self, query: Query, binding: int, arm: Arm) -> list[tuple[str, str]]:
        return self.joins


def candidate(planner: Planner, policy: Policy, *, base: Policy = ORIGINAL) -> Candidate:
    workspace: Any = planner
    return planned_candidate(workspace, planner.query, Arm(policy), ("dec_1",), "inp_1", baseline=Arm(base))


def policy(settings: dict[str, str] | None = None, *hints: str, rewrites: tuple[str, ...] = ()) -> Policy:
    return Policy.of(settings, hints=hints, rewrites=rewrites)


def test_what_changes_the_plan_is_kept_with_the_part_that_did_it() -> None:
    found = candidate(Planner(SHUFFLE), policy({SHUFFLE: "2"}))
    assert (found.kept, found.reason, found.took_effect) == (True, "the plan changes", (SHUFFLE,))
    assert found.diff == f"+  {SHUFFLE}=2"


def test_what_changes_nothing_is_dropped_with_that_reason() -> None:
    found = candidate(Planner(), policy({SHUFFLE: "2"}))
    assert (found.kept, found.reason, found.took_effect, found.diff) == (
        False,
        "dropped: plan and partitioning stay the same",
        (),
        "",
    )


def test_of_several_parts_those_are_named_without_which_the_plan_would_be_another() -> None:
    found = candidate(Planner(SHUFFLE, HINT), policy({SHUFFLE: "2", OPEN_COST: "0"}, HINT))
    assert found.kept
    assert found.took_effect == (SHUFFLE, HINT)


def test_parts_of_which_each_alone_would_do_are_all_named() -> None:
    planner = Planner()
    original = planner.plan

    def either(query: Query, binding: int, arm: Arm) -> tuple[Plan, dict[str, list[int]]]:
        kind = "Sort" if arm.policy.settings else "Scan"
        return Plan("initial", (PlanNode(0, -1, kind, kind),), "x"), original(query, binding, arm)[1]

    planner.plan = either  # type: ignore[method-assign]
    assert candidate(planner, policy({SHUFFLE: "2", OPEN_COST: "0"})).took_effect == (OPEN_COST, SHUFFLE)


@pytest.mark.parametrize("name", [ADVISORY, BATCH])
def test_a_setting_that_works_only_at_run_time_is_kept_for_a_trial(name: str) -> None:
    found = candidate(Planner(), policy({name: "1024"}))
    assert (found.kept, found.reason) == (True, "takes effect only at run time; a trial will tell")
    assert (found.took_effect, found.diff) == ((), "")


def test_a_setting_for_run_time_is_no_excuse_for_an_idle_hint() -> None:
    joins = (("rightHint=(strategy=broadcast)", "SortMergeJoin [a#1], [b#2], FullOuter"),)
    found = candidate(Planner(joins=joins), policy({ADVISORY: "1048576"}, HINT))
    assert (found.kept, found.reason) == (False, "dropped: hint not applied: join0.right d stays SortMergeJoin")


def test_an_idle_hint_is_dropped_although_other_parts_change_the_plan() -> None:
    joins = (
        ("leftHint=(strategy=broadcast)", "BroadcastHashJoin [a#1], [b#2], Inner, BuildLeft, false"),
        ("rightHint=(strategy=broadcast)", "ShuffledHashJoin [a#1], [b#2], FullOuter, BuildRight"),
    )
    found = candidate(Planner(SHUFFLE, joins=joins), policy({SHUFFLE: "2"}, HINT))
    assert (found.kept, found.reason) == (False, "dropped: hint not applied: join0.right d stays ShuffledHashJoin")


def test_a_hint_on_a_join_that_planning_took_away_says_so() -> None:
    found = candidate(Planner(), policy({}, HINT))
    assert found.reason == "dropped: hint not applied: join0.right d is not a separate join in the plan"


def test_a_policy_that_finds_nothing_to_change_is_dropped_in_its_own_words() -> None:
    planner = Planner()
    planner.error = PolicyNotApplied("rewrite not applied: cnf leaves the text as it is", fix="decide again")
    found = candidate(planner, policy(rewrites=("cnf",)))
    assert (found.kept, found.reason) == (False, "dropped: rewrite not applied: cnf leaves the text as it is")


def test_a_policy_that_cannot_be_planned_is_dropped_with_the_error() -> None:
    planner = Planner()
    planner.error = QueryFailed("no such thing", where="query q", fix="look")
    found = candidate(planner, policy({SHUFFLE: "2"}))
    assert not found.kept
    assert found.reason == "dropped: it cannot be planned: PLN-207 query q: no such thing. Fix: look"


# Beyond an accepted policy

BASE = policy({SHUFFLE: "2"}, HINT)


def test_an_addition_that_changes_the_plan_is_kept_and_the_diff_is_that_of_the_whole() -> None:
    found = candidate(Planner(SHUFFLE, HINT, OPEN_COST), policy({SHUFFLE: "2", OPEN_COST: "0"}, HINT), base=BASE)
    assert (found.kept, found.took_effect) == (True, (OPEN_COST, SHUFFLE, HINT))
    assert found.diff.count("\n") == 2


def test_an_addition_that_changes_nothing_is_dropped_although_the_whole_differs_from_original() -> None:
    found = candidate(Planner(SHUFFLE, HINT), policy({SHUFFLE: "2", OPEN_COST: "0"}, HINT), base=BASE)
    assert (found.kept, found.reason) == (False, "dropped: plan and partitioning stay the same")


def test_an_addition_for_run_time_is_kept_beside_parts_that_took_effect_before() -> None:
    found = candidate(Planner(SHUFFLE, HINT), policy({SHUFFLE: "2", ADVISORY: "1024"}, HINT), base=BASE)
    assert (found.kept, found.reason) == (True, "takes effect only at run time; a trial will tell")
    assert found.took_effect == (SHUFFLE, HINT)


def test_a_base_that_works_at_run_time_is_no_excuse_for_an_addition_that_does_nothing() -> None:
    found = candidate(Planner(), policy({ADVISORY: "1024", OPEN_COST: "0"}), base=policy({ADVISORY: "1024"}))
    assert not found.kept


def test_every_binding_is_planned_and_no_policy_twice() -> None:
    planner = Planner(SHUFFLE, bindings=2)
    candidate(planner, policy({SHUFFLE: "2", OPEN_COST: "0"}))
    assert len(planner.planned) == len(set(planner.planned)) == 8


def test_what_took_effect_is_no_part_of_a_candidates_id() -> None:
    found = candidate(Planner(SHUFFLE), policy({SHUFFLE: "2"}))
    plain = Candidate(
        "q", found.policy, (), False, "", "", found.plan_fingerprint, found.topology_hash, found.input_fingerprint
    )
    assert plain.id == found.id
