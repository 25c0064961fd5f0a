"""The judge of a layout: the workload's total at the declared rates, with a veto of each query that loses too much.

A layout is one choice for all queries that read the table. So the pairs of all queries become one pair per round, each
query weighed by how often it runs, and the judge of `validate/` looks at these. Results must be equal in every query.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean

from planopt_assets.model.counters import Counters
from planopt_assets.model.verdict import Criterion, Judgement, Outcome
from planopt_assets.model.workload import Objective
from planopt_assets.validate.guards import counter_guards
from planopt_assets.validate.intervals import ratio_interval
from planopt_assets.validate.judge import METRIC, judge
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.pairs import Pair, unknown

NO_MEMORY_GUARD = math.inf
"""A layout changes how much a task reads, and with it how much a task may hold. That alone is no harm.

What more memory costs shows in spill, garbage collection and clocks, which have their own guards.
"""
VETO_CONFIDENCE = 0.90  # that any query loses at all, shared by the clocks of all queries; how much is the mean
_LARGEST = frozenset({"peak_memory_bytes", "task_memory_bytes"})  # the peak of a workload is that of its largest query


@dataclass(frozen=True, slots=True)
class QueryPairs:
    """One query: each pair is a round on the table as it is and on the clone with the new layout."""

    query_id: str
    runs_per_day: float
    max_loss: float
    pairs: Sequence[Pair]


def judge_workload(
    queries: Sequence[QueryPairs], *, objective: Objective, rules: Rules, done: bool
) -> Judgement | None:
    """The verdict on a layout, or None if more rounds may settle it. With `done` never None.

    Worked: `report` runs 24 times a day and goes from 4.0 to 1.0 s of CPU, `lookup` 2,400 times from 0.10 to 0.14 s.
    The total goes from 336 to 360 s a day: rejected, although one query got four times better. With 24 runs of
    `lookup` it goes from 98.4 to 27.4 s, but `lookup` loses 40 % where 10 % are allowed: its veto.
    """
    rounds = min((len(q.pairs) for q in queries), default=0)
    vetoes = [c for q in queries for c in _vetoes(q, objective, rules, len(queries))] if rounds else []
    if broken := next((c for c in vetoes if c.passed is False), None):
        total = _judged(queries, rounds, objective, rules, done=True)
        net = f"; the workload: {total.gain.describe()}" if total and total.gain else ""
        return _with(total, "reject", f"veto of {broken.name}, {broken.note}, {broken.threshold}{net}", vetoes)
    verdict = _judged(queries, rounds, objective, rules, done=done)
    if verdict is None or verdict.outcome != "accept":
        return None if verdict is None else _with(verdict, verdict.outcome, verdict.reason, vetoes)
    if undecided := next((c for c in vetoes if c.passed is None), None):
        words = f"noise hides whether {undecided.name} loses more than it may"
        return _with(verdict, "inconclusive", words, vetoes) if done else None
    return _with(verdict, "accept", verdict.reason, vetoes)


def unsettled(queries: Sequence[QueryPairs], *, objective: Objective, rules: Rules) -> set[str]:
    """Queries that another round may settle: all, until the total is settled; then those whose loss may be chance."""
    rounds = min((len(q.pairs) for q in queries), default=0)
    if not rounds or _judged(queries, rounds, objective, rules, done=False) is None:
        return {q.query_id for q in queries}
    open_ones = (q for q in queries if any(c.passed is None for c in _vetoes(q, objective, rules, len(queries))))
    return {q.query_id for q in open_ones}


def workload_pairs(queries: Sequence[QueryPairs]) -> list[Pair]:
    """One pair per round: the counters of all queries, each weighed by its share of the runs, so that the mean is 1."""
    rounds, weights = min((len(q.pairs) for q in queries), default=0), _weights(queries)
    found = []
    for number in range(rounds):
        pairs = [q.pairs[number] for q in queries]
        sides = [
            _together([(c, w) for p, w in zip(pairs, weights, strict=True) for c in getattr(p, side)])
            for side in ("baseline", "candidate")
        ]
        parts = tuple(
            (weight, *both)
            for pair, weight in zip(pairs, weights, strict=True)
            for both in zip(pair.baseline, pair.candidate, strict=True)
        )
        found.append(Pair((sides[0],), (sides[1],), all(p.same_plan for p in pairs), parts))
    return found


def _weights(queries: Sequence[QueryPairs]) -> list[float]:
    mean = fmean(q.runs_per_day for q in queries) if queries else 1.0
    return [q.runs_per_day / mean for q in queries]


def _judged(
    queries: Sequence[QueryPairs], rounds: int, objective: Objective, rules: Rules, *, done: bool
) -> Judgement | None:
    slack = sum(weight * _spill_slack(q) for q, weight in zip(queries, _weights(queries), strict=True))
    rules = replace(rules, slack_spill_bytes=round(slack), memory_limit=NO_MEMORY_GUARD, worth_gain=0.0)
    return judge(workload_pairs(queries)[:rounds], objective=objective, rules=rules, done=done)


def _together(weighed: Sequence[tuple[Counters, float]]) -> Counters:
    """The sum of weighed counters; what one execution does not tell is unknown of the sum too."""
    found: dict[str, int | None] = {}
    for field in fields(Counters):
        values = [(getattr(counters, field.name), weight) for counters, weight in weighed]
        if any(value is None for value, _ in values):
            found[field.name] = None
        elif field.name in _LARGEST:
            found[field.name] = max(value for value, _ in values)
        else:
            found[field.name] = round(sum(value * weight for value, weight in values))
    return Counters(**found)  # type: ignore[arg-type]  # the fields that must be known are known in every execution


def _vetoes(query: QueryPairs, objective: Objective, rules: Rules, queries: int) -> list[Criterion]:
    """What this query may not lose: its clocks and its counters, each within the share it may lose."""
    confidence = 1 - (1 - VETO_CONFIDENCE) / (2 * queries)
    limits = replace(
        rules,
        bytes_limit=1 + query.max_loss,
        shuffle_limit=max(rules.shuffle_limit, 1 + query.max_loss),
        slack_spill_bytes=_spill_slack(query),
        memory_limit=NO_MEMORY_GUARD,
    )
    clocks = dict.fromkeys((METRIC[objective], "wall_ns"))
    if unknown(query.pairs, ("cpu_ns", "wall_ns", "scan_bytes")):
        return []  # the judge says so
    guards = [*counter_guards(query.pairs, limits), *(_loss(query, metric, confidence) for metric in clocks)]
    return [replace(c, name=f"{query.query_id}: {c.name}") for c in guards]


def _spill_slack(query: QueryPairs) -> int:
    """Larger files make larger tasks, and some of them spill. The clocks charge for that; a tenth of what it reads may.

    Worked: q18 of TPC-H reads 600 MB and spills 17 MB on the new layout, in a third less CPU: no veto.
    """
    if unknown(query.pairs, ("scan_bytes",)):
        return 0
    read = min((p.totals("scan_bytes")[0] for p in query.pairs), default=0)
    return round(min(1.0, query.max_loss) * read)


def _loss(query: QueryPairs, metric: str, confidence: float) -> Criterion:
    """Broken: it surely loses, and on average more than it may. Undecided: on average, but perhaps by chance.

    One pair of a clock has no interval: it says nothing for sure. Bytes repeat, so one pair is enough.
    """
    values = [p.totals(metric) for p in query.pairs]
    ratio = ratio_interval(values, metric, confidence)
    within = ratio.ratio <= 1 + query.max_loss
    surely = ratio.low > 1 and (len(values) > 1 or metric == "scan_bytes")
    return Criterion(
        metric,
        True if within else False if surely else None,
        fmean(b for b, _ in values),
        fmean(c for _, c in values),
        f"ratio at most {1 + query.max_loss:g}",
        ratio.as_ratio(),
    )


def _with(verdict: Judgement | None, outcome: Outcome, reason: str, vetoes: Sequence[Criterion]) -> Judgement:
    assert verdict is not None, "asked for the last word"
    return replace(verdict, outcome=outcome, reason=reason, criteria=(*verdict.criteria, *vetoes))
