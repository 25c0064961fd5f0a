"""Which policies are planned next: the most promising by themselves, and together what holds by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.model.policy import Policy
from planopt_assets.replan.candidates import Proposed, combination, next_singles

pytestmark = pytest.mark.fast

SHUFFLE, OPEN_COST, MAX_BYTES, BATCH = (
    "spark.sql.shuffle.partitions",
    "spark.sql.files.openCostInBytes",
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.parquet.columnarReaderBatchSize",
)
A, B, C, D = (
    Proposed(f"dec_{name}", Policy.of(settings), gain)
    for name, settings, gain in [
        ("a", {SHUFFLE: "2"}, 400),
        ("b", {OPEN_COST: "65536"}, 300),
        ("c", {MAX_BYTES: "1048576"}, 200),
        ("d", {BATCH: "8192"}, 100),
    ]
)
AB, ABC = (A.policy.merged(B.policy), A.policy.merged(B.policy).merged(C.policy))


def tried(**outcomes: str) -> dict[str, str]:
    """`a="accept"`: what became of proposal A."""
    names = {"a": A.policy, "b": B.policy, "c": C.policy, "d": D.policy, "ab": AB, "abc": ABC}
    return {names[name].id: outcome for name, outcome in outcomes.items()}


def names(planned: tuple[tuple[Policy, tuple[str, ...]], ...]) -> list[tuple[str, ...]]:
    return [ids for _, ids in planned]


# By themselves


def test_without_a_proposal_nothing_is_planned() -> None:
    assert next_singles((), {}) == ()
    assert combination((), {}) is None


def test_the_three_that_promise_most_come_first() -> None:
    assert names(next_singles([D, C, B, A], {})) == [("dec_a",), ("dec_b",), ("dec_c",)]


def test_of_equal_promises_the_order_of_the_rules_decides() -> None:
    equal = [Proposed("dec_1", A.policy, 1), Proposed("dec_2", B.policy, 1)]
    assert names(next_singles(equal, {})) == [("dec_1",), ("dec_2",)]


def test_one_policy_that_two_rules_propose_is_planned_once_with_both_behind_it() -> None:
    assert next_singles([A, Proposed("dec_x", A.policy, 1)], {}) == ((A.policy, ("dec_a", "dec_x")),)


@pytest.mark.parametrize("outcome", ["kept", "accept"])
def test_while_one_waits_for_its_verdict_or_was_accepted_the_rest_has_time(outcome: str) -> None:
    assert next_singles([A, B, C, D], tried(a=outcome, b="reject", c="dropped")) == ()


@pytest.mark.parametrize("outcome", ["reject", "inconclusive", "dropped"])
def test_when_none_of_the_first_holds_the_next_ones_get_their_turn(outcome: str) -> None:
    assert names(next_singles([A, B, C, D], tried(a=outcome, b=outcome, c=outcome, abc=outcome))) == [("dec_d",)]


def test_it_ends() -> None:
    assert next_singles([A, B], tried(a="reject", b="dropped")) == ()


# Together


def test_those_that_change_the_plan_are_tried_together() -> None:
    assert combination([A, B, C], tried(a="kept", b="kept", c="dropped")) == (AB, ("dec_a", "dec_b"))


def test_one_alone_is_no_combination() -> None:
    assert combination([A, B], tried(a="kept", b="dropped")) is None


def test_a_combination_is_tried_once() -> None:
    assert combination([A, B], tried(a="kept", b="kept", ab="kept")) is None
    assert combination([A, B], tried(a="accept", b="accept", ab="reject")) is None


def test_what_was_accepted_by_itself_is_tried_together_in_the_next_pass() -> None:
    assert combination([A, B, C], tried(a="accept", b="accept", c="reject", abc="reject")) == (AB, ("dec_a", "dec_b"))


def test_an_unclear_verdict_is_not_built_upon() -> None:
    assert combination([A, B], tried(a="accept", b="inconclusive")) is None


def test_of_two_values_for_one_knob_the_one_that_gains_more_is_in() -> None:
    other = Proposed("dec_x", Policy.of({SHUFFLE: "4"}), 350)
    found = combination([other, A, B], tried(a="kept", b="kept") | {other.policy.id: "kept"})
    assert found == (AB, ("dec_a", "dec_b"))


def test_hints_and_rewrites_go_together_with_settings() -> None:
    hinted = Proposed("dec_h", Policy.of(hints=["broadcast(join0.right c)"]), 50)
    rewritten = Proposed("dec_r", Policy.of(rewrites=["normal_form"]), 10)
    all_kept = {p.policy.id: "kept" for p in (A, hinted, rewritten)}
    found = combination([A, hinted, rewritten], all_kept)
    assert found == (
        Policy.of({SHUFFLE: "2"}, hints=["broadcast(join0.right c)"], rewrites=["normal_form"]),
        ("dec_a", "dec_h", "dec_r"),
    )


def test_of_two_strategies_for_one_input_the_one_that_gains_more_is_in() -> None:
    hints = {"dec_1": "broadcast(join0.right c)", "dec_2": "merge(join0.right c)", "dec_3": "merge(join1.left)"}
    proposed = [Proposed(name, Policy.of(hints=[hint]), 9 - n) for n, (name, hint) in enumerate(hints.items())]
    found = combination(proposed, {p.policy.id: "kept" for p in proposed})
    assert found == (Policy.of(hints=[hints["dec_1"], hints["dec_3"]]), ("dec_1", "dec_3"))


# What most other queries gained from

MOST = Proposed("dec_most", Policy.of({SHUFFLE: "8"}), 1, first=True)


def test_what_most_others_gained_from_is_planned_first_whatever_it_promises() -> None:
    assert names(next_singles([A, B, C, MOST], {})) == [("dec_most",), ("dec_a",), ("dec_b",)]


def test_it_is_in_the_combination_and_another_value_for_its_knob_is_not() -> None:
    found = combination([A, B, MOST], tried(a="kept", b="kept") | {MOST.policy.id: "kept"})
    assert found == (MOST.policy.merged(B.policy), ("dec_most", "dec_b"))


def test_where_it_changes_no_plan_the_others_are_tried_as_ever() -> None:
    found = combination([A, B, MOST], tried(a="kept", b="kept") | {MOST.policy.id: "dropped"})
    assert found == (AB, ("dec_a", "dec_b"))


def test_a_rule_that_proposes_the_same_is_behind_it_too() -> None:
    same = Proposed("dec_x", MOST.policy, 500)
    assert next_singles([A, same, MOST], {})[0] == (MOST.policy, ("dec_most", "dec_x"))


# What the driver cannot hold together

RAISED = Proposed("dec_most", Policy.of({"spark.sql.autoBroadcastJoinThreshold": "33554432"}), 1, first=True)
HINTED = Proposed("dec_h", Policy.of(hints=["broadcast(join0.right c)"]), 500)


@pytest.mark.parametrize(("no_room", "ids"), [(True, ("dec_most", "dec_b")), (False, ("dec_most", "dec_h", "dec_b"))])
def test_a_threshold_is_combined_with_a_broadcast_hint_only_where_the_driver_has_room_for_both(
    no_room: bool, ids: tuple[str, ...]
) -> None:
    raised = replace(RAISED, no_room_beside_hints=no_room)
    found = combination([HINTED, B, raised], {p.policy.id: "kept" for p in (HINTED, B, raised)})
    assert found is not None
    assert found[1] == ids


def test_nor_after_both_were_accepted_each_by_itself() -> None:
    raised = replace(RAISED, no_room_beside_hints=True)
    assert combination([HINTED, raised], {p.policy.id: "accept" for p in (HINTED, raised)}) is None


def test_a_hint_that_broadcasts_nothing_needs_no_room() -> None:
    raised = replace(RAISED, no_room_beside_hints=True)
    merged = Proposed("dec_m", Policy.of(hints=["merge(join0.right c)"]), 5)
    found = combination([merged, raised], {p.policy.id: "kept" for p in (merged, raised)})
    assert found == (raised.policy.merged(merged.policy), ("dec_most", "dec_m"))
