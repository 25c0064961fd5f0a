"""Broadcast a join's small input instead of shuffling the large one, if the input really is small.

The planner shuffles if its *estimate* of the small input exceeds the threshold. The estimate of a grouped or filtered
input can be a thousand times too high. Adaptive execution may switch to a broadcast once it knows the real size, but by
then the large input is already written to a shuffle.

Worked: 2,000,000 rows grouped to 37 (estimated 20 MB, really 1,776 bytes), joined to 2,000,000 others. The threshold is
10 MB, so both inputs are shuffled, sorted and merged. A broadcast spares that: 2,000,037 x (150 + 200) ns = 700 ms,
less 37 x 600 ns to build the table. The small input counts too. Worked (TPC-H q07): 1,500,000 orders of 36 MB are
joined to 1,828,450 line items: 3,328,450 x 350 ns = 1,165 ms, less 1,500,000 x 600 ns = 900 ms. 0.8 s were measured.

A hint names the one input. If no hint can name it, the threshold is raised above its *estimate*, because that is what
the planner compares. The estimate is known only roughly: TPC-H q18 groups to 57 rows, recorded as 17.7 MB, and 17 MiB
did not let them in. So it is the next power of two with a quarter to spare. This is done only if every input that may
then be broadcast is really small.

The driver holds all broadcasts of a query at once. So what is broadcast already, by the planner or by an accepted
policy, leaves less room for more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.driver_memory import held_bytes, let_in, room_for_broadcasts
from planopt_assets.decide.join_sides import SHUFFLED_JOINS, may_broadcast
from planopt_assets.decide.row_prices import BUILD_ROW_NS, MIB, SHUFFLE_ROW_NS, SORT_MERGE_ROW_NS
from planopt_assets.decide.shuffle_settings import size_of, unrecorded
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.hint import Hint
from planopt_assets.model.signals import OTHER, SIDES, Join, JoinInput, SideName

NAME = "broadcast_small_side"
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"

SPARE = 4  # of an estimate, one part: recorded estimates are rescaled to the width of the join's input
LARGEST_THRESHOLD = 256 * MIB  # a higher one could let a really large input through later


@dataclass(frozen=True, slots=True)
class Chance:
    """A shuffled join of one binding, its smaller input that may be broadcast, and what that saves."""

    join: Join
    side: SideName
    saved_ns: int

    @property
    def small(self) -> JoinInput:
        return self.join.side(self.side)

    @property
    def large(self) -> JoinInput:
        return self.join.side(OTHER[self.side])


def broadcast_small_side(evidence: Evidence) -> Answer:
    """Propose hints for the inputs that save most, as many as fit. If no hint works: a higher threshold."""
    if missing := unrecorded(evidence, THRESHOLD):
        return cannot_tell(missing, {})
    threshold = size_of(evidence, THRESHOLD)
    bound = room_for_broadcasts(evidence)
    open_joins = [(e, j) for e in evidence.executions for j in e.joins if _sides(j, threshold)]
    facts: dict[str, int | float | str] = {
        "joins": sum(len(e.joins) for e in evidence.executions),
        "shuffled_joins": len(open_joins),
        "threshold_bytes": threshold,
        "held_broadcast_bytes": held_bytes(evidence),
        "largest_broadcast_bytes": bound,
    }
    if threshold < 0:
        return no_change("broadcasts are switched off in the workload's own settings", facts)
    if not open_joins:
        return no_change("in no join would a broadcast of one input avoid the shuffle of the other", facts)
    weighed = [_chance(e, j, threshold) for e, j in open_joins]
    known = [c for c in weighed if c is not None]
    small = [c for c in known if _at_most(_bytes_everywhere(evidence, c), bound)]
    chances = [c for c in small if c.saved_ns > 0]
    facts["small_inputs"] = len(small)
    if not chances and len(known) < len(weighed):
        untold = len(weighed) - len(known)
        return cannot_tell(f"input rows or bytes are missing for {untold} shuffled joins", facts)
    if not chances:
        least = min(c.small.bytes or 0 for c in known)
        why = "shuffling the other one costs less than building it" if small else f"at most {bound:,} may be broadcast"
        return no_change(f"the smallest input of a shuffled join has {least:,} bytes: {why}", facts)
    named = _that_fit([c for c in chances if c.small.target], bound)
    if named:
        hints = [Hint("broadcast", c.small.target) for c in named]
        return _proposal({}, hints, named, threshold, facts)
    return _by_threshold(evidence, chances, threshold, bound, facts)


def _by_threshold(
    evidence: Evidence, chances: list[Chance], threshold: int, bound: int, facts: dict[str, int | float | str]
) -> Answer:
    """No hint can name the inputs. A higher threshold broadcasts everything with such an estimate."""
    estimates = [c.small.estimated_bytes for c in chances]
    needed = max((e for e in estimates if e is not None), default=0)
    raised = _above(max(needed, threshold))
    if None in estimates or raised > LARGEST_THRESHOLD:
        words = "is unknown" if None in estimates else f"of {needed:,} bytes is above any safe threshold"
        return cannot_tell(f"no hint can name the small input, and its estimate {words}", facts)
    newly = [[side.bytes for _, side in let_in(e, raised + raised // SPARE)] for e in evidence.executions]
    facts |= {"threshold_target": raised, "inputs_newly_broadcast": sum(map(len, newly))}
    if not all(None not in sizes and _at_most([sum(size or 0 for size in sizes)], bound) for sizes in newly):
        words = f"no hint can name the small input, and a threshold of {raised:,} would broadcast inputs"
        return cannot_tell(f"{words} that are larger than {bound:,} bytes together or of unknown size", facts)
    return _proposal({THRESHOLD: str(raised)}, [], chances, threshold, facts)


def _above(size: int) -> int:
    """The next power of two with a quarter to spare.

    >>> _above(17_733_179) // MIB, _above(30 * MIB) // MIB
    (32, 64)
    """
    return 1 << (size + size // SPARE - 1).bit_length()


def _proposal(
    settings: dict[str, str],
    hints: list[Hint],
    chances: list[Chance],
    threshold: int,
    facts: dict[str, int | float | str],
) -> Answer:
    best = max(chances, key=lambda c: c.saved_ns)
    rows = sum(c.large.rows or 0 for c in chances)
    saved = sum(c.saved_ns for c in chances)
    thought = "unknown" if best.small.estimated_bytes is None else f"{best.small.estimated_bytes:,}"
    name = best.small.target or f"the {best.side} input of a join"
    return propose(
        settings,
        f"{name} is {best.small.bytes or 0:,} bytes (estimated {thought}, threshold {threshold:,}): "
        f"broadcast, {rows:,} rows need no shuffle",
        saved_cpu_ns=saved,
        arithmetic={
            **facts,
            "broadcast_bytes": sum(c.small.bytes or 0 for c in chances),
            "broadcast_rows": sum(c.small.rows or 0 for c in chances),
            "rows_not_shuffled": rows,
            "small_rows_not_shuffled": sum(c.small.rows or 0 for c in chances if c.small.shuffled),
            "cpu_ns_per_row_shuffled": SHUFFLE_ROW_NS,
            "cpu_ns_per_row_sorted": SORT_MERGE_ROW_NS,
            "cpu_ns_per_row_built": BUILD_ROW_NS,
        },
        hints=hints,
    )


def _sides(join: Join, threshold: int) -> list[SideName]:
    """Inputs that a hint could broadcast to avoid the shuffle of the other one.

    If the planner estimated an input clearly below the threshold and still did not broadcast it, there is a reason,
    such as a hint by the query's author. The recorded estimate is rescaled to the width of the join's input, so it is
    not exact near the threshold. That is why half of the threshold is the limit.
    """
    if join.planned_strategy not in SHUFFLED_JOINS:
        return []
    return [
        side
        for side in SIDES
        if may_broadcast(join.kind, side)
        and join.side(OTHER[side]).shuffled
        and not _at_most([join.side(side).estimated_bytes], threshold // 2)
    ]


def _chance(execution: ObservedExecution, join: Join, threshold: int) -> Chance | None:
    """The smaller of the inputs that may be broadcast. None: a size that matters is unknown."""
    sides = [s for s in _sides(join, threshold) if join.side(s).bytes is not None]
    if not sides:
        return None
    side = min(sides, key=lambda s: join.side(s).bytes or 0)
    small, large = join.side(side), join.side(OTHER[side])
    if small.rows is None or large.rows is None:
        return None
    per_row = SHUFFLE_ROW_NS + (SORT_MERGE_ROW_NS if join.strategy == "SortMergeJoin" else 0)
    spared = large.rows - _shuffled_above(execution, join) + (small.rows if small.shuffled else 0)
    return Chance(join, side, spared * per_row - small.rows * BUILD_ROW_NS)


def _shuffled_above(execution: ObservedExecution, join: Join) -> int:
    """Rows that a join above would then have to shuffle: today it reuses the partitioning of this join."""
    tables = {*join.left.tables, *join.right.tables}
    above = (
        upper
        for upper in execution.joins
        if upper.node < join.node and upper.strategy in SHUFFLED_JOINS  # nodes are numbered from the top
        for side in (upper.left, upper.right)
        if not side.shuffled and tables and tables <= {*side.tables}
    )
    large = max(join.left.rows or 0, join.right.rows or 0)
    return (large if join.rows is None else join.rows) if any(above) else 0


def _bytes_everywhere(evidence: Evidence, chance: Chance) -> list[int | None]:
    """The input's size in every binding, because a hint applies to all of them."""
    target = chance.small.target
    sides = (j.side(s) for e in evidence.executions for j in e.joins for s in SIDES if target)
    return [chance.small.bytes, *(side.bytes for side in sides if side.target == target)]


def _that_fit(chances: list[Chance], bound: int) -> list[Chance]:
    """Those that save most, one side per join, while all broadcast inputs together stay within the bound."""
    saved: dict[str, int] = {}
    for chance in chances:
        saved[chance.small.target] = saved.get(chance.small.target, 0) + chance.saved_ns
    chosen: list[str] = []
    for target in sorted(saved, key=lambda t: (-saved[t], t)):
        size = max(c.small.bytes or 0 for c in chances if c.small.target == target)
        taken = any(Hint("broadcast", t).join == Hint("broadcast", target).join for t in chosen)
        if size <= bound and not taken:
            chosen, bound = [*chosen, target], bound - size
    return [c for c in chances if c.small.target in chosen]


def _at_most(sizes: Iterable[int | None], bound: int) -> bool:
    return all(size is not None and size <= bound for size in sizes)
