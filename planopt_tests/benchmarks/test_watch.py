"""A smaller version of `make bench ARGS=watch`: good policies stay, bad ones go, whatever the noise is like."""

from __future__ import annotations

import pytest

from benchmarks.watch import Life, noticed
from benchmarks.watch_noise import NOISES, Noise

pytestmark = pytest.mark.fast

SEEDS = range(3)
noises = pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)


@noises
def test_a_policy_as_fast_as_original_is_not_taken_back(noise: Noise) -> None:
    assert [noticed(Life(noise, 1.0, seed), 1500) for seed in SEEDS] == [None] * len(SEEDS)


@noises
@pytest.mark.parametrize(("changed_at", "effect", "within"), [(0, 20.0, 50), (200, 20.0, 250), (0, 2.0, 500)])
def test_a_slower_policy_is_found_also_after_good_runs(
    noise: Noise, changed_at: int, effect: float, within: int
) -> None:
    for seed in SEEDS:
        found = noticed(Life(noise, effect, seed, changed_at), changed_at + within)
        assert found is not None
        assert found > changed_at
        assert found == noticed(Life(noise, effect, seed, changed_at), found)  # the same seed, the same life
