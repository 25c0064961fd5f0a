"""The judge over many experiments: it errs no more often than it may, and never accepts a tie or a loss."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.counters import Counters
from planopt_assets.model.verdict import Judgement
from planopt_assets.validate.judge import judge
from planopt_assets.validate.pairs import Pair
from planopt_tests.loop.fake_workspace import HALF_THE_WORK, SLIGHTLY_LESS
from planopt_tests.measured import counters
from planopt_tests.validate.judged import RULES, pair, pairs_of, verdict_on

pytestmark = pytest.mark.fast


# Simulated experiments, judged round by round as experiment.py does


def simulated(seed: str, ratio: float, deviation: float, *, one_noise: bool = False, **candidate: int) -> Judgement:
    """One experiment of a query of 3 s with log-normal noise; CPU and wall have each its own, or share it."""
    draw = random.Random(seed)

    def noisy(mean: float, **counted: int) -> Counters:
        cpu = mean * draw.lognormvariate(0.0, deviation)
        return counters(cpu_s=cpu, wall_s=cpu if one_noise else mean * draw.lognormvariate(0.0, deviation), **counted)

    pairs: list[Pair] = []
    while True:
        pairs.append(pair(noisy(3.0), noisy(3.0 * ratio, **candidate)))
        verdict = judge(pairs, objective="cpu", rules=RULES, done=len(pairs) >= RULES.max_pairs)
        if verdict is not None:
            return verdict


def outcomes(name: str, count: int, ratio: float, deviation: float, **how: Any) -> list[str]:
    return [simulated(f"{name}/{n}", ratio, deviation, **how).outcome for n in range(count)]


@pytest.mark.parametrize("one_noise", [False, True], ids=["own_noise", "one_noise"])
def test_a_candidate_without_a_gain_is_accepted_no_more_often_than_five_looks_allow(one_noise: bool) -> None:
    # An interval of 99.88 % lies wholly below the truth once in 1,667 looks: 0.9 of 300 experiments.
    assert outcomes("A/A", 300, 1.0, 0.2, one_noise=one_noise, **SLIGHTLY_LESS).count("accept") <= 1


def test_less_work_whose_cpu_did_not_fall_is_accepted_no_more_often_than_its_looks_allow() -> None:
    assert outcomes("no gain", 300, 1.0, 0.12, **HALF_THE_WORK).count("accept") <= 300 * RULES.error


def test_less_work_that_takes_a_fifth_longer_is_hardly_ever_accepted() -> None:
    assert outcomes("longer", 300, 1.2, 0.12, **HALF_THE_WORK).count("accept") <= 1


def test_a_gain_is_found_in_fewer_pairs_where_counters_show_it() -> None:
    pairs = {
        name: sum(simulated(f"{n}", 0.7, 0.1, **counted).pairs for n in range(100)) / 100
        for name, counted in {"shown": HALF_THE_WORK, "clocks alone": SLIGHTLY_LESS}.items()
    }
    assert pairs["shown"] < 5
    assert pairs["clocks alone"] > 1.5 * pairs["shown"]


def test_a_gain_of_forty_percent_is_nearly_always_accepted() -> None:
    assert outcomes("gain", 100, 0.6, 0.15).count("accept") >= 95


def test_a_loss_of_forty_percent_is_always_rejected() -> None:
    assert set(outcomes("loss", 30, 1.4, 0.15)) == {"reject"}


# Never on a tie, never on a loss

SECONDS = st.floats(0.001, 1_000)
WORSE = st.lists(st.tuples(SECONDS, st.floats(1.0, 10.0)), min_size=1, max_size=18)


@settings(deadline=None, max_examples=60)
@given(WORSE, st.sampled_from(["cpu", "latency", "bytes"]), st.booleans())
def test_a_candidate_that_is_in_no_pair_better_is_never_accepted(
    runs: Iterable[tuple[float, float]], objective: Any, done: bool
) -> None:
    def all_of(seconds: float) -> Counters:
        return counters(cpu_s=seconds, scan_bytes=round(seconds * 1e6))

    pairs = [pair(all_of(seconds), all_of(seconds * factor)) for seconds, factor in runs]
    verdict = judge(pairs, objective=objective, rules=RULES, done=done)
    assert verdict is None or verdict.outcome != "accept"


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=6, max_size=18))
def test_with_done_there_is_always_a_verdict_and_it_says_why(runs: list[tuple[float, float]]) -> None:
    verdict = verdict_on([pair(counters(cpu_s=b), counters(cpu_s=c)) for b, c in runs])
    assert verdict.outcome in ("accept", "reject", "inconclusive")
    assert verdict.reason
    assert (verdict.outcome == "accept") == (verdict.doubt == "")  # an accept is never without its criteria


def test_the_judge_answers_the_same_again() -> None:
    ask: Callable[[], Judgement] = lambda: verdict_on(pairs_of(0.8))  # noqa: E731
    assert repr(ask()) == repr(ask())
