"""The judge: better beyond noise and no guard broken, or it is not accepted; never on a tie."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from math import exp
from statistics import stdev
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.counters import Counters
from planopt_assets.model.verdict import Verdict
from planopt_assets.validate.judge import Pair, Rules, judge, ratio_interval
from planopt_tests.measured import MIB, counters

pytestmark = pytest.mark.fast

RULES = Rules()
# What an execution takes may vary by a fifth; these are fixed so that every number below can be worked out.
NOISE = (1.00, 1.02, 0.99, 1.01, 0.98, 1.00, 1.03, 0.97, 1.01)


def pair(baseline: Counters, candidate: Counters) -> Pair:
    return Pair((baseline,), (candidate,))


def pairs_of(ratio: float, count: int = 9, **candidate: Any) -> list[Pair]:
    """Pairs whose candidate takes `ratio` of the baseline's CPU and wall, with a little noise."""
    noise = [NOISE[n % len(NOISE)] for n in range(count)]
    return [pair(counters(cpu_s=3.0), counters(cpu_s=3.0 * ratio * n, **candidate)) for n in noise]


def verdict_on(pairs: list[Pair], objective: Any = "cpu", *, done: bool = True, rules: Rules = RULES) -> Verdict:
    verdict = judge(pairs, objective=objective, rules=rules, done=done)
    assert verdict is not None
    return verdict


def criterion(verdict: Verdict, name: str) -> Any:
    (found,) = [c for c in verdict.criteria if c.name == name]
    return found


# Accept


def test_a_clear_gain_is_accepted_without_waiting_for_more_pairs() -> None:
    verdict = verdict_on(pairs_of(0.7), done=False)
    assert (verdict.outcome, verdict.results_equal, verdict.pairs) == ("accept", True, 9)
    assert verdict.gain is not None
    assert verdict.gain.low < 0.7 < verdict.gain.high < 0.97
    assert verdict.reason == verdict.gain.describe()


def test_an_accepted_verdict_shows_every_criterion_and_all_of_them_passed() -> None:
    verdict = verdict_on(pairs_of(0.7))
    assert [c.name for c in verdict.criteria] == [
        "results_equal",
        "scan_bytes",
        "shuffle_write_bytes",
        "disk_spill_bytes",
        "memory_spill_bytes",
        "peak_memory_bytes",
        "tasks",
        "failed_tasks",
        "wall_ns",
        "objective:cpu",
    ]
    assert all(c.passed is True for c in verdict.criteria)


def test_the_docstring_example_works_out() -> None:
    # Nine log ratios with mean -0.36 and deviation 0.17: -0.36 +- 5.04 x 0.17 / 3 = -0.65 .. -0.07.
    places = (-1.5, -1.0, -0.75, -0.25, 0.0, 0.25, 0.75, 1.0, 1.5)
    logs = [-0.36 + 0.17 * place / stdev(places) for place in places]
    gain = ratio_interval([(1.0, exp(log)) for log in logs], "cpu", 0.999)
    assert gain.describe() == "cpu -30% (-48% to -7%)"


def test_the_objective_latency_is_judged_by_the_wall_clock() -> None:
    faster = [pair(counters(cpu_s=3, wall_s=3), counters(cpu_s=3, wall_s=3 * 0.7 * n)) for n in NOISE]
    assert verdict_on(faster, "latency").outcome == "accept"
    assert verdict_on(faster, "cpu").outcome == "reject"


def test_the_objective_bytes_needs_no_interval() -> None:
    fewer = [pair(counters(), counters(cpu_s=3 * n, scan_bytes=50 * MIB)) for n in NOISE]
    verdict = verdict_on(fewer, "bytes", done=False)
    assert verdict.outcome == "accept"
    assert verdict.gain is not None
    assert (verdict.gain.low, verdict.gain.ratio, verdict.gain.high) == pytest.approx((0.5, 0.5, 0.5))


# Not accepted


def test_a_tie_is_rejected() -> None:
    assert verdict_on([pair(counters(), counters())] * 9).outcome == "reject"


def test_a_tie_of_bytes_is_rejected() -> None:
    assert verdict_on([pair(counters(), counters(cpu_s=1.0))] * 9, "bytes").outcome == "reject"


def test_no_bytes_at_all_on_both_sides_is_a_tie() -> None:
    nothing = [pair(counters(scan_bytes=0), counters(scan_bytes=0, cpu_s=1.0))] * 9
    assert verdict_on(nothing, "bytes").outcome == "reject"


def test_a_ratio_to_nothing_is_never_accepted() -> None:
    from_nothing = [pair(counters(scan_bytes=0), counters(scan_bytes=100))] * 9
    to_nothing = [pair(counters(scan_bytes=100), counters(scan_bytes=0))] * 9
    assert [verdict_on(p, "bytes").outcome for p in (from_nothing, to_nothing)] == ["inconclusive"] * 2


@pytest.mark.parametrize(("percent", "outcome"), [(96, "accept"), (97, "inconclusive"), (98, "reject")])
def test_a_gain_of_exactly_the_minimum_is_not_enough(percent: int, outcome: str) -> None:
    fewer = [pair(counters(scan_bytes=100 * MIB), counters(scan_bytes=percent * MIB))] * 9
    assert verdict_on(fewer, "bytes").outcome == outcome


def test_noise_that_hides_the_gain_is_inconclusive() -> None:
    ratios = (0.6, 1.1, 0.7, 1.0, 0.65, 1.05, 0.8, 0.9, 0.75)
    verdict = verdict_on([pair(counters(), counters(cpu_s=3 * r)) for r in ratios])
    assert verdict.outcome == "inconclusive"
    assert verdict.reason.startswith("noise hides the gain: cpu -")


def test_while_more_pairs_may_settle_it_there_is_no_verdict() -> None:
    ratios = (0.6, 0.9, 0.7, 0.95, 0.65, 0.9)
    undecided = [pair(counters(), counters(cpu_s=3 * r)) for r in ratios]
    assert judge(undecided, objective="cpu", rules=RULES, done=False) is None
    assert verdict_on(undecided, done=True).outcome == "inconclusive"


def test_a_trial_that_cannot_settle_any_more_is_given_up() -> None:
    # Mean -8 %, deviation 15 %: at 18 pairs the interval would still reach above -3 %.
    ratios = [0.92 * r for r in (0.8, 1.2, 0.85, 1.15, 1.0, 0.9, 1.1, 0.87, 1.13)]
    hopeless = [pair(counters(), counters(cpu_s=3 * r)) for r in ratios]
    assert verdict_on(hopeless, done=False).outcome == "inconclusive"
    assert judge(hopeless[: RULES.foresight_pairs - 1], objective="cpu", rules=RULES, done=False) is None


def test_a_gain_that_is_excluded_is_rejected_early() -> None:
    verdict = verdict_on(pairs_of(1.0, count=6), done=False)
    assert verdict.outcome == "reject"
    assert verdict.reason.startswith("no gain of 3% or more: cpu ")


@pytest.mark.parametrize("count", [0, 1, RULES.min_pairs - 1])
def test_too_few_pairs_settle_nothing_however_good_they_are(count: int) -> None:
    few = pairs_of(0.1, count=count)
    assert judge(few, objective="cpu", rules=RULES, done=False) is None
    verdict = verdict_on(few)
    assert (verdict.outcome, verdict.gain, verdict.pairs) == ("inconclusive", None, count)
    assert verdict.reason == f"only {count} of at least 6 pairs could be run"


def test_the_fewest_pairs_that_are_enough_can_be_accepted() -> None:
    assert verdict_on(pairs_of(0.5, count=RULES.min_pairs), done=False).outcome == "accept"


# Guards: each lets its limit pass and rejects what is beyond, whatever the gain

GUARDS: dict[str, tuple[int, int]] = {  # baseline, the most that is allowed
    "scan_bytes": (100 * MIB, 103 * MIB),  # 2 % and 1 MiB
    "shuffle_write_bytes": (100 * MIB, 111 * MIB),  # 10 % and 1 MiB
    "disk_spill_bytes": (1_000, 1_000),
    "memory_spill_bytes": (0, 0),
    "peak_memory_bytes": (100 * MIB, 264 * MIB),  # twice and 64 MiB
    "tasks": (100, 208),  # twice and 8
    "failed_tasks": (0, 0),
}


def guarded(name: str, candidate: int) -> Verdict:
    noise = pairs_of(0.5)
    return verdict_on(
        [
            pair(counters(**{name: GUARDS[name][0]}), counters(cpu_s=p.candidate[0].cpu_ns / 1e9, **{name: candidate}))
            for p in noise
        ]
    )


@pytest.mark.parametrize("name", GUARDS)
def test_a_counter_at_its_limit_is_accepted(name: str) -> None:
    verdict = guarded(name, GUARDS[name][1])
    assert (verdict.outcome, criterion(verdict, name).passed) == ("accept", True)


@pytest.mark.parametrize("name", GUARDS)
def test_a_counter_beyond_its_limit_is_rejected(name: str) -> None:
    baseline, limit = GUARDS[name]
    verdict = guarded(name, limit + 1)
    found = criterion(verdict, name)
    assert (verdict.outcome, found.passed, found.baseline, found.candidate) == ("reject", False, baseline, limit + 1)
    assert verdict.reason == f"guard {name} broken: {baseline:,} -> {limit + 1:,}"


def test_a_counter_beyond_its_limit_in_a_few_runs_only_is_noise() -> None:
    spills = [0, 0, 0, 0, 0, 10**9, 10**9, 10**9, 10**9]
    some = [pair(counters(), counters(cpu_s=1.5, disk_spill_bytes=s)) for s in spills]
    assert verdict_on(some).outcome == "accept"


@pytest.mark.parametrize(("ratio", "outcome"), [(1.049, "accept"), (1.051, "reject")])
def test_the_wall_clock_may_not_get_slower_whatever_cpu_is_saved(ratio: float, outcome: str) -> None:
    verdict = verdict_on([pair(counters(), counters(cpu_s=1.5 * n, wall_s=3 * ratio)) for n in NOISE])
    assert (verdict.outcome, criterion(verdict, "wall_ns").passed) == (outcome, outcome == "accept")


@pytest.mark.parametrize(("ratio", "outcome"), [(1.049, "accept"), (1.051, "reject")])
def test_better_in_sum_may_not_be_worse_on_one_binding(ratio: float, outcome: str) -> None:
    pairs = [
        Pair((counters(cpu_s=10), counters(cpu_s=1)), (counters(cpu_s=5 * n), counters(cpu_s=ratio))) for n in NOISE
    ]
    verdict = verdict_on(pairs)
    assert verdict.outcome == outcome
    passed = [criterion(verdict, f"binding_{number}_cpu_ns").passed for number in range(2)]
    assert passed == [True, outcome == "accept"]


def test_a_broken_guard_is_said_before_a_missing_gain() -> None:
    worse = [pair(counters(), counters(cpu_s=4, disk_spill_bytes=1))] * 9
    assert verdict_on(worse).reason.startswith("guard disk_spill_bytes broken")


# Simulated experiments, judged round by round as experiment.py does


def simulated(seed: str, ratio: float, deviation: float, *, one_noise: bool = False) -> Verdict:
    """One experiment of a query of 3 s with log-normal noise; CPU and wall have each its own, or share it."""
    draw = random.Random(seed)

    def noisy(mean: float) -> Counters:
        cpu = mean * draw.lognormvariate(0.0, deviation)
        return counters(cpu_s=cpu, wall_s=cpu if one_noise else mean * draw.lognormvariate(0.0, deviation))

    pairs: list[Pair] = []
    while True:
        pairs.append(pair(noisy(3.0), noisy(3.0 * ratio)))
        verdict = judge(pairs, objective="cpu", rules=RULES, done=len(pairs) >= RULES.max_pairs)
        if verdict is not None:
            return verdict


def outcomes(name: str, count: int, ratio: float, deviation: float, *, one_noise: bool = False) -> list[str]:
    return [simulated(f"{name}/{n}", ratio, deviation, one_noise=one_noise).outcome for n in range(count)]


@pytest.mark.parametrize("one_noise", [False, True], ids=["own_noise", "one_noise"])
def test_the_same_policy_against_itself_is_accepted_no_more_often_than_thirteen_looks_allow(one_noise: bool) -> None:
    # An interval of 99.9 % lies wholly below the truth once in 2,000 looks; from 6 to 18 pairs there are 13 looks.
    looks = RULES.max_pairs - RULES.min_pairs + 1
    allowed = 300 * looks * (1 - RULES.confidence) / 2
    assert outcomes("A/A", 300, 1.0, 0.2, one_noise=one_noise).count("accept") <= allowed


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


def test_the_judge_answers_the_same_again() -> None:
    ask: Callable[[], Verdict] = lambda: verdict_on(pairs_of(0.8))  # noqa: E731
    assert repr(ask()) == repr(ask())
