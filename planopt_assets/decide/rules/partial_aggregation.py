"""Make the maps of a partial aggregation large enough for the groups of a task: no slow lookups, no sorting.

Before a shuffle, each task aggregates its own rows. It uses a small, fast map of 65,536 groups. Rows of other groups go
to a larger, slower map. An aggregation into objects (`collect_set`, …) has one map, and falls back to sorting at 128
groups.

Worked: 6,000,000 rows become 1,000,000 in 2 tasks: 500,000 groups a task, of which 65,536 fit. 87 % of the rows miss
the fast map: 5,213,568 x 50 ns = 0.26 s. 2^19 groups hold them all. Measured on this shape: 1.8 s to 0.7 s.
Worked: 3,000,000 rows of an object aggregation become 8,000 in 4 tasks: 2,000 groups a task. A map of 2,048 holds them:
3,000,000 x 100 ns = 0.3 s. Measured on this shape: 1.5 s to 0.8 s. With 100,000 groups it got slower, 1.8 s to 3.0 s.
So the limit is 4,096.

A partial step that hardly reduces the rows is useless, but Spark 4.2 has no setting to skip it. Without its fast map
such a query got slower (3.3 to 3.6 s).
"""

from __future__ import annotations

from dataclasses import dataclass

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.row_prices import LOOKUP_ROW_NS, RESORT_ROW_NS
from planopt_assets.decide.setting_in_force import in_force
from planopt_assets.decide.shuffle_settings import unrecorded
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Aggregation

NAME = "partial_aggregation"
FAST_MAP_BITS = "spark.sql.codegen.aggregate.fastHashMap.capacityBit"
OBJECT_GROUPS = "spark.sql.objectHashAggregate.sortBased.fallbackThreshold"

MANY_ROWS = 1_000_000
HARDLY_REDUCES = 0.9  # rows out per row in
REDUCES_WELL = 0.5  # above it most rows are new groups: inserted, not looked up
MOST_BITS = 20  # the largest map that was measured has a million groups
MOST_OBJECT_GROUPS = 4_096  # objects fill the heap: many of them cost more than sorting


@dataclass(frozen=True, slots=True)
class Step:
    """A partial aggregation over many rows, and the number of groups of one task."""

    rows: int
    left: float  # rows out per row in
    groups_per_task: int
    sorts: bool

    def missed(self, capacity: int) -> int:
        """Rows whose group is not in the fast map."""
        return self.rows - self.rows * capacity // max(capacity, self.groups_per_task)


def partial_aggregation(evidence: Evidence) -> Answer:
    """Propose maps that hold the groups of a task, up to the largest size with a measured gain."""
    if missing := unrecorded(evidence, FAST_MAP_BITS, OBJECT_GROUPS):
        return cannot_tell(missing, {})
    bits, objects = int(in_force(evidence, FAST_MAP_BITS) or 0), int(in_force(evidence, OBJECT_GROUPS) or 0)
    grouped = [(e, a) for e in evidence.executions for a in e.aggregations if a.keys and (a.rows_in or 0) >= MANY_ROWS]
    steps = [s for e, a in grouped if (s := _step(e, a)) is not None]
    well = [s for s in steps if s.left <= REDUCES_WELL]
    full = [s for s in well if not s.sorts and 1 << bits < s.groups_per_task <= 1 << MOST_BITS]
    sorting = [s for s in well if s.sorts and objects <= s.groups_per_task < MOST_OBJECT_GROUPS]
    facts: dict[str, int | float | str] = {
        "aggregations": sum(len(e.aggregations) for e in evidence.executions),
        "over_many_rows": len(grouped),
        "fast_map_full": len(full),
        "sorting": len(sorting),
        "capacity_bits": bits,
        "object_groups": objects,
        "groups_per_task": max((s.groups_per_task for s in steps), default=0),
    }
    if not grouped:
        return no_change(f"no aggregation by keys over {MANY_ROWS:,} rows or more", facts)
    if not full and not sorting:
        return _nothing(steps, len(grouped), facts)
    missed, sorted_rows = sum(s.missed(1 << bits) for s in full), sum(s.rows for s in sorting)
    settings, words = {}, []
    if full:
        settings[FAST_MAP_BITS] = str(max((s.groups_per_task - 1).bit_length() for s in full))
        met = max(s.groups_per_task for s in full)
        words.append(f"a task has {met:,} groups and its fast map holds {1 << bits:,}: {missed:,} rows miss it")
    if sorting:
        met = max(s.groups_per_task for s in sorting)
        settings[OBJECT_GROUPS] = str(1 << met.bit_length())  # more than it has: it sorts when the limit is reached
        words.append(f"{sorted_rows:,} rows are sorted: a task has {met:,} object groups, and the limit is {objects:,}")
    facts |= {"rows_past_fast_map": missed, "rows_sorted": sorted_rows}
    facts |= {"cpu_ns_per_row_past": LOOKUP_ROW_NS, "cpu_ns_per_row_sorted": RESORT_ROW_NS}
    saved = missed * LOOKUP_ROW_NS + sorted_rows * RESORT_ROW_NS
    return propose(settings, "; ".join(words), saved_cpu_ns=saved, arithmetic=facts)


def _nothing(steps: list[Step], over_many_rows: int, facts: dict[str, int | float | str]) -> Answer:
    if len(steps) < over_many_rows:
        untold = over_many_rows - len(steps)
        return cannot_tell(f"rows or tasks of the partial step are missing for {untold} aggregations", facts)
    useless = [s for s in steps if s.left > HARDLY_REDUCES]
    if useless:
        words = f"a partial step leaves {useless[0].left:.0%} of {useless[0].rows:,} rows"
        return no_change(f"{words}, but Spark has no setting to skip it", facts)
    words = f"a task has {facts['groups_per_task']:,} groups: no larger map has a measured gain for that"
    return no_change(words, facts)


def _step(execution: ObservedExecution, aggregation: Aggregation) -> Step | None:
    """None: its output rows or its tasks are unknown."""
    stage = next((s for s in execution.stages if aggregation.node in s.nodes), None)
    rows, left = aggregation.rows_in, aggregation.rows_partial
    if not rows or left is None or stage is None or not stage.tasks:
        return None
    return Step(rows, left / rows, -(-left // stage.tasks), sorts=bool(aggregation.sorted_tasks))
