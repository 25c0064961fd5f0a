"""Shuffle a join instead of broadcasting its large input, where building that takes longer than the shuffle it spares.

One thread of the driver collects and builds a broadcast, while the cores wait. A shuffle does the same work on all of
them. A broadcast pays where the other input is large: then it spares that one a shuffle. In an anti join, a semi join
or an outer join the input to build is given, however large it is.

Worked, 8 cores: 20,000 rows are looked up in a broadcast of 4,000,000. Building takes 4,000,000 x 300 ns = 1.2 s on one
core. Shuffled, it is (4,020,000 x 300 + 4,000,000 x 250) / 8 = 0.28 s. It saves 0.92 s by the clock and no CPU, so it
is proposed only under objective `latency`.

A hint names the input. If no hint can name it, the threshold is lowered to half of the input, if every other broadcast
of the query stays below that. Half, because adaptive execution compares what was measured, which may be less. An input
that is broadcast above the threshold in force is so by a hint or by its kind of join: no threshold ends that.
"""

from __future__ import annotations

from planopt_assets.decide.answer import CLOCK_ONLY, Answer, cannot_tell, no_change, propose
from planopt_assets.decide.join_sides import may_hash
from planopt_assets.decide.row_prices import BUILD_ROW_NS, HASH_ROW_NS, SHUFFLE_ROW_PAID_NS
from planopt_assets.decide.setting_in_force import bytes_in_force
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.hint import Hint
from planopt_assets.model.signals import OTHER, Join, JoinInput

NAME = "drop_costly_broadcast"
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"

Facts = dict[str, int | float | str]


def drop_costly_broadcast(evidence: Evidence) -> Answer:
    """Propose a shuffled hash join for every broadcast that holds the cores up longer than a shuffle would."""
    joins = [j for e in evidence.executions for j in e.joins if _is_broadcast(j)]
    known = [j for j in joins if _built(j).rows is not None and _streamed(j).rows is not None]
    costly = [j for j in known if _saved_ns(j, evidence.cores) > 0]
    facts: Facts = {
        "broadcast_joins": len(joins),
        "costly_broadcasts": len(costly),
        "rows_built": sum(_built(j).rows or 0 for j in costly),
        "rows_looked_up": sum(_streamed(j).rows or 0 for j in costly),
        "cpu_ns_per_row_built": BUILD_ROW_NS // 2,
        "cpu_ns_per_row_shuffled": SHUFFLE_ROW_PAID_NS,
        "cores": evidence.cores,
    }
    if not joins:
        return no_change("no join broadcasts an input that could be shuffled", facts)
    if not costly and len(known) < len(joins):
        return cannot_tell(f"input rows are missing for {len(joins) - len(known)} broadcast joins", facts)
    if not costly:
        return no_change("no broadcast takes longer to build than the shuffle that it spares", facts)
    worst = max(costly, key=lambda j: (_saved_ns(j, evidence.cores), -j.node))
    words = f"{_built(worst).rows or 0:,} rows are broadcast for {_streamed(worst).rows or 0:,}"
    if evidence.objective != "latency":
        return no_change(f"{words}: shuffling both {CLOCK_ONLY}", facts)
    saved = sum(_saved_ns(j, evidence.cores) for j in costly)
    named = [j for j in costly if _built(j).target]
    if len(named) == len(costly):
        hints = [Hint("shuffle_hash", _built(j).target) for j in named]
        words = f"{words}: a shuffle keeps all cores busy"
        return propose({}, words, saved_wall_ns=saved, arithmetic=facts, hints=hints)
    return _by_threshold(evidence, costly, saved, words, facts)


def _by_threshold(evidence: Evidence, costly: list[Join], saved: int, words: str, facts: Facts) -> Answer:
    sizes = [_smallest(_built(j)) for j in costly]
    lowered = min((size for size in sizes if size is not None), default=0) // 2
    now = bytes_in_force(evidence, THRESHOLD) or 0
    facts = {**facts, "threshold_target": lowered, "threshold_bytes": now}
    if lowered >= now:
        return cannot_tell(f"no hint can name the large input, and no lower threshold than {now:,} ends it", facts)
    all_joins = (j for e in evidence.executions for j in e.joins if j.strategy == "BroadcastHashJoin" and j.build)
    others = [_compared(j) for j in all_joins if j not in costly]
    if None in sizes or lowered <= 0 or any(size is None or size > lowered for size in others):
        reason = "no hint can name the large input, and a lower threshold would end other broadcasts too"
        return cannot_tell(reason, facts)
    reason = f"{words}: below a threshold of {lowered:,} bytes it is shuffled, which keeps all cores busy"
    return propose({THRESHOLD: str(lowered)}, reason, saved_wall_ns=saved, arithmetic=facts)


def _is_broadcast(join: Join) -> bool:
    """A broadcast by the plan, not one that adaptive execution chose after the shuffle, which a hash join could do."""
    planned = join.planned_strategy == join.strategy == "BroadcastHashJoin"
    return planned and join.build is not None and may_hash(join.kind, join.build)


def _built(join: Join) -> JoinInput:
    return join.side(join.build or "right")


def _streamed(join: Join) -> JoinInput:
    return join.side(OTHER[join.build or "right"])


def _saved_ns(join: Join, cores: int) -> int:
    """By the clock: one thread builds, all cores shuffle."""
    built, looked_up = _built(join).rows or 0, _streamed(join).rows or 0
    shuffled = (built + looked_up) * SHUFFLE_ROW_PAID_NS + built * HASH_ROW_NS
    return built * (BUILD_ROW_NS // 2) - shuffled // cores


def _smallest(side: JoinInput) -> int | None:
    """Of what the planner and adaptive execution compare with the threshold."""
    found = (side.bytes, side.estimated_bytes)
    return None if None in found else min(size for size in found if size is not None)


def _compared(join: Join) -> int | None:
    """The most that is compared with the threshold: what adaptive execution broadcasts goes by its size alone."""
    side = _built(join)
    found = (side.bytes, side.estimated_bytes if join.planned_strategy == join.strategy else side.bytes)
    return None if None in found else max(size for size in found if size is not None)
