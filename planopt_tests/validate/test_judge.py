"""The judge: better beyond noise and no guard broken, or it is not accepted; never on a tie."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from statistics import stdev

import pytest

from planopt_assets.validate.intervals import ratio_interval
from planopt_assets.validate.judge import judge
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.pairs import differing
from planopt_tests.loop.fake_workspace import HALF_THE_WORK, SLIGHTLY_LESS
from planopt_tests.measured import MIB, counters
from planopt_tests.validate.judged import NOISE, RULES, criterion, pair, pairs_of, verdict_on

pytestmark = pytest.mark.fast


# Unknown


@pytest.mark.parametrize("side", ["baseline", "candidate"])
@pytest.mark.parametrize("objective", ["cpu", "latency", "bytes"])
@pytest.mark.parametrize("ratio", [0.5, 2.0], ids=["better", "worse"])
def test_cpu_that_is_unknown_in_one_trial_is_neither_a_gain_nor_a_loss(side: str, objective: str, ratio: float) -> None:
    """An executor of a cluster did not say what its Python workers took: unknown is not zero."""
    first, *others = pairs_of(ratio, **(HALF_THE_WORK if ratio < 1 else {}))
    unknown = replace(first, **{side: tuple(replace(c, cpu_ns=None) for c in getattr(first, side))})
    verdict = verdict_on([unknown, *others], objective)
    assert (verdict.outcome, verdict.gain) == ("inconclusive", None)
    assert verdict.reason == "cannot be judged: cpu_ns unknown in a trial"


# Accept


def test_a_clear_gain_is_accepted_without_waiting_for_more_pairs() -> None:
    verdict = verdict_on(pairs_of(0.7), done=False)
    assert (verdict.outcome, verdict.results_equal, verdict.pairs) == ("accept", True, 9)
    assert verdict.gain is not None
    assert verdict.gain.low < 0.7 < verdict.gain.high < 0.97
    assert verdict.reason == verdict.gain.describe()


def test_an_accepted_verdict_shows_every_criterion_and_all_of_them_passed() -> None:
    verdict = verdict_on(pairs_of(0.7, **HALF_THE_WORK))
    assert [c.name for c in verdict.criteria] == [
        "results_equal",
        "scan_bytes",
        "shuffle_write_bytes",
        "disk_spill_bytes",
        "memory_spill_bytes",
        "tasks",
        "task_memory_bytes",
        "failed_tasks",
        "wall_ns",
        "gc_ns",
        "work_ns",
        "baseline_noise",
        "pairs_agree",
        "objective:cpu",
    ]
    assert all(c.passed is True for c in verdict.criteria)
    assert verdict.doubt == ""


def test_the_docstring_example_works_out() -> None:
    # Nine log ratios with mean -0.36 and deviation 0.17: -0.36 +- 4.90 x 0.17 / 3 = -0.64 .. -0.08.
    places = (-1.5, -1.0, -0.75, -0.25, 0.0, 0.25, 0.75, 1.0, 1.5)
    logs = [-0.36 + 0.17 * place / stdev(places) for place in places]
    gain = ratio_interval([(1.0, exp(log)) for log in logs], "cpu", RULES.confidence)
    assert gain.describe() == "cpu -30% (-47% to -8% at 99.88%)"


def test_the_objective_latency_is_judged_by_the_wall_clock() -> None:
    faster = [pair(counters(cpu_s=3, wall_s=3), counters(cpu_s=3, wall_s=3 * 0.7 * n)) for n in NOISE]
    assert verdict_on(faster, "latency").outcome == "accept"
    assert verdict_on(faster, "cpu").outcome == "reject"


@pytest.mark.parametrize(("clock", "ratio", "outcome"), [("cpu_s", 1.03, "accept"), ("cpu_s", 2.0, "reject")])
def test_fewer_bytes_may_not_cost_cpu(clock: str, ratio: float, outcome: str) -> None:
    dearer = [
        pair(counters(wall_s=3), counters(**{clock: 3 * ratio * n}, wall_s=3, scan_bytes=50 * MIB)) for n in NOISE
    ]
    assert verdict_on(dearer, "bytes").outcome == outcome


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


STEADY = (1.04, 0.96, 1.04, 0.96, 1.04, 0.96)  # around 1, log ratios with a deviation of 0.044


@pytest.mark.parametrize(("ratio", "shown", "goes_on"), [(0.97, False, False), (0.93, False, True), (0.97, True, True)])
def test_a_small_gain_is_not_worth_more_pairs_unless_it_is_in_force(ratio: float, shown: bool, goes_on: bool) -> None:
    # One standard error better than -3 % is a gain of 4.7 %, one better than -7 % is 8.7 %. Worth it are 5 %.
    small = [pair(counters(), counters(cpu_s=3 * ratio * n, **HALF_THE_WORK)) for n in STEADY]
    verdict = judge(small, objective="cpu", rules=RULES, done=False, shown=shown)
    if goes_on:
        assert verdict is None
    else:
        assert verdict is not None
        assert (verdict.outcome, verdict.pairs) == ("inconclusive", 6)
        assert verdict.reason.startswith("6 pairs show a gain below 5%, not worth more of them: cpu -3%")


@pytest.mark.parametrize(("ratio", "goes_on"), [(1.0, False), (0.98, False), (0.92, True), (0.85, True)])
def test_three_pairs_are_enough_to_give_up_what_counters_promise_and_clocks_do_not_show(
    ratio: float, goes_on: bool
) -> None:
    """All of them do half the work. The log ratios deviate by 0.05: one standard error is 3 %."""
    three = [pair(counters(), counters(cpu_s=3 * ratio * n, **HALF_THE_WORK)) for n in (1.05, 0.95, 1.0)]
    verdict = judge(three, objective="cpu", rules=RULES, done=False)
    assert (verdict is None) == goes_on
    if verdict is not None:
        assert (verdict.outcome, verdict.pairs) == ("inconclusive", 3)


@pytest.mark.parametrize("rules", [RULES, replace(RULES, worth_gain=0.0)], ids=["to be confirmed", "in force"])
def test_what_may_be_taken_back_gets_a_fourth_pair_because_a_clear_rejection_counts_too(rules: Rules) -> None:
    """A fifth worse, in three pairs that do not show it clearly: a new candidate would be given up as unclear."""
    slower = [pair(counters(), counters(cpu_s=3 * 1.2 * n, **HALF_THE_WORK)) for n in (1.25, 0.8, 1.0, 1.2)]
    shown = rules is RULES
    verdict = verdict_on(slower[:3], done=False)
    assert (verdict.outcome, verdict.pairs) == ("inconclusive", 3)
    assert judge(slower[:3], objective="cpu", rules=rules, done=False, shown=shown) is None
    known = judge(slower, objective="cpu", rules=rules, done=False, shown=shown)
    assert known is not None
    assert known.outcome == "reject"


def test_a_gain_that_is_excluded_is_rejected_early() -> None:
    verdict = verdict_on(pairs_of(1.0, count=6), done=False)
    assert verdict.outcome == "reject"
    assert verdict.reason.startswith("no gain of 3% or more: cpu ")


@pytest.mark.parametrize("count", [1, 2])
def test_what_neither_counters_nor_clocks_speak_for_is_given_up_before_any_interval(count: int) -> None:
    none = [pair(counters(cpu_s=3.0), counters(cpu_s=2.95, **SLIGHTLY_LESS))] * count
    verdict = verdict_on(none, done=False)
    assert (verdict.outcome, verdict.gain, verdict.pairs) == ("reject", None, count)
    assert verdict.reason == "no chance: counters show no less work, and no clock a gain (cpu -2%)"


@pytest.mark.parametrize(
    ("clocks", "counted"),
    [
        ({"cpu_s": 3.3, "wall_s": 3.3}, HALF_THE_WORK),
        ({"cpu_s": 2.9, "wall_s": 3.3}, SLIGHTLY_LESS),
        ({"cpu_s": 3.3, "wall_s": 2.9}, SLIGHTLY_LESS),
    ],
    ids=["counters", "cpu", "the other clock"],
)
def test_what_one_of_them_speaks_for_gets_its_pairs(clocks: dict[str, float], counted: dict[str, int]) -> None:
    promising = [pair(counters(cpu_s=3.0, wall_s=3.0), counters(**clocks, **counted))]
    assert judge(promising, objective="cpu", rules=RULES, done=False) is None


@pytest.mark.parametrize(("rows", "goes_on"), [(24, False), (2_000, True)], ids=["empty", "filled"])
def test_only_blocks_that_may_hold_rows_speak_for_a_candidate(rows: int, goes_on: bool) -> None:
    # 1,000 blocks become 10. Of 24 rows, at most 24 of them hold one: 0.02 s less of 1.0 s. Of 2,000, all: 0.2 s.
    before, after = (counters(shuffle_blocks=blocks, shuffle_write_rows=rows) for blocks in (1_000, 10))
    found = judge([pair(before, after)], objective="cpu", rules=RULES, done=False)
    assert (found is None) == goes_on
    if found is not None:
        assert (found.outcome, found.reason) == (
            "reject",
            "no chance: counters show no less work, and no clock a gain (cpu +0%)",
        )


def test_a_policy_that_is_confirmed_is_not_given_up_for_one_pair() -> None:
    unlucky = [pair(counters(cpu_s=3.0), counters(cpu_s=3.3, **SLIGHTLY_LESS))]
    assert judge(unlucky, objective="cpu", rules=RULES, done=False, shown=True) is None


@pytest.mark.parametrize("count", range(RULES.confirm_pairs))
def test_too_few_pairs_settle_nothing_however_good_they_are(count: int) -> None:
    few = pairs_of(0.1, count=count, **HALF_THE_WORK)
    assert judge(few, objective="cpu", rules=RULES, done=False) is None
    verdict = verdict_on(few)
    assert (verdict.outcome, verdict.gain, verdict.pairs) == ("inconclusive", None, count)
    assert verdict.reason == f"only {count} of the 3 pairs needed were run"


@pytest.mark.parametrize("count", range(RULES.confirm_pairs, RULES.min_pairs))
def test_fewer_pairs_than_clocks_alone_need_settle_nothing_without_less_work(count: int) -> None:
    few = pairs_of(0.1, count=count, **SLIGHTLY_LESS)
    assert judge(few, objective="cpu", rules=RULES, done=False) is None
    verdict = verdict_on(few)
    assert verdict.outcome == "inconclusive"
    assert verdict.reason.startswith(f"only {count} of the 6 pairs that clocks alone need were run: cpu -90%")


def test_the_fewest_pairs_that_clocks_alone_need_can_be_accepted() -> None:
    assert verdict_on(pairs_of(0.5, count=RULES.min_pairs, **SLIGHTLY_LESS), done=False).outcome == "accept"


def test_a_candidate_that_changes_no_counter_needs_half_of_all_pairs() -> None:
    least = RULES.max_pairs // 2
    assert judge(pairs_of(0.5, count=least - 1), objective="cpu", rules=RULES, done=False) is None
    assert verdict_on(pairs_of(0.5, count=least - 1)).outcome == "inconclusive"
    assert verdict_on(pairs_of(0.5, count=least), done=False).outcome == "accept"


def test_the_clocks_alone_are_asked_at_few_looks_only() -> None:
    looked = [
        judge(pairs_of(0.5, count=n, **SLIGHTLY_LESS), objective="cpu", rules=RULES, done=False) is not None
        for n in range(1, 10)
    ]
    assert looked == [False] * 5 + [True, False, False, True]


# Counters show less work, and the clocks confirm it


def test_less_work_that_the_clocks_confirm_is_accepted_after_three_pairs() -> None:
    verdict = verdict_on(pairs_of(0.7, count=3, **HALF_THE_WORK), done=False)
    assert (verdict.outcome, verdict.pairs) == ("accept", 3)
    assert criterion(verdict, "work_ns").passed is True
    assert criterion(verdict, "objective:cpu").threshold.startswith("less work, 97.84% interval of the ratio below 1")


def test_the_docstring_example_of_a_confirmed_gain_works_out() -> None:
    seconds = [(2.9, 2.0), (3.0, 2.1), (3.1, 2.2)]
    pairs = [pair(counters(cpu_s=b), counters(cpu_s=c, **HALF_THE_WORK)) for b, c in seconds]
    gain = verdict_on(pairs, done=False).gain
    assert gain is not None
    assert gain.describe() == "cpu -30% (-39% to -20% at 97.84%)"  # exp(-0.36), exp(-0.49), exp(-0.23)


def test_below_six_pairs_each_side_tells_its_own_spread() -> None:
    # Both go up and down together: six pairs know that it is no spread of the ratio, three do not.
    together = [(s, 0.7 * s * n) for s, n in zip((1.0, 1.4, 1.0, 1.4, 1.0, 1.4), NOISE, strict=False)]
    few, many = ratio_interval(together[:3], "cpu", 0.95), ratio_interval(together, "cpu", 0.95)
    assert few.low < 0.5
    assert many.low > 0.65


def test_a_side_that_varies_alone_has_the_degrees_of_freedom_of_one_side() -> None:
    # Log baselines -0.05, 0, 0.05, and a candidate that never varies: 2 degrees, 4.30 x 0.05 / sqrt(3) = 0.124.
    gain = ratio_interval([(exp(log), 0.7) for log in (-0.05, 0.0, 0.05)], "cpu", 0.95)
    assert (gain.low, gain.high) == pytest.approx((0.7 * exp(-0.1242), 0.7 * exp(0.1242)), rel=1e-3)


def test_less_work_without_less_cpu_is_rejected() -> None:
    assert verdict_on(pairs_of(1.0, count=3, **HALF_THE_WORK), done=False).outcome == "reject"


def test_less_work_in_some_rounds_only_shows_nothing() -> None:
    some = [*pairs_of(0.5, count=2, **HALF_THE_WORK), *pairs_of(0.5, count=1)]
    assert judge(some, objective="cpu", rules=RULES, done=False) is None


@pytest.mark.parametrize(
    ("broadcast", "tasks", "passed"), [(1_000_000, 81, True), (1_000_000, 82, None), (0, 95, True), (0, 96, None)]
)
def test_work_must_fall_by_a_tenth_and_by_three_percent_where_nothing_is_more(
    broadcast: int, tasks: int, passed: bool | None
) -> None:
    # 0.1 s to start, 10 files of 2 ms, 100 tasks of 5 ms, 100 MiB of shuffle: 0.830 s. A tenth of it are 16.6 tasks,
    # and 2 more pay for a megabyte that is broadcast, which is something more. 3 % are 5 tasks.
    verdict = verdict_on(pairs_of(0.7, tasks=tasks, broadcast_bytes=broadcast))
    assert criterion(verdict, "work_ns").passed is passed


@pytest.mark.parametrize(("wall", "outcome"), [(1.0, "accept"), (1.01, None)])
def test_a_confirmed_gain_may_cost_no_time_on_the_other_clock(wall: float, outcome: str | None) -> None:
    pairs = [pair(counters(), counters(cpu_s=1.5 * n, wall_s=3 * wall, **HALF_THE_WORK)) for n in NOISE[:3]]
    verdict = judge(pairs, objective="cpu", rules=RULES, done=False)
    assert (verdict.outcome if verdict else None) == outcome


def test_one_pair_against_it_is_enough_to_wait_for_more() -> None:
    ratios = (0.3, 0.3, 1.001)
    pairs = [pair(counters(), counters(cpu_s=3 * r, wall_s=1, **HALF_THE_WORK)) for r in ratios]
    wide = RULES.within(0.9)  # so wide that the interval alone would accept
    assert judge(pairs, objective="cpu", rules=wide, done=False) is None
    assert criterion(verdict_on(pairs, rules=wide), "pairs_agree").note == "2 of 3 pairs are better"


# The same plan and the same counters are the same query


@pytest.mark.parametrize("count", [1, 3, 9, 18])
def test_a_candidate_with_the_same_plan_and_counters_is_never_accepted_whatever_the_clocks_say(count: int) -> None:
    same = [replace(p, same_plan=True) for p in pairs_of(0.1, count=count)]
    verdict = verdict_on(same, done=False)
    assert verdict.outcome == "reject"
    assert verdict.reason == "not applied: the final plan and all deterministic counters are those of the baseline"


def test_the_same_plan_with_other_counters_is_judged() -> None:
    other = [replace(p, same_plan=True) for p in pairs_of(0.5, count=6, **SLIGHTLY_LESS)]
    assert verdict_on(other, done=False).outcome == "accept"


@pytest.mark.parametrize(
    ("name", "before", "after", "differ"),
    [
        ("tasks", [37, 37], [12, 12], True),
        ("tasks", [10, 12], [11, 13], False),  # they overlap
        ("tasks", [100, 100], [99, 99], False),  # less than 2 %
        ("shuffle_write_bytes", [402_116, 402_116], [402_207, 402_207], False),  # less than 64 KiB
        ("shuffle_write_bytes", [4 * MIB, 4 * MIB], [2 * MIB, 2 * MIB], True),
        ("scan_files", [0, 0], [1, 1], True),
        (
            "map_memory_bytes",
            [80 * MIB, 80 * MIB],
            [70 * MIB, 70 * MIB],
            True,
        ),  # all that an aggregation's larger map changes
        ("sort_fallback_tasks", [2, 2], [0, 0], True),
        ("input_bytes", [51_303, 51_303], [17_863, 17_863], True),  # a reader that no longer looks into page indexes
        ("cpu_ns", [1, 1], [9, 9], False),  # a clock
    ],
)
def test_counters_differ_where_no_run_of_one_side_could_be_one_of_the_other(
    name: str, before: list[int], after: list[int], differ: bool
) -> None:
    pairs = [pair(counters(**{name: b}), counters(**{name: a})) for b, a in zip(before, after, strict=True)]
    assert differing(pairs) == ((name,) if differ else ())


# What one round is enough for


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scan_bytes", 127 * MIB),
        ("shuffle_write_bytes", 112 * MIB),
        ("disk_spill_bytes", 2 * MIB),
        ("memory_spill_bytes", 2 * MIB),
        ("tasks", 209),
    ],
)
def test_a_counter_that_repeats_rejects_after_one_pair_however_fast_it_was(name: str, value: int) -> None:
    verdict = verdict_on([pair(counters(), counters(cpu_s=0.3, **{name: value}))], done=False)
    assert (verdict.outcome, verdict.pairs) == ("reject", 1)
    assert verdict.reason.startswith(f"guard {name} broken: ")


def test_a_little_spill_may_be_chance_and_waits_for_more_pairs() -> None:
    spilled = [pair(counters(), counters(cpu_s=1.5, disk_spill_bytes=1_000))]
    assert judge(spilled, objective="cpu", rules=RULES, done=False) is None
    assert verdict_on(spilled * 3, done=False).reason.startswith("guard disk_spill_bytes broken")
