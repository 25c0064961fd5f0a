"""The replay of stored trials: what each order of trying would have reached."""

from __future__ import annotations

import pytest

from benchmarks.explore_replay import by_gain, by_list, replay
from planopt_assets.decide.explore.choice import Experience
from planopt_assets.decide.explore.options import OPTIONS
from planopt_assets.decide.explore.plan_features import PlanFeatures
from planopt_assets.model.policy import Policy

pytestmark = pytest.mark.fast

PLAN = PlanFeatures(1, 0, 0, 2, 1, 2, 999, 0, 0, 0)
FIRST, LAST = (Policy.of({name: "1" for name, _ in o.settings}) for o in (OPTIONS[0], OPTIONS[-1]))


def tried(query: str, first: float, last: float) -> list[Experience]:
    """Two changes on one query: that of the first option of the list, and that of the last."""
    return [Experience(query, FIRST, first, PLAN), Experience(query, LAST, last, PLAN)]


TOLD = [e for n in range(4) for e in tried(f"q{n}", 0.0, 0.4)]


def test_the_list_in_order_needs_two_trials_for_what_helps_always() -> None:
    found = replay(TOLD, by_list)
    assert (found.reached[:2], found.trials_to_best) == ((0.0, 1.0), 2.0)


def test_what_helped_before_is_tried_first() -> None:
    found = replay(TOLD[2:], lambda own, before: by_gain(own, [*TOLD[:2], *before]))
    assert (found.reached[0], found.trials_to_best) == (1.0, 1.0)
    assert replay(TOLD, by_gain).trials_to_best < replay(TOLD, by_list).trials_to_best


def test_a_query_without_a_choice_or_a_gain_tells_nothing() -> None:
    assert replay([*tried("q", 0.0, 0.0), TOLD[1]], by_list).reached == ()
