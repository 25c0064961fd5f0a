"""Old text against new text, in turns on the same table versions: is the new one slower?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planopt_assets.errors import PlanoptError, QueryTimedOut, SparkFailed
from planopt_assets.loop.release.findings import Finding
from planopt_assets.validate.equality import compare
from planopt_assets.validate.intervals import ratio_interval
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.race import time_limit

if TYPE_CHECKING:
    from planopt_assets.engine.execution.execute import Measured
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.model.verdict import Gain
    from planopt_assets.model.workload import Objective, Query

FEWEST_PAIRS, MOST_PAIRS = 3, 9
CONFIDENCE = 0.99  # of the interval at each look; there are seven, so a slower or faster answer is wrong in at most 4 %
_METRICS: dict[Objective, tuple[str, str]] = {
    "cpu": ("cpu", "cpu_ns"),
    "latency": ("wall", "wall_ns"),
    "bytes": ("cpu", "cpu_ns"),  # bytes are known from planning, see `findings`
}


def measured(
    before: tuple[Workspace, Query], after: tuple[Workspace, Query], binding: int, rules: Rules
) -> tuple[list[Finding], Gain | None]:
    """Run both in turns after one warm-up each, until the interval is clear of the limit or the pairs are used up.

    Slower is an error only where the results are equal: a query that returns something else does other work. The time
    limit is one of the branch: a baseline that hangs for once says nothing about it. A pair that something outside
    disturbed does not count.
    """
    objective, budget = after[0].workload.objective, before[0].workload.budgets.per_query
    try:
        first = _run(before, binding, budget)
    except SparkFailed:
        raise
    except PlanoptError as error:
        return [Finding("warning", "measured", f"the baseline cannot be run: {error}")], None
    limit = time_limit([first.counters.wall_ns / 1e9], rules) or 0.0
    try:
        warm = _run(after, binding, limit)
        same = _sameness(first, warm)
        pairs: list[tuple[Measured, Measured]] = []
        for number in range(MOST_PAIRS):
            order = (before, after) if number % 2 == 0 else (after, before)
            ran = {id(side): _run(side, binding, limit if side is after else budget) for side in order}
            if any(one.disturbed for one in ran.values()):
                continue
            pairs.append((ran[id(before)], ran[id(after)]))
            if len(pairs) >= FEWEST_PAIRS and (found := _clear(pairs, objective, rules)) is not None:
                return [*same, _said(found, objective, rules, equal=not same)], found
    except QueryTimedOut:
        words = f"it takes more than {limit:.0f} s, where the baseline took {first.counters.wall_ns / 1e9:.1f} s"
        return [Finding("error", "measured", words)], None
    except SparkFailed:
        raise
    except PlanoptError as error:
        return [Finding("error", "measured", f"it cannot be run: {error}")], None
    if len(pairs) < FEWEST_PAIRS:
        words = f"nothing was measured: {MOST_PAIRS - len(pairs)} of {MOST_PAIRS} pairs were disturbed from outside"
        return [*same, Finding("warning", "measured", words)], None
    unsure = _interval(pairs, objective)
    return [*same, Finding("warning", "measured", f"noise hides the answer: {unsure.describe()}")], unsure


def _run(side: tuple[Workspace, Query], binding: int, timeout_s: float) -> Measured:
    workspace, query = side
    return workspace.execute(query, binding, workspace.baseline, timeout_s=timeout_s)


def _interval(pairs: Sequence[tuple[Measured, Measured]], objective: Objective) -> Gain:
    name, counter = _METRICS[objective]
    values = [(float(b.counters.known(counter)), float(a.counters.known(counter))) for b, a in pairs]
    return ratio_interval(values, name, CONFIDENCE)


def _clear(pairs: Sequence[tuple[Measured, Measured]], objective: Objective, rules: Rules) -> Gain | None:
    """The interval, once it lies on one side of the limit."""
    found = _interval(pairs, objective)
    return found if found.low > rules.wall_limit or found.high <= rules.wall_limit else None


def _said(found: Gain, objective: Objective, rules: Rules, *, equal: bool) -> Finding:
    if found.high <= rules.wall_limit:
        return Finding("note", "measured", f"measured, it is not slower: {found.describe()}")
    words = f"measured, it is slower by {objective}: {found.describe()}"
    return Finding("error" if equal else "warning", "measured", words)


def _sameness(before: Measured, after: Measured) -> list[Finding]:
    assert before.digest is not None
    assert after.digest is not None
    same, why = compare(before.digest, after.digest)
    return [Finding("warning", "results", f"it returns something else: {why}")] if same == "different" else []
