"""The replay of stored trials: what each order of trying would have reached, and what exploration trusted in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.explore_replay import by_gain, by_list, replay
from benchmarks.explore_touched import stored_touched
from planopt_assets.decide.explore.choice import TRUSTED, Experience
from planopt_assets.decide.explore.explore import LEAST_SHARE
from planopt_assets.decide.explore.options import OPTIONS, options_for, touched_by
from planopt_assets.decide.explore.plan_features import PlanFeatures
from planopt_assets.loop.exploring import next_decisions
from planopt_assets.model.policy import Policy
from planopt_assets.store.codecs.deciding import DECISIONS
from planopt_tests.decide.cases import WORKED
from planopt_tests.loop.test_exploring import WORKLOAD, judged, quiet, store
from planopt_tests.rows import FEWER, stored

pytestmark = pytest.mark.fast

PLAN = PlanFeatures(1, 0, 0, 2, 1, 2, 999, 0, 0, 0)
FIRST, LAST = (Policy.of({name: "1" for name, _ in o.settings}) for o in (OPTIONS[0], OPTIONS[-1]))
QUERIES = [f"q{n}" for n in range(4)]
ALIKE = {(query, change): 0.2 for query in ("q", *QUERIES) for change in (FIRST, LAST)}


def tried(query: str, first: float, last: float) -> list[Experience]:
    """Two changes on one query: that of the first option of the list, and that of the last."""
    return [Experience(query, FIRST, first, PLAN), Experience(query, LAST, last, PLAN)]


TOLD = [e for query in QUERIES for e in tried(query, 0.0, 0.4)]


def test_the_list_in_order_needs_two_trials_for_what_helps_always() -> None:
    found = replay(TOLD, by_list)
    assert (found.reached[:2], found.trials_to_best, found.trials, found.told) == ((0.0, 1.0), 2.0, 8, 4)


def test_what_helped_before_is_tried_first() -> None:
    found = replay(TOLD[2:], lambda own, before: by_gain(ALIKE)(own, [*TOLD[:2], *before]))
    assert (found.reached[0], found.trials_to_best) == (1.0, 1.0)
    assert replay(TOLD, by_gain(ALIKE)).trials_to_best < replay(TOLD, by_list).trials_to_best


def test_what_touches_more_of_a_query_is_tried_first_there() -> None:
    touched = {**ALIKE, ("q0", FIRST): 0.3, ("q1", LAST): 0.3}
    orders = [by_gain(touched)([e for e in TOLD if e.query_id == query], []) for query in ("q0", "q1")]
    assert [order[0] for order in orders] == [FIRST, LAST]


def test_what_promises_less_than_exploration_asks_for_is_not_tried() -> None:
    """It is trusted with half of what it touches, and no trial of others can help it."""
    least = LEAST_SHARE / TRUSTED
    touched = {**ALIKE, **{(query, LAST): least - 0.001 for query in QUERIES}}
    found = replay(TOLD[:2], by_gain(touched))
    assert (found.reached[0], found.found, found.trials_to_best, found.trials) == (0.0, 0.0, 0.0, 1)
    enough = {**ALIKE, **{(query, LAST): least for query in QUERIES}}
    assert replay(TOLD[:2], by_gain(enough)).found == 1.0


def test_a_query_without_a_choice_or_a_gain_tells_only_what_trying_costs() -> None:
    found = replay([*tried("q", 0.0, 0.0), TOLD[1]], by_list)
    assert (found.reached, found.trials, found.told) == ((), 3, 0)


# What options touch, from stored rows


@pytest.mark.parametrize("saved", [None, 0.8, 0.5], ids=["nobody tried it", "it saved 20 %", "it saved half"])
def test_a_stored_choice_tells_what_it_touches(saved: float | None) -> None:
    wanted = next(iter(options_for(WORKED).values()))
    told = [judged("other", wanted, gain_ratio=saved)] if saved else []
    (chosen,) = next_decisions(WORKLOAD, store(*told), quiet())
    assert chosen.proposes
    name, change = str(dict(chosen.arithmetic)["option"]), chosen.policy_after
    rows = store(*told, policy_decisions=[stored("policy_decisions", **DECISIONS.to_row(chosen))])
    assert stored_touched(rows)["q", change] == pytest.approx(touched_by(WORKED)[name], abs=1e-5)


def test_what_was_known_then_counts_and_not_what_would_be_calculated_now() -> None:
    (chosen,) = next_decisions(WORKLOAD, store(), quiet())
    then = replace(chosen, arithmetic=tuple({**dict(chosen.arithmetic), "touched_share": 0.25}.items()))
    rows = store(policy_decisions=[stored("policy_decisions", **DECISIONS.to_row(then))])
    assert stored_touched(rows)["q", then.policy_after] == pytest.approx(0.25)


def test_a_choice_of_an_older_planopt_tells_its_expected_share_alone_which_was_all_that_is_touched() -> None:
    (chosen,) = next_decisions(WORKLOAD, store(), quiet())
    facts = {name: fact for name, fact in chosen.arithmetic if name != "touched_share"}
    then = replace(chosen, arithmetic=tuple({**facts, "expected_share": 0.25}.items()))
    rows = store(policy_decisions=[stored("policy_decisions", **DECISIONS.to_row(then))])
    assert stored_touched(rows)["q", then.policy_after] == pytest.approx(0.25)


def test_of_an_option_that_was_not_chosen_the_observation_tells() -> None:
    found = stored_touched(store())
    named = {o.policy(WORKED): touched_by(WORKED)[o.name] for o in OPTIONS}
    assert {change: share for (query, change), share in found.items() if query == "q"} == pytest.approx(named)


def test_what_only_a_rule_can_propose_has_none() -> None:
    assert ("q", Policy.of({"spark.sql.shuffle.partitions": "37"})) not in stored_touched(store())
    assert ("q", FEWER) in stored_touched(store())  # two cores, one partition each: an option too
