"""What a plan does, in ten numbers: two plans with similar numbers are likely to gain from the same setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import attrgetter

from planopt_assets.model.signals import Signals


@dataclass(frozen=True, slots=True)
class PlanFeatures:
    """Operators by their kind, and how much goes through them. Of several bindings, all together."""

    merge_joins: int
    hash_joins: int
    broadcast_joins: int
    shuffles: int
    aggregations: int
    scans: int
    rows: int
    shuffled_bytes: int
    scanned_bytes: int
    files: int


_WEIGHTS = (1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25)
"""Of each field: operators tell more about what helps than the size of tables, which spans many powers of two."""
_numbers = attrgetter(*(field.name for field in fields(PlanFeatures)))  # asked for every verdict of the store


def features_of(bindings: Sequence[Signals]) -> PlanFeatures:
    joins = [j.strategy for s in bindings for j in s.joins]
    return PlanFeatures(
        merge_joins=joins.count("SortMergeJoin"),
        hash_joins=joins.count("ShuffledHashJoin"),
        broadcast_joins=sum(name.startswith("Broadcast") for name in joins),
        shuffles=sum(len(s.exchanges) for s in bindings),
        aggregations=sum(len(s.aggregations) for s in bindings),
        scans=sum(len(s.scans) for s in bindings),
        rows=sum(scan.read_rows or 0 for s in bindings for scan in s.scans),
        shuffled_bytes=sum(x.bytes_written for s in bindings for x in s.exchanges),
        scanned_bytes=sum(scan.bytes for s in bindings for scan in s.scans),
        files=sum(scan.files for s in bindings for scan in s.scans),
    )


def similarity(one: PlanFeatures, other: PlanFeatures) -> float:
    """1 for plans with the same numbers, less the more they differ; each field counts by its factor, as powers of two.

    Worked: the same operators over four times the rows: two powers of two at a quarter each: 1 / 1.5.

    >>> plan = PlanFeatures(1, 0, 0, 2, 1, 2, 999, 0, 0, 0)
    >>> similarity(plan, plan), round(similarity(plan, PlanFeatures(1, 0, 0, 2, 1, 2, 3999, 0, 0, 0)), 3)
    (1.0, 0.667)
    """
    pairs = zip(_WEIGHTS, _numbers(one), _numbers(other), strict=True)
    return 1 / (1 + sum(weight * abs(math.log2((1 + a) / (1 + b))) for weight, a, b in pairs))
