"""Replace a sort-merge join by a shuffled hash join, if each partition of the smaller input fits into memory.

Adaptive execution does this after the shuffle, on two conditions: `maxShuffledHashJoinLocalMapThreshold` is at least
the advisory partition size (partitions are merged up to that), and no partition of the input, as written, is larger.
The default threshold is 0: never. It holds for all joins of the query. A hash table cannot spill, so its size in memory
is checked too. If only some of the joins fit, each of those gets a hint.

If partitions are read in parts that are too large, smaller parts may fit: the advisory size and the threshold go down
together. Worked (TPC-H q21): 6,001,215 rows of 144 MB, 54 MB as written, are read in 2 parts, 72 MB each in memory.
Parts of 16 MiB as written have 16 x 144 / 54 = 43 MiB. 54 MB are 4 such parts: 8 partitions.

Worked: 4,000,000 rows joined to 100,000 rows of 10 MB, 4 MB as written, in 8 partitions read, the largest 0.6 MB.
The largest table has 0.6 x 10 / 4 = 1.5 MB. No sort: 4,100,000 x 200 ns, less 100,000 x 250 ns for tables: 0.795 s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.join_sides import feeding, may_hash
from planopt_assets.decide.row_prices import HASH_ROW_NS, MIB, SORT_MERGE_ROW_NS
from planopt_assets.decide.rules.right_size_shuffle import TARGET_BYTES
from planopt_assets.decide.shuffle_settings import ADVISORY, adaptive, partitions_knob, size_of, unrecorded
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.hint import Hint
from planopt_assets.model.signals import OTHER, SIDES, Join, SideName

NAME = "prefer_hash_join"
KNOB = "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold"

LARGEST_MAP = 64 * MIB  # of one task, in the planner's bytes; the real table takes about twice that
SMALLER_PARTS = (32 * MIB, 16 * MIB, 8 * MIB)


@dataclass(frozen=True, slots=True)
class Table:
    """The hash table that would replace a sort-merge join: its largest partition as written, and in memory."""

    join: Join
    side: SideName
    written: int  # all partitions together
    largest_written: int
    largest_in_memory: int

    @property
    def largest_needed(self) -> int:
        return max(self.largest_written, self.largest_in_memory)

    def in_memory(self, part: int) -> int:
        """Bytes of the largest table if partitions are merged up to this size, as written."""
        size = self.join.side(self.side).bytes or 0
        return max(self.largest_written, min(part, self.written)) * size // max(1, self.written)

    @property
    def saved_ns(self) -> int:
        rows = self.join.side(self.side).rows or 0
        return (rows + (self.join.side(OTHER[self.side]).rows or 0)) * SORT_MERGE_ROW_NS - rows * HASH_ROW_NS


def prefer_hash_join(evidence: Evidence) -> Answer:
    """Propose the threshold if all tables fit; hints if only some do, or if adaptive execution is off."""
    if missing := unrecorded(evidence, KNOB, ADVISORY):
        return cannot_tell(missing, {})
    merged = [(e, j) for e in evidence.executions for j in e.joins if j.strategy == "SortMergeJoin" and _sides(j)]
    tables = [t for e, j in merged if (t := _table(e, j)) is not None]
    target = size_of(evidence, ADVISORY)
    fitting = [t for t in tables if t.largest_needed <= LARGEST_MAP and t.saved_ns > 0]
    facts: dict[str, int | float | str] = {
        "sort_merge_joins": len(merged),
        "joins_that_fit": len(fitting),
        "largest_map_bytes": max((t.largest_in_memory for t in tables), default=0),
        "map_bound_bytes": LARGEST_MAP,
        "threshold_now": size_of(evidence, KNOB),
        "threshold_target": target,
    }
    if not merged:
        return no_change("no sort-merge join with an input that may be built", facts)
    if not fitting and len(tables) < len(merged):
        words = f"rows, bytes or partition sizes are missing for {len(merged) - len(tables)} sort-merge joins"
        return cannot_tell(words, facts)
    if not fitting and tables and max(t.largest_needed for t in tables) <= LARGEST_MAP:
        return no_change("every table would fit, but building them costs as much as the sorts they replace", facts)
    may_shrink = adaptive(evidence) and len(tables) == len(merged) and size_of(evidence, KNOB) < target
    smaller = _smaller_parts(evidence, tables, target, facts) if may_shrink else None
    if not fitting and smaller:
        return smaller
    if not fitting:
        words = f"a partition of the smaller input has {facts['largest_map_bytes']:,} bytes in memory"
        return no_change(f"{words}, a table may have at most {LARGEST_MAP:,}", facts)
    rows = sum((t.join.left.rows or 0) + (t.join.right.rows or 0) for t in fitting)
    words = f"{rows:,} rows are sorted for a join; hash tables of at most "
    words += f"{max(t.largest_in_memory for t in fitting):,} bytes are enough"
    saved = sum(t.saved_ns for t in fitting)
    facts |= {"rows_sorted": rows, "cpu_ns_per_row_sorted": SORT_MERGE_ROW_NS, "cpu_ns_per_row_built": HASH_ROW_NS}
    all_fit = len(fitting) == len(merged) and target <= LARGEST_MAP
    if adaptive(evidence) and all_fit and size_of(evidence, KNOB) < target:
        return propose({KNOB: str(target)}, words, saved_cpu_ns=saved, arithmetic=facts)
    unfit = {t.join.side(t.side).target for t in tables if t not in fitting}
    named = [t for t in fitting if (name := t.join.side(t.side).target) and name not in unfit]
    if not named:
        return smaller or no_change(
            "not every sort-merge join can be a hash join, and no hint can name those that can", facts
        )
    return propose(
        {},
        words,
        saved_cpu_ns=sum(t.saved_ns for t in named),
        arithmetic=facts,
        hints=[Hint("shuffle_hash", t.join.side(t.side).target) for t in named],
    )


def _smaller_parts(
    evidence: Evidence, tables: Sequence[Table], target: int, facts: Mapping[str, int | float | str]
) -> Answer | None:
    """The proposal of the largest parts in which all tables have room. Larger partitions stay as they are."""
    for part in (p for p in SMALLER_PARTS if p < target):
        hashed = [t for t in tables if t.largest_written <= part]
        if hashed and all(t.in_memory(part) <= LARGEST_MAP for t in hashed):
            return _in_parts_of(part, hashed, evidence, facts) if sum(t.saved_ns for t in hashed) > 0 else None
    return None


def _in_parts_of(
    part: int, hashed: Sequence[Table], evidence: Evidence, facts: Mapping[str, int | float | str]
) -> Answer:
    rows = sum((t.join.left.rows or 0) + (t.join.right.rows or 0) for t in hashed)
    largest = max(t.in_memory(part) for t in hashed)
    return propose(
        {KNOB: str(part), ADVISORY: str(part), **_partitions(part, hashed, evidence)},
        f"{rows:,} rows are sorted for a join; in parts of {part:,} bytes, tables of at most {largest:,} are enough",
        saved_cpu_ns=sum(t.saved_ns for t in hashed),
        arithmetic={
            **facts,
            "threshold_target": part,
            "joins_in_smaller_parts": len(hashed),
            "rows_sorted": rows,
            "cpu_ns_per_row_sorted": SORT_MERGE_ROW_NS,
            "cpu_ns_per_row_built": HASH_ROW_NS,
        },
    )


def _partitions(part: int, hashed: Sequence[Table], evidence: Evidence) -> dict[str, str]:
    """So few partitions that they are right for the shuffles, and so many that none is larger than a part.

    Set together with it: with fewer, as another rule may propose, no join is hashed. Twice what the bytes need, since
    partitions are not even. Nothing where there are no more than that today, or where no shuffle takes the setting.
    """
    knob, exchanges = partitions_knob(evidence), [x for e in evidence.executions for x in e.exchanges]
    now, largest = int(evidence.setting(knob)), max(x.bytes_written for x in exchanges)
    needed = max(evidence.cores, -(-largest // TARGET_BYTES), 2 * -(-max(t.written for t in hashed) // part))
    return {knob: str(needed)} if needed < now and any(x.partitions == now for x in exchanges) else {}


def _sides(join: Join) -> list[SideName]:
    """Inputs that may be built and have their own shuffle, so that Spark knows its partition sizes."""
    return [s for s in SIDES if may_hash(join.kind, s) and join.side(s).shuffled]


def _table(execution: ObservedExecution, join: Join) -> Table | None:
    """The table of the smaller input. None: a size that matters is unknown.

    A partition grows in memory by the same factor as the whole input. A merged partition is an even share of the whole.
    """
    sides = [s for s in _sides(join) if join.side(s).bytes is not None and join.side(s).rows is not None]
    if not sides or join.left.rows is None or join.right.rows is None:
        return None
    side = min(sides, key=lambda s: join.side(s).bytes or 0)
    exchange, size = feeding(join.side(side), execution.exchanges), join.side(side).bytes or 0
    if exchange is None or exchange.largest_bytes is None:
        return None
    unpacked = exchange.largest_bytes * size // max(1, exchange.bytes_written)
    share = -(-size // max(1, exchange.read_partitions or exchange.partitions))
    return Table(join, side, exchange.bytes_written, exchange.largest_bytes, max(unpacked, share))
