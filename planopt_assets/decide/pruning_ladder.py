"""The pruning ladder: ways to leave out rows inside the files that are read, from the cheapest to the dearest.

A query stands where its settings put it. From the rows its scans read and the rows that matched it climbs or steps
down, one rung at a time, so that a trial shows what that one rung is worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from planopt_assets.decide.scan_prices import (
    DICTIONARY_FILE_NS,
    PAGE_INDEX_FILE_NS,
    PROBE_ROW_NS,
    PUSHED_FILE_NS,
    READ_ROW_NS,
)
from planopt_assets.model.signals import Scan

SELECTIVE = 0.1  # at most this share of the rows read was wanted: climb
ALL_WANTED = 0.9  # at least this share: there is nothing to leave out
HARDLY_ANY = 0.05  # of the files' rows left out by the reader

_EQUALITIES = ("equality", "in_list")
_COMPARISONS = (*_EQUALITIES, "range", "prefix", "null_test", "disjunction", "boolean")


@dataclass(frozen=True, slots=True)
class Rung:
    """One switch: which predicates it serves, how much it leaves out where it works, and what looking costs."""

    name: str
    knob: str
    families: tuple[str, ...]  # empty: filters that another table feeds
    left_out: float  # of the unwanted rows, at least; 0: nobody can tell from the scan, so it is never climbed to
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
    """What the scans of a query read and what of it was wanted, all bindings together."""

    files: int
    file_rows: int  # in the files that were read
    read_rows: int  # came out of the reader
    matched_rows: int  # were left by the predicates
    families: tuple[str, ...]
    runtime_filters: int

    @staticmethod
    def of(scans: Iterable[Scan]) -> Selectivity:
        """Of scans whose rows are known."""
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
    """One rung up or down, and the CPU it should save."""

    rung: Rung
    direction: Literal["up", "down"]
    saved_ns: int


def next_step(switched_on: Sequence[bool], seen: Selectivity) -> Step | None:
    """The step to try from where the switches stand, or None where the query stands well.

    Up: the lowest rung that is off. Down: the highest that is on. Rungs that serve none of the predicates are passed.

    >>> seen = Selectivity(20, 2_000_000, 2_000_000, 20_000, ("equality",), 0)
    >>> step = next_step((False, True, True, True, True), seen)
    >>> step.rung.name, step.saved_ns
    ('row-group statistics', 495000000)
    """
    if seen.wanted_share <= SELECTIVE:
        off = [r for r, on in zip(LADDER, switched_on, strict=True) if not on and r.serves(seen) and r.left_out]
        unwanted = seen.read_rows - seen.matched_rows
        return Step(off[0], "up", round(unwanted * off[0].left_out * READ_ROW_NS)) if off else None
    if seen.wanted_share >= ALL_WANTED and seen.left_out_share <= HARDLY_ANY:
        on = [r for r, on in zip(LADDER, switched_on, strict=True) if on and r.serves(seen) and r.price_ns(seen)]
        return Step(on[-1], "down", on[-1].price_ns(seen)) if on else None
    return None
