"""The games behind watch: fair where nothing changed, soon rich where something did."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planopt_assets.promote.against_controls import TILTS, _bets
from planopt_assets.promote.level_change import change_evidence, held_after

pytestmark = pytest.mark.fast


@given(st.integers(2, 40), st.sampled_from(TILTS))
def test_over_all_ranks_a_bet_wins_nothing(ranks: int, tilt: float) -> None:
    bets = _bets(ranks, tilt)
    assert math.isclose(sum(bets) / ranks, 1.0)
    assert list(bets) == sorted(bets, reverse=True)  # a policy that is faster than original only loses


def test_before_the_first_step_nothing_is_known() -> None:
    assert change_evidence([]) == 1.0


@given(st.lists(st.just((1.0, 1.0)), max_size=50))
def test_steps_that_say_nothing_change_nothing(steps: list[Sequence[float]]) -> None:
    assert math.isclose(change_evidence(steps), 1.0)


def test_a_change_after_a_long_time_takes_a_few_steps_more() -> None:
    quiet, changed = (0.1,), (10.0,)
    at_once = next(n for n in range(50) if change_evidence([changed] * n) >= 200)
    later = next(n for n in range(50) if change_evidence([quiet] * 1000 + [changed] * n) >= 200)
    assert (at_once, later) == (3, 9)


def test_what_is_won_is_bounded_and_lost_again() -> None:
    assert change_evidence([(17.0,)] * 5000) <= 2e12
    assert change_evidence([(17.0,)] * 100 + [(0.1,)] * 50) < 1.0


def test_by_chance_the_limit_is_reached_as_rarely_as_is_said() -> None:
    """500 lives of 60 controls each, asked after every one: at most 5 % may ever reach 20."""
    chance = random.Random(3)
    reached = 0
    for _ in range(500):
        ranks = [chance.randrange(17) for _ in range(60)]
        reached += max(held_after([_bets(17, tilt)[rank] for tilt in TILTS] for rank in ranks)) >= 20
    assert reached <= 25
