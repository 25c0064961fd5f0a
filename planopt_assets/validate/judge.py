"""The judge: accept, reject or inconclusive, from paired counters alone. Pure. It never accepts on a tie.

It is asked only when results are equal. Then, in this order:
1. Same plan and same counters as the baseline: rejected, whatever the clocks say.
2. Guarded counters must stay within their limits.
3. The objective must improve, on one of two paths: counters show clearly less work and the clocks confirm it, or the
   clocks alone show it. `race.py` says at how many pairs, and with how much confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from planopt_assets.model.verdict import OBJECTIVE, RESULTS_EQUAL, Criterion, Gain, Judgement, Outcome
from planopt_assets.model.workload import Objective
from planopt_assets.validate.guards import clock_guards, counter_guards, repeating_guards
from planopt_assets.validate.intervals import against, noise, ratio_interval, reach
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.pairs import Pair, differing, unchanged, unknown
from planopt_assets.validate.race import confirming_confidence, strict_look
from planopt_assets.validate.work import work_falls

__all__ = ["JUDGE_VERSION", "METRIC", "Pair", "Rules", "judge", "ratio_interval", "results_equal"]

JUDGE_VERSION = "judge@10"
METRIC = {"cpu": "cpu_ns", "latency": "wall_ns", "bytes": "scan_bytes"}
GUARDED = (
    *("cpu_ns", "wall_ns", "gc_ns", "scan_bytes", "shuffle_write_bytes", "disk_spill_bytes", "memory_spill_bytes"),
    *("tasks", "task_memory_bytes", "failed_tasks"),
)
"""Counters without which nothing can be judged."""
_OTHER_CLOCK = {"cpu": "wall_ns", "latency": "cpu_ns", "bytes": "wall_ns"}


def judge(
    pairs: Sequence[Pair], *, objective: Objective, rules: Rules, done: bool, shown: bool = False
) -> Judgement | None:
    """The verdict on pairs with equal results, or None if more pairs may settle it. With `done` never None.

    `shown`: an earlier verdict has shown the gain, so clocks need to confirm it, as they do where counters show it.

    Worked, clocks alone: 9 pairs, log ratios of CPU with mean -0.36 and deviation 0.17. The 99.88 % interval of it is
    -0.36 +- 4.90 x 0.17 / 3 = -0.64 .. -0.08: between 47 % and 8 % less. That is beyond the required 3 %: accept.
    Worked, counters confirmed: work -39 % in each of 3 pairs, CPU 2.9, 3.0, 3.1 s against 2.0, 2.1, 2.2 s. The logs
    deviate by 0.033 and 0.048. At 97.84 % with 3.6 degrees of freedom the log ratio is
    -0.36 +- 3.89 x sqrt((0.033^2 + 0.048^2) / 3) = -0.49 .. -0.23: below 0, and the wall clock is not longer: accept.
    """
    if missing := unknown(pairs, GUARDED):
        return _settled(pairs, "inconclusive", f"cannot be judged: {', '.join(missing)} unknown in a trial", ())
    if pairs and rules.reject_unchanged and unchanged(pairs):
        words = "not applied: the final plan and all deterministic counters are those of the baseline"
        return _settled(
            pairs,
            "reject",
            words,
            repeating_guards(pairs, rules, spill_slack=max(rules.slack_bytes, rules.slack_spill_bytes)),
        )
    if len(pairs) < min(rules.confirm_pairs, rules.min_pairs):
        return _too_few(pairs, objective, rules, done=done, shown=shown)
    look = _look(pairs, objective, rules, done=done, before=shown)
    broken = [c for c in look.guards if c.passed is False]
    if broken:
        return look.verdict("reject", f"guard {broken[0].name} broken: {broken[0].note}")
    if look.noise.passed is None and (done or len(pairs) >= rules.min_pairs):
        return look.verdict("inconclusive", f"the baseline is too noisy to judge: {look.noise.note}")
    if look.better.passed and all(c.passed for c in (*look.guards, look.signs, look.noise)):
        return look.verdict("accept", look.gain.describe())
    if look.likely.low > 1 - rules.min_gain:
        return look.verdict("reject", f"no gain of {rules.min_gain:.0%} or more: {look.gain.describe()}")
    foresees = len(pairs) >= rules.gives_up_at(shown=shown)
    if done or (foresees and not _may_settle(look, rules)):
        return look.verdict("inconclusive", f"{_unsettled(look, rules, done=done)}: {look.gain.describe()}")
    if foresees and not shown and not _worth_more_pairs(look, rules):
        words = f"{len(pairs)} pairs show a gain below {rules.worth_gain:.0%}, not worth more of them"
        return look.verdict("inconclusive", f"{words}: {look.gain.describe()}")
    return None


def _unsettled(look: _Look, rules: Rules, *, done: bool) -> str:
    if undecided := [c for c in look.guards if c.passed is None]:
        return f"noise hides whether {undecided[0].name} stays within its limit"
    if done and look.pairs < rules.min_pairs and not look.shown:
        return f"only {look.pairs} of the {rules.min_pairs} pairs that clocks alone need were run"
    return "noise hides the gain"


def results_equal(passed: bool) -> Criterion:
    return Criterion(RESULTS_EQUAL, passed, None, None, "whole results, floating point within 1e-9")


@dataclass(frozen=True, slots=True)
class _Look:
    """One look at all pairs so far."""

    pairs: int
    guards: tuple[Criterion, ...]
    work: Criterion
    signs: Criterion
    noise: Criterion
    better: Criterion
    gain: Gain
    likely: Gain
    values: Sequence[tuple[float, float]]
    shown: bool  # counters or an earlier verdict show less: clocks only confirm

    def verdict(self, outcome: Outcome, reason: str) -> Judgement:
        criteria = (results_equal(True), *self.guards, self.work, self.noise, self.signs, self.better)
        return Judgement(outcome, reason, True, criteria, self.gain, self.pairs)


def _look(pairs: Sequence[Pair], objective: Objective, rules: Rules, *, done: bool, before: bool) -> _Look:
    metric = METRIC[objective]
    values = [p.totals(metric) for p in pairs]
    guards = (*counter_guards(pairs, rules), *clock_guards(pairs, metric, rules))
    work = work_falls(pairs, rules)
    strict = _strict(pairs, values, objective, rules, done=done)
    # Bytes are a deterministic counter themselves: no price of work is needed to see that they fell.
    shown = before or work.passed or (objective == "bytes" and strict[0].high < 1 - rules.min_gain)
    confidence = confirming_confidence(len(pairs), rules, done=done)
    confirmed = _confirmed(pairs, values, objective, rules, confidence) if shown and confidence else None
    gain, better = confirmed if confirmed and not strict[1].passed else strict
    return _Look(
        len(pairs),
        guards,
        work,
        _signs(values, rules),
        _noise([b for b, _ in values], rules),
        better,
        gain,
        ratio_interval(values, objective, rules.hopeless),
        values,
        bool(shown),
    )


Answer = tuple[Gain, Criterion]


def _strict(
    pairs: Sequence[Pair], values: Sequence[tuple[float, float]], objective: Objective, rules: Rules, *, done: bool
) -> Answer:
    """The clocks alone, and only at a look. If no counter differs, only from half of `max_pairs` on."""
    gain = ratio_interval(values, objective, rules.confidence)
    enough = len(pairs) >= (rules.min_pairs if differing(pairs) else rules.max_pairs / 2)
    passed = enough and strict_look(len(pairs), rules, done=done) and gain.high < 1 - rules.min_gain
    words = f"{_percent(rules.confidence)} interval of the ratio below {1 - rules.min_gain:.2f}"
    return gain, _better(objective, values, passed, words, gain)


def _confirmed(
    pairs: Sequence[Pair],
    values: Sequence[tuple[float, float]],
    objective: Objective,
    rules: Rules,
    confidence: float,
) -> Answer:
    """Counters show less work. The clocks confirm: interval below 1, mean 3 % better, other clock not longer."""
    gain = ratio_interval(values, objective, confidence)
    other = ratio_interval([p.totals(_OTHER_CLOCK[objective]) for p in pairs], "other", confidence)
    passed = gain.high < 1 and gain.ratio < 1 - rules.min_gain and other.ratio <= 1
    words = (
        f"less work, {_percent(confidence)} interval of the ratio below 1, other clock at most 1 ({other.ratio:.3f})"
    )
    return gain, _better(objective, values, passed, words, gain)


def _percent(confidence: float) -> str:
    """
    >>> _percent(0.9775), _percent(0.99997)
    ('97.75%', '99.997%')
    """
    return f"{100 * confidence:.6g}%"


def _better(
    objective: Objective, values: Sequence[tuple[float, float]], passed: bool, threshold: str, gain: Gain
) -> Criterion:
    return Criterion(
        f"{OBJECTIVE}{objective}",
        passed,
        fmean(b for b, _ in values),
        fmean(c for _, c in values),
        threshold,
        gain.as_ratio(),
    )


def _signs(values: Sequence[tuple[float, float]], rules: Rules) -> Criterion:
    """Nearly all pairs must show a gain: all of them if there are fewer than 6, else at least three quarters."""
    contrary = against(values, max(1.0, 1 - rules.min_gain))
    allowed = len(values) // 4 if len(values) >= 6 else 0
    note = f"{len(values) - contrary} of {len(values)} pairs are better"
    passed = True if contrary <= allowed else None
    return Criterion("pairs_agree", passed, None, contrary, f"at most {allowed} against it", note)


def _noise(baseline: Sequence[float], rules: Rules) -> Criterion:
    spread = noise(baseline)
    note = f"it varies by {spread:.0%} from run to run"
    passed = True if spread <= rules.noise_limit else None
    return Criterion("baseline_noise", passed, spread, None, f"spread at most {rules.noise_limit:.0%}", note)


def _may_settle(look: _Look, rules: Rules) -> bool:
    """Can either path still end in an accept by `max_pairs`, with the same spread and an optimistic mean (`reach`)?"""
    alone = reach(look.values, rules.max_pairs, rules.confidence)
    confidence = confirming_confidence(rules.max_pairs, rules, done=True) if look.shown else None
    confirmed = reach(look.values, rules.max_pairs, confidence) if confidence else None
    if alone is None:
        return True
    asked = math.log(1 - rules.min_gain)
    return alone[1] < asked or (confirmed is not None and confirmed[0] < asked and confirmed[1] < 0)


def _worth_more_pairs(look: _Look, rules: Rules) -> bool:
    """Whether the optimistic mean is a gain that pays for more pairs. It puts nothing in force: no error is spent.

    Worked: 6 pairs, CPU -3 %, log ratios that deviate by 0.04. One standard error better is
    -0.030 - 0.04 / 2.45 = -0.046, a gain of 4.5 %. To show it may take 12 pairs more, 24 executions: given up.
    """
    forecast = reach(look.values, rules.max_pairs, rules.confidence)
    return forecast is None or forecast[0] < math.log(1 - rules.worth_gain)


def _no_chance(pairs: Sequence[Pair], objective: Objective, rules: Rules) -> str:
    """Why a candidate is given up after its first pairs: nothing speaks for it, no counter and no clock of any pair.

    It puts nothing in force, so it spends nothing of the error budget. What it costs is a gain that both clocks of a
    pair hide: 10 % less CPU, with runs that vary by 5 %, look like less than 3 % in one of seven pairs.

    Worked: 200 tasks become 196, CPU is 3.02 s against 3.0 s, the wall clock 1.6 s against 1.6 s: given up after a
    first run and one pair.
    """
    if work_falls(pairs, rules).passed:
        return ""
    clocks = (METRIC[objective], _OTHER_CLOCK[objective])
    if any(c < b * (1 - rules.min_gain) for p in pairs for b, c in map(p.totals, clocks)):
        return ""
    before, after = (sum(p.totals(clocks[0])[side] for p in pairs) for side in (0, 1))
    words = f"{objective} {after / before - 1:+.0%}" if before else f"no {objective} at all"
    return f"no chance: counters show no less work, and no clock a gain ({words})"


def _too_few(pairs: Sequence[Pair], objective: Objective, rules: Rules, *, done: bool, shown: bool) -> Judgement | None:
    """With too few pairs for an interval, it can only be rejected: for a counter, or because it has no chance."""
    early = repeating_guards(pairs, rules, spill_slack=max(rules.slack_bytes, rules.slack_spill_bytes)) if pairs else ()
    if broken := [c for c in early if c.passed is False]:
        return _settled(pairs, "reject", f"guard {broken[0].name} broken: {broken[0].note}", early)
    if pairs and not shown and (words := _no_chance(pairs, objective, rules)):
        return _settled(pairs, "reject", words, early)
    if not done:
        return None
    least = min(rules.confirm_pairs, rules.min_pairs)
    return _settled(pairs, "inconclusive", f"only {len(pairs)} of the {least} pairs needed were run", early)


def _settled(pairs: Sequence[Pair], outcome: Outcome, reason: str, criteria: tuple[Criterion, ...]) -> Judgement:
    """A verdict without an interval."""
    return Judgement(outcome, reason, True, (results_equal(True), *criteria), None, len(pairs))
