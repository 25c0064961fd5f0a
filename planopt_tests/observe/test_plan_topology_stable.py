"""The gate over plan shapes: how surely a plan should have stayed decides how loud a change of it is."""

from __future__ import annotations

import json

import pytest

from planopt_assets.model.gate import Gate
from planopt_assets.model.observation import Observation
from planopt_assets.observe.gates import determinism_tier, plan_topology_stable
from planopt_tests.observe.seen import history, seen, seen_in, unsuccessful
from planopt_tests.rows import Row, captured_row, older_row, packed_plan

pytestmark = pytest.mark.fast

CHANGED = {"topology_hash": "top_9", "plan": packed_plan("Sort", "Exchange hashpartitioning(a#0, 8)")}
FIRST = seen("r1")
DIFF = "```diff\n-  Exchange hashpartitioning 200\n+  Exchange hashpartitioning 8\n```"
REGRESSED = Gate(
    False,
    True,
    "the plan changed though inputs, settings and engine did not (canonical); accept it with `planopt accept q`",
    DIFF,
)


def test_the_first_plan_is_the_one_to_keep() -> None:
    assert plan_topology_stable(history(FIRST)) == Gate(True, False, "first observation: its plan is the one to keep")


def test_the_same_plan_passes() -> None:
    found = plan_topology_stable(history(FIRST, seen("r2")))
    assert found == Gate(True, False, "same plan as accepted, before and after execution")


def test_another_plan_on_the_same_inputs_is_an_error_with_the_difference() -> None:
    assert plan_topology_stable(history(FIRST, seen("r2", **CHANGED))) == REGRESSED


def test_it_stays_an_error_until_it_is_accepted() -> None:
    changed = [seen(run, **CHANGED) for run in ("r2", "r3", "r4")]
    assert plan_topology_stable(history(FIRST, *changed)) == REGRESSED
    assert plan_topology_stable(history(FIRST, *changed, accepted=("r4",))) == Gate(True, False, "accepted")


def test_an_accepted_plan_is_the_one_to_keep_from_then_on() -> None:
    changed = [seen(run, **CHANGED) for run in ("r2", "r3")]
    assert plan_topology_stable(history(FIRST, *changed, accepted=("r2",))).words.startswith("same plan as accepted")
    back = plan_topology_stable(history(FIRST, *changed, seen("r4"), accepted=("r2",)))
    assert (back.passed, back.severe) == (False, True)


def test_a_plan_that_goes_back_to_the_accepted_one_passes() -> None:
    assert plan_topology_stable(history(FIRST, seen("r2", **CHANGED), seen("r3"))).passed


def test_acceptance_of_an_older_plan_does_not_cover_a_newer_one() -> None:
    newest = seen("r3", topology_hash="top_10", plan=packed_plan("Sort"))
    found = plan_topology_stable(history(FIRST, seen("r2", **CHANGED), newest, accepted=("r2",)))
    assert (found.passed, found.severe) == (False, True)
    assert found.details == "```diff\n-  Exchange hashpartitioning 8\n```"


MOVED = {
    "the tables": {"snapshot_hash": "snp_2"},
    "the query": {"query_fingerprint": "qry_2"},
    "the settings": {"planning_env_hash": "env_2"},
}


@pytest.mark.parametrize("moved", MOVED.values(), ids=MOVED)
def test_another_plan_after_inputs_moved_warns_once_and_is_then_the_one_to_keep(moved: Row) -> None:
    changed = {**CHANGED, **moved}
    assert plan_topology_stable(history(FIRST, seen("r2", **changed))) == Gate(
        False, False, "the plan changed after inputs or settings did (stable)", DIFF
    )
    assert plan_topology_stable(history(FIRST, seen("r2", **changed), seen("r3", **changed))).passed
    back = plan_topology_stable(history(FIRST, seen("r2", **changed), seen("r3", **moved)))
    assert (back.passed, back.severe) == (False, True)  # now the new plan is normal, and it changed on the same inputs


@pytest.mark.parametrize("moved", MOVED.values(), ids=MOVED)
def test_the_same_plan_after_inputs_moved_passes_and_counts_as_seen_on_them(moved: Row) -> None:
    assert plan_topology_stable(history(FIRST, seen("r2", **moved))).passed
    found = plan_topology_stable(history(FIRST, seen("r2", **moved), seen("r3", **moved, **CHANGED)))
    assert (found.passed, found.severe) == (False, True)


ENGINES = {
    "the versions": {"engine": "spark 4.3.0"},
    "the rules": {"rulepack_hash": "rul_2"},
    "the way plans are read": {"extractor": "spark-plan-info@3"},
}


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("moved", [{}, *MOVED.values()], ids=["", *MOVED])
def test_another_plan_of_another_engine_is_a_remark_and_then_the_one_to_keep(engine: Row, moved: Row) -> None:
    changed = {**CHANGED, **engine, **moved}
    assert plan_topology_stable(history(FIRST, seen("r2", **changed))) == Gate(
        True, False, "the plan changed with the engine (best_effort)", DIFF
    )
    found = plan_topology_stable(history(FIRST, seen("r2", **changed), seen("r3", **engine, **moved)))
    assert (found.passed, found.severe) == (False, True)


def test_what_only_adaptive_execution_made_different_is_a_remark() -> None:
    final = packed_plan("Sort", "Exchange hashpartitioning(a#0, 200)", final=("Sort",))
    found = plan_topology_stable(history(FIRST, seen("r2", final_topology_hash="top_9", plan=final)))
    words = "same plan; only what adaptive execution made of it differs (best_effort)"
    assert found == Gate(True, False, words, "```diff\n-  Exchange hashpartitioning 200\n```")


def test_what_adaptive_execution_makes_of_a_plan_is_remarked_once() -> None:
    adapted = [seen(run, final_topology_hash="top_9") for run in ("r2", "r3")]
    assert plan_topology_stable(history(FIRST, *adapted)).words == "same plan as accepted, before and after execution"


def test_observations_that_failed_are_skipped() -> None:
    assert plan_topology_stable(history(unsuccessful("r0"), FIRST, unsuccessful("r2"), seen("r3"))).passed
    assert plan_topology_stable(history(unsuccessful("r0"), FIRST)).words.startswith("first observation")
    assert plan_topology_stable(history(FIRST, unsuccessful("r2"), seen("r3", **CHANGED))) == REGRESSED


def test_a_change_in_any_binding_counts() -> None:
    before, same = (seen_in(captured_row(run, 0), captured_row(run, 1)) for run in ("r1", "r2"))
    after = seen_in(captured_row("r2", 0), captured_row("r2", 1, **CHANGED))
    assert plan_topology_stable(history(before, same)).passed
    assert plan_topology_stable(history(before, after)) == REGRESSED


def test_one_binding_more_is_another_query() -> None:
    more = {"query_fingerprint": "qry_2"}
    after = seen_in(captured_row("r2", 0, **more), captured_row("r2", 1, **more))
    found = plan_topology_stable(history(FIRST, after))
    assert (found.passed, found.severe, found.details) == (False, False, "")


@pytest.mark.parametrize("which", ["before", "after"])
def test_a_plan_that_was_too_large_to_keep_is_compared_by_its_hash(which: str) -> None:
    before = seen("r1", plan=None) if which == "before" else FIRST
    after = seen("r2", **{**CHANGED, "plan": None}) if which == "after" else seen("r2", **CHANGED)
    found = plan_topology_stable(history(before, after))
    assert (found.passed, found.severe) == (False, True)
    assert found.details == "The plan is too large to be kept: there is nothing to compare."


def test_rows_of_an_older_planopt_are_compared_as_far_as_they_go() -> None:
    old, newer = seen_in(older_row("r1")), seen_in(older_row("r2"))
    assert plan_topology_stable(history(old, newer)).words == "same plan as accepted, before and after execution"
    for after in (seen_in(older_row("r2", **CHANGED)), seen("r2", **CHANGED)):
        found = plan_topology_stable(history(old, after))
        assert found == Gate(True, False, "the plan changed with the engine (best_effort)", DIFF)


@pytest.mark.parametrize(
    ("change", "tier"),
    [
        ({}, "canonical"),
        ({"snapshot_hash": "snp_2"}, "stable"),
        ({"engine": "spark 4.3.0"}, "best_effort"),
        ({"engine": None}, "best_effort"),
        ({"engine": "spark 4.3.0", "snapshot_hash": "snp_2"}, "best_effort"),
        ({"input_fingerprint": "inp_2", "bundle_hash": "bun_2"}, "canonical"),  # budgets and rules shape no plan
    ],
)
def test_tiers(change: Row, tier: str) -> None:
    assert determinism_tier(FIRST, seen("r2", **change)) == tier


@pytest.mark.parametrize(("head", "tier"), [("commit a1", "canonical"), ("commit b2", "stable"), (None, "canonical")])
def test_a_diverged_copy_of_a_table_may_have_another_plan(head: str | None, tier: str) -> None:
    def read(run: str, head: str | None) -> Observation:
        table = {"name": "orders", "location": "/data/orders", "table_id": "id-1", "version": 12, "head": head}
        return seen_in(captured_row(run, tables=json.dumps([table])))

    assert determinism_tier(read("r1", "commit a1"), read("r2", head)) == tier
