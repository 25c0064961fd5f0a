"""Which policies are planned: every proposal by itself, and all of them together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.model.decision import Decision
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.replan.candidates import policies_to_plan

pytestmark = pytest.mark.fast

SHUFFLE, OPEN_COST, MAX_BYTES = (
    "spark.sql.shuffle.partitions",
    "spark.sql.files.openCostInBytes",
    "spark.sql.files.maxPartitionBytes",
)


def proposal(rule: str, settings: dict[str, str], before: Policy = ORIGINAL) -> Decision:
    after = before.with_settings(settings)
    return Decision("proposal", "q", rule, before, after, "because", 1, (), (), "inp_1", "pln_1", "knb_1")


FEWER_PARTITIONS = proposal("right_size_shuffle", {SHUFFLE: "2"})
FEWER_TASKS = proposal("right_size_splits", {OPEN_COST: "65536"})
NOTHING = replace(FEWER_PARTITIONS, kind="no_change", rule="another", policy_after=ORIGINAL)


def test_without_a_proposal_nothing_is_planned() -> None:
    assert policies_to_plan(()) == ()
    assert policies_to_plan((NOTHING, replace(NOTHING, kind="cannot_tell"))) == ()


def test_one_proposal_is_planned_by_itself() -> None:
    assert policies_to_plan((FEWER_PARTITIONS, NOTHING)) == ((Policy.of({SHUFFLE: "2"}), (FEWER_PARTITIONS.id,)),)


def test_two_proposals_are_planned_each_and_last_together() -> None:
    assert policies_to_plan((FEWER_PARTITIONS, FEWER_TASKS)) == (
        (Policy.of({SHUFFLE: "2"}), (FEWER_PARTITIONS.id,)),
        (Policy.of({OPEN_COST: "65536"}), (FEWER_TASKS.id,)),
        (Policy.of({SHUFFLE: "2", OPEN_COST: "65536"}), (FEWER_PARTITIONS.id, FEWER_TASKS.id)),
    )


def test_three_proposals_make_one_combination_not_one_for_every_pair() -> None:
    third = proposal("another_rule", {MAX_BYTES: "1048576"})
    planned = policies_to_plan((FEWER_PARTITIONS, FEWER_TASKS, third))
    assert len(planned) == 4
    assert planned[-1] == (
        Policy.of({SHUFFLE: "2", OPEN_COST: "65536", MAX_BYTES: "1048576"}),
        (FEWER_PARTITIONS.id, FEWER_TASKS.id, third.id),
    )


def test_a_combination_starts_from_the_policy_in_force() -> None:
    in_force = Policy.of({MAX_BYTES: "1048576"})
    wanted = (proposal("a", {SHUFFLE: "2"}, in_force), proposal("b", {OPEN_COST: "65536"}, in_force))
    assert policies_to_plan(wanted)[-1][0] == Policy.of({MAX_BYTES: "1048576", SHUFFLE: "2", OPEN_COST: "65536"})


def test_a_combination_that_is_one_of_the_proposals_is_not_planned_twice() -> None:
    other = proposal("another_rule", {SHUFFLE: "4"})
    planned = policies_to_plan((FEWER_PARTITIONS, other))
    assert [policy for policy, _ in planned] == [Policy.of({SHUFFLE: "2"}), Policy.of({SHUFFLE: "4"})]
