"""Let Spark split a shuffle partition many times the median, if Spark's thresholds prevent it.

Adaptive execution splits a partition of a join's input if it is larger than 256 MB *and* than 5 times the median. The
pieces have the advisory size (64 MB) and follow the tasks that wrote them. A partition of 200 MB beside others of 10 MB
is not split: one task works on it while the other cores wait.

Worked: 8 cores, a shuffle of 2,000,000 rows and 400 MB, median 10 MB, largest 200 MB. Pieces of 200 / 8 = 25 MB: the
threshold becomes 100 MB, half the largest, and the advisory size 25 MB. The largest partition holds 1,000,000 rows.
Eight tasks share them: 1,000,000 x 7/8 x (150 + 100) ns = 0.22 s wall clock.

The total work stays the same. Only the time that other cores wait is saved. So it is proposed only under objective
`latency`.
"""

from __future__ import annotations

from planopt_assets.decide.answer import CLOCK_ONLY, Answer, cannot_tell, no_change, propose
from planopt_assets.decide.join_sides import SHUFFLED_JOINS, fed_side, may_split
from planopt_assets.decide.row_prices import MIB, SHUFFLE_ROW_NS, SORT_ROW_NS
from planopt_assets.decide.setting_in_force import in_force, switched_on
from planopt_assets.decide.shuffle_settings import ADVISORY, adaptive, size_of, unrecorded
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Exchange

NAME = "split_skew"
ENABLED = "spark.sql.adaptive.skewJoin.enabled"
THRESHOLD = "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes"
FACTOR = "spark.sql.adaptive.skewJoin.skewedPartitionFactor"

SKEWED = 5  # times the median: Spark's default
LOW_FACTOR = 3  # if the workload's own factor prevents the split
WORTH_SPLITTING = 32 * MIB  # a smaller partition ends sooner than its pieces would
SMALLEST_PIECE = 16 * MIB
MOST_PIECES = 8


def split_skew(evidence: Evidence) -> Answer:
    """Propose thresholds below the largest skewed partition, and pieces small enough to use the cores."""
    if missing := unrecorded(evidence, THRESHOLD, FACTOR, ADVISORY):
        return cannot_tell(missing, {})
    fed = [(e, x) for e in evidence.executions for x in e.exchanges if x.feeds_join and _splittable(e, x)]
    uneven = [(e, x) for e, x in fed if _times_median(x) >= SKEWED and (x.largest_bytes or 0) >= WORTH_SPLITTING]
    unknown = [x for _, x in fed if x.largest_bytes is None or x.median_bytes is None]
    threshold, factor = size_of(evidence, THRESHOLD), float(in_force(evidence, FACTOR) or SKEWED)
    left_whole = [(e, x) for e, x in uneven if not _splits_already(x, threshold, factor)]
    facts: dict[str, int | float | str] = {
        "shuffles_into_joins": len(fed),
        "skewed_shuffles": len(uneven),
        "threshold_bytes": threshold,
        "factor": factor,
        "cores": evidence.cores,
        "gain_is": "wall clock, not CPU",
    }
    if not fed:
        return no_change("no shuffle into a join whose partitions may be split", facts)
    if not uneven and unknown:
        return cannot_tell(f"partition sizes are missing for {len(unknown)} shuffles into joins", facts)
    if not uneven:
        largest = max(fed, key=lambda pair: (pair[1].largest_bytes or 0, -pair[1].node))[1]
        words = f"the largest partition of a join's input has {largest.largest_bytes or 0:,} bytes"
        return no_change(f"{words}, the median {largest.median_bytes or 0:,}: nothing to split", facts)
    if not adaptive(evidence) or switched_on(evidence, ENABLED) is False:
        return no_change("splitting skewed partitions is switched off in the workload's own settings", facts)
    if not left_whole:
        return no_change("Spark splits these partitions by itself", facts)
    if evidence.cores < 2:
        return no_change("one core gains nothing from more tasks", facts)
    if not any(x.rows for _, x in left_whole):
        return cannot_tell("the number of rows is missing for the skewed shuffles", facts)
    if evidence.objective != "latency":
        return no_change(f"{_finding(left_whole)}: splitting it {CLOCK_ONLY}", facts)
    return _proposal(evidence, left_whole, facts)


def _proposal(
    evidence: Evidence, left_whole: list[tuple[ObservedExecution, Exchange]], facts: dict[str, int | float | str]
) -> Answer:
    worst = _worst(left_whole)
    smallest = min(x.largest_bytes or 0 for _, x in left_whole)  # the settings must reach every one of them
    piece = min(size_of(evidence, ADVISORY), max(SMALLEST_PIECE, smallest // min(evidence.cores, MOST_PIECES)))
    lower = smallest // 2  # so that it still works if the data is somewhat smaller
    settings = {}
    if lower < int(facts["threshold_bytes"]):
        settings[THRESHOLD] = str(lower)
    if any(_times_median(x) <= float(facts["factor"]) for _, x in left_whole):
        settings[FACTOR] = str(LOW_FACTOR)
    if piece < size_of(evidence, ADVISORY):
        settings[ADVISORY] = str(piece)
    saved = sum(_waited_ns(x, piece, evidence.cores) for _, x in left_whole)
    facts |= {
        "largest_partition_bytes": worst.largest_bytes or 0,
        "median_partition_bytes": worst.median_bytes or 0,
        "piece_bytes": piece,
        "cpu_ns_per_row": SHUFFLE_ROW_NS + SORT_ROW_NS,
    }
    return propose(
        settings,
        f"{_finding(left_whole)}: pieces of {piece:,} would use all {evidence.cores} cores",
        saved_wall_ns=saved,
        arithmetic=facts,
    )


def _worst(left_whole: list[tuple[ObservedExecution, Exchange]]) -> Exchange:
    return max((x for _, x in left_whole), key=lambda x: (x.largest_bytes or 0, -x.node))


def _finding(left_whole: list[tuple[ObservedExecution, Exchange]]) -> str:
    worst = _worst(left_whole)
    sizes = f"one partition has {worst.largest_bytes or 0:,} bytes, the median {worst.median_bytes or 0:,}"
    return f"{sizes}, and Spark does not split it"


def _splittable(execution: ObservedExecution, exchange: Exchange) -> bool:
    """Whether a shuffled join reads it, this side may be split, and more than one task wrote it."""
    if not any(j.strategy in SHUFFLED_JOINS for j in execution.joins):
        return False
    fed = fed_side(exchange, execution.joins)
    writer = next((s for s in execution.stages if exchange.node in s.nodes), None)
    return (fed is None or may_split(fed[0].kind, fed[1])) and (writer is None or writer.tasks > 1)


def _times_median(exchange: Exchange) -> float:
    if exchange.largest_bytes is None or exchange.median_bytes is None:
        return 0.0
    return exchange.largest_bytes / max(1, exchange.median_bytes)


def _splits_already(exchange: Exchange, threshold: int, factor: float) -> bool:
    return (exchange.largest_bytes or 0) > max(threshold, (exchange.median_bytes or 0) * factor)


def _waited_ns(exchange: Exchange, piece: int, cores: int) -> int:
    """Wall clock saved: one task's time for the largest partition, less its share when several tasks work on it."""
    rows = (exchange.rows or 0) * (exchange.largest_bytes or 0) // max(1, exchange.bytes_written)
    helpers = min(cores, -(-(exchange.largest_bytes or 0) // piece))
    return rows * (helpers - 1) // helpers * (SHUFFLE_ROW_NS + SORT_ROW_NS)
