"""Guards: what may not get worse, whatever the gain. Counters are compared by value, clocks by interval.

A guard on a clock must show that the candidate is not worse. That nobody could show it to be worse is not enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median

from planopt_assets.model.verdict import Criterion
from planopt_assets.validate.intervals import ratio_interval
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.pairs import Pair, unknown

TASK_MEMORY = "task_memory_bytes"
"""Of the largest task. The sum over the tasks of a stage says nothing: a core holds one task at a time.

Worked: a broadcast join moves an aggregation from 2 tasks of 278 MB after a shuffle to the 6 tasks of a scan, 278 MB
each. The sum goes from 556 MB to 1.7 GB, and on two cores both stages hold 556 MB at a time.
"""
IN_MEMORY = 8  # times the size on disk: rows that are spilled are packed and compressed


def counter_guards(pairs: Sequence[Pair], rules: Rules) -> tuple[Criterion, ...]:
    """Guards on counters that hardly vary from run to run. They compare medians and use no clock."""
    compared = not math.isinf(rules.memory_limit) and not unknown(pairs, (TASK_MEMORY,))
    return (
        *repeating_guards(pairs, rules, spill_slack=rules.slack_spill_bytes),
        *([_memory_guard(pairs, rules)] if compared else []),
        _guard(pairs, "failed_tasks", 1.0, 0),
    )


def repeating_guards(pairs: Sequence[Pair], rules: Rules, *, spill_slack: int) -> tuple[Criterion, ...]:
    """Guards that one round is enough for: these counters repeat. A little spill may be chance (`spill_slack`)."""
    return (
        _guard(pairs, "scan_bytes", rules.bytes_limit, rules.slack_bytes),
        _shuffle_guard(pairs, rules),
        _guard(pairs, "disk_spill_bytes", 1.0, spill_slack),
        _guard(pairs, "memory_spill_bytes", 1.0, max(spill_slack, IN_MEMORY * rules.slack_spill_bytes)),
        _guard(pairs, "tasks", rules.tasks_limit, rules.slack_tasks),
    )


def _memory_guard(pairs: Sequence[Pair], rules: Rules) -> Criterion:
    """Of the binding that needs most: bindings run one after the other."""
    sides = [[max(c.known(TASK_MEMORY) for c in side) for side in (p.baseline, p.candidate)] for p in pairs]
    return _limited(TASK_MEMORY, [(b, c) for b, c in sides], rules.memory_limit, rules.slack_memory_bytes)


def _shuffle_guard(pairs: Sequence[Pair], rules: Rules) -> Criterion:
    """More may be shuffled where as much less is broadcast: all in all, no more bytes are moved.

    Worked: a join without its broadcast of 96 MB shuffles 40 MB instead of nothing: passed. The other way round the
    limit on shuffles has nothing to say, and clocks, memory and garbage collection have their own guards.
    """
    guard = _guard(pairs, "shuffle_write_bytes", rules.shuffle_limit, rules.slack_bytes)
    if guard.passed or unknown(pairs, ("broadcast_bytes",)):
        return guard
    sides = [[p.totals(name) for p in pairs] for name in ("shuffle_write_bytes", "broadcast_bytes")]
    moved = [(s[0] + b[0], s[1] + b[1]) for s, b in zip(*sides, strict=True)]
    before, after = median(m for m, _ in moved), median(m for _, m in moved)
    if after > before:
        return guard
    return replace(guard, passed=True, note=f"{guard.note}; with broadcasts {before:,.0f} -> {after:,.0f}")


def clock_guards(pairs: Sequence[Pair], metric: str, rules: Rules) -> tuple[Criterion, ...]:
    """The objective of each binding, and always both clocks, except CPU where it is the objective itself.

    A large broadcast saves CPU but takes longer. More partitions save time but cost CPU, and fewer bytes may do so too.
    """
    limits = {"wall_ns": rules.wall_limit}
    if metric != "cpu_ns":
        limits["cpu_ns"] = rules.cpu_limit_latency if metric == "wall_ns" else rules.cpu_limit
    guarded = [ratio_guard(name, [p.totals(name) for p in pairs], limit, rules) for name, limit in limits.items()]
    return (*_binding_guards(pairs, metric, rules), *guarded, _gc_guard(pairs, rules))


def _gc_guard(pairs: Sequence[Pair], rules: Rules) -> Criterion:
    """Garbage collection is bursty. So the limit is wide, and it applies to the mean of all runs."""
    baseline, candidate = (fmean(side) for side in zip(*(p.totals("gc_ns") for p in pairs), strict=True))
    return Criterion(
        "gc_ns",
        candidate <= rules.gc_limit * baseline + rules.slack_gc_ns,
        baseline,
        candidate,
        f"mean at most {rules.gc_limit:g} x baseline + {rules.slack_gc_ns / 1e9:g} s",
        f"{baseline / 1e9:.2f} -> {candidate / 1e9:.2f} s",
    )


def ratio_guard(name: str, values: Sequence[tuple[float, float]], limit: float, rules: Rules) -> Criterion:
    """Passed: the interval shows "not worse", its upper end is within the limit. Broken: it is beyond. Else undecided.

    A mean within the limit shows nothing: of a clock that is 10 % longer, with 10 % noise, one mean in four is.

    Worked: 3 pairs, ratio 0.80, both sides deviate by 0.05. The 90 % interval is 0.80 x exp(+-2.13 x 0.041), 0.73 to
    0.87: passed. With a ratio of 1.00 it is 0.92 to 1.09: undecided, more pairs are needed.
    """
    ratio, likely = (ratio_interval(values, name, level) for level in (rules.guard_confidence, rules.hopeless))
    beyond = likely.low > limit or not math.isfinite(ratio.high)
    passed = True if ratio.high <= limit else False if beyond else None
    return Criterion(
        name,
        passed,
        fmean(b for b, _ in values),
        fmean(c for _, c in values),
        f"{100 * rules.guard_confidence:.5g}% interval of the ratio at most {limit:g}",
        ratio.as_ratio(),
    )


def _guard(pairs: Sequence[Pair], name: str, limit: float, slack: int) -> Criterion:
    return _limited(name, [p.totals(name) for p in pairs], limit, slack)


def _limited(name: str, values: Sequence[tuple[float, float]], limit: float, slack: int) -> Criterion:
    baseline, candidate = median(b for b, _ in values), median(c for _, c in values)
    threshold = f"at most {limit:g} x baseline" + (f" + {slack:,}" if slack else "")
    passed = candidate <= baseline * limit + slack
    return Criterion(name, passed, baseline, candidate, threshold, f"{baseline:,.0f} -> {candidate:,.0f}")


def _binding_guards(pairs: Sequence[Pair], metric: str, rules: Rules) -> tuple[Criterion, ...]:
    """The bindings of a query are judged by their sum. So each binding needs a guard of its own."""
    count = len(pairs[0].baseline)
    if count == 1:
        return ()
    return tuple(
        ratio_guard(
            f"binding_{i}_{metric}",
            [(getattr(p.baseline[i], metric), getattr(p.candidate[i], metric)) for p in pairs],
            rules.wall_limit,
            rules,
        )
        for i in range(count)
    )
