"""The pruning ladder: ways to skip rows inside the files that are read, from the cheapest to the most expensive.

The settings say which rungs are on. The rows read and the rows matched say whether to go up or down. It is one rung at
a time, so that a trial shows what that rung is worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from planopt_assets.decide.prices import CPU_PER_ROW_NS
from planopt_assets.decide.scan_prices import (
    DICTIONARY_FILE_NS,
    PAGE_INDEX_FILE_NS,
    PROBE_ROW_NS,
    PUSHED_FILE_NS,
)
from planopt_assets.model.signals import Scan

SELECTIVE = 0.1  # at most this share of the rows read matched: go up
ALL_WANTED = 0.9  # at least this share matched: there is nothing to skip
HARDLY_ANY = 0.05  # share of the files' rows that the reader skipped

_EQUALITIES = ("equality", "in_list")
_COMPARISONS = (*_EQUALITIES, "range", "prefix", "null_test", "disjunction", "boolean")


@dataclass(frozen=True, slots=True)
class Rung:
    """One switch: the predicates that can use it, the share of rows it skips at least, and what it costs."""

    name: str
    knob: str
    families: tuple[str, ...]  # empty: runtime filters, which another table feeds
    left_out: float  # share of the unmatched rows it skips at least; 0: unknown from the scan, so never a step up
    file_ns: int = 0
    row_ns: int = 0

    def serves(self, seen: Selectivity) -> bool:
        return bool(set(self.families) & set(seen.families)) if self.families else seen.runtime_filters > 0

    def price_ns(self, seen: Selectivity) -> int:
        return seen.files * self.file_ns + seen.read_rows * self.row_ns


LADDER: tuple[Rung, ...] = (
    Rung("row-group statistics", "spark.sql.parquet.filterPushdown", _COMPARISONS, 0.25, file_ns=PUSHED_FILE_NS),
    Rung("dictionaries", "parquet.filter.dictionary.enabled", _EQUALITIES, 0.1, file_ns=DICTIONARY_FILE_NS),
    Rung("page statistics", "parquet.filter.columnindex.enabled", _COMPARISONS, 0.25, file_ns=PAGE_INDEX_FILE_NS),
    Rung("stored bloom filters", "parquet.filter.bloom.enabled", _EQUALITIES, 0.1),
    Rung("runtime filters", "spark.sql.optimizer.runtime.bloomFilter.enabled", (), 0.0, row_ns=PROBE_ROW_NS),
)


@dataclass(frozen=True, slots=True)
class Selectivity:
    """Rows that the scans of a query read and matched, over all bindings."""

    files: int
    file_rows: int  # in the files that were read
    read_rows: int  # returned by the reader
    matched_rows: int  # that passed the predicates
    families: tuple[str, ...]
    runtime_filters: int

    @staticmethod
    def of(scans: Iterable[Scan]) -> Selectivity:
        """The sum over scans whose rows are known."""
        seen = list(scans)
        return Selectivity(
            files=sum(s.files for s in seen),
            file_rows=sum(s.file_rows or 0 for s in seen),
            read_rows=sum(s.read_rows or 0 for s in seen),
            matched_rows=sum(s.matched_rows or 0 for s in seen),
            families=tuple(sorted({f for s in seen for f in s.families})),
            runtime_filters=sum(s.runtime_filters for s in seen),
        )

    @property
    def wanted_share(self) -> float:
        return self.matched_rows / self.read_rows if self.read_rows else 1.0

    @property
    def left_out_share(self) -> float:
        return max(0.0, 1 - self.read_rows / self.file_rows) if self.file_rows else 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """One rung up or down, and the CPU it is expected to save."""

    rung: Rung
    direction: Literal["up", "down"]
    saved_ns: int


def next_step(switched_on: Sequence[bool], seen: Selectivity, row_ns: float = CPU_PER_ROW_NS) -> Step | None:
    """The next step to try from these switches, or None if there is none. `row_ns` is what reading a row costs.

    Up: the lowest rung that is off. Down: the highest rung that is on. Rungs that no predicate can use are skipped.

    >>> seen = Selectivity(20, 2_000_000, 2_000_000, 20_000, ("equality",), 0)
    >>> step = next_step((False, True, True, True, True), seen)
    >>> step.rung.name, step.saved_ns
    ('row-group statistics', 495000000)
    """
    if seen.wanted_share <= SELECTIVE:
        off = [r for r, on in zip(LADDER, switched_on, strict=True) if not on and r.serves(seen) and r.left_out]
        unwanted = seen.read_rows - seen.matched_rows
        return Step(off[0], "up", round(unwanted * off[0].left_out * row_ns)) if off else None
    if seen.wanted_share >= ALL_WANTED and seen.left_out_share <= HARDLY_ANY:
        on = [r for r, on in zip(LADDER, switched_on, strict=True) if on and r.serves(seen) and r.price_ns(seen)]
        return Step(on[-1], "down", on[-1].price_ns(seen)) if on else None
    return None
