"""How much of a query an option can touch: the CPU of the operators that it changes, at the prices of the rules. Pure.

An option can save no more than these operators cost. So the option that touches most has its turn first, and one that
touches next to nothing is not worth a trial: a map for aggregations is of no use to a query that sorts for its joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planopt_assets.decide.block_prices import blocks_ns
from planopt_assets.decide.join_sides import SHUFFLED_JOINS
from planopt_assets.decide.prices import query_cpu_ns
from planopt_assets.decide.row_prices import BUILD_ROW_NS, LOOKUP_ROW_NS, SHUFFLE_ROW_NS, SORT_ROW_NS
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.signals import SIDES, Join

Touches = Callable[[Evidence], int]
"""Nanoseconds of CPU of one run, all bindings together."""


def sorts(evidence: Evidence) -> int:
    """Both inputs of every merge join are sorted."""
    merged = (j for j in _joins(evidence) if j.strategy == "SortMergeJoin")
    return sum((j.left.rows or 0) + (j.right.rows or 0) for j in merged) * SORT_ROW_NS


def sorts_and_shuffles(evidence: Evidence) -> int:
    """What a join pays to bring its inputs together, if a broadcast or a filter could spare it.

    A join that adaptive execution turned into a broadcast has shuffled its inputs before that.

    Worked: 6,000,000 and 1,500,000 rows, both shuffled and sorted: 7.5 M x (150 + 100) ns = 1.9 s.
    """
    shuffled = (j.side(s) for j in _joins(evidence) if j.planned_strategy in SHUFFLED_JOINS for s in SIDES)
    return sum(side.rows or 0 for side in shuffled if side.shuffled) * SHUFFLE_ROW_NS + sorts(evidence)


def builds(evidence: Evidence) -> int:
    """Rows that the driver collects and builds into tables; half of the price is credited to who avoids it."""
    broadcast = (j.side(j.build) for j in _joins(evidence) if j.strategy.startswith("Broadcast") and j.build)
    return sum(side.rows or 0 for side in broadcast) * BUILD_ROW_NS // 2


def blocks(evidence: Evidence) -> int:
    """Every task that writes a shuffle writes a block for each partition."""
    written = (
        (e.counters.shuffle_write_tasks * max((x.partitions for x in e.exchanges), default=0), e.exchanges)
        for e in evidence.executions
    )
    return sum(blocks_ns(number, exchanges, evidence.prices) for number, exchanges in written)


def reading_tasks(evidence: Evidence) -> int:
    """Tasks that read shuffles."""
    return sum(s.tasks for e in evidence.executions for s in e.stages if s.feeds) * evidence.prices.saved_task_ns


def scanning_tasks(evidence: Evidence) -> int:
    return sum(s.splits for e in evidence.executions for s in e.scans) * evidence.prices.saved_task_ns


def grouped_rows(evidence: Evidence) -> int:
    """Rows that look up their group."""
    return sum(a.rows_in or 0 for e in evidence.executions for a in e.aggregations if a.keys) * LOOKUP_ROW_NS


def touched_share(touches: tuple[Touches, ...], evidence: Evidence) -> float:
    """Of one run of the query; at most all of it.

    Worked: 1.9 s of sorts and shuffles in a query of 4.8 s: 40 %.
    """
    whole = query_cpu_ns(evidence)
    return min(1.0, sum(one(evidence) for one in touches) / whole) if whole else 0.0


def _joins(evidence: Evidence) -> Iterator[Join]:
    return (join for e in evidence.executions for join in e.joins)
