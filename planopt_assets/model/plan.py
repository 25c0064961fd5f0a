"""A physical plan as data: a flat, ordered list of nodes with their parents."""

from __future__ import annotations

from dataclasses import dataclass

ROOT = -1


@dataclass(frozen=True, slots=True)
class Estimate:
    """What was expected of an operator before it ran, and who said so."""

    rows: int | None = None
    bytes: int | None = None
    source: str = "none"  # plan | delta_log | explain | none
    at_runtime: bool = False  # corrected by what finished stages had measured


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator as Spark holds it; it is known by the ids of its metrics."""

    metric_ids: tuple[int, ...]
    estimate: Estimate
    row_bytes: int  # the planner's width of one row of its output
    partition_bytes: tuple[int, int, int] | None  # smallest, median, largest, of a shuffle


@dataclass(frozen=True, slots=True)
class PlanNode:
    """One operator; `index` is its place in a depth-first walk, `parent` the index above it (-1 at the root)."""

    index: int
    parent: int
    kind: str
    detail: str  # normalised: expression ids renumbered by first appearance, paths replaced by table names
    metrics: tuple[tuple[str, int], ...] = ()
    estimate: Estimate = Estimate()
    row_bytes: int | None = None
    partition_bytes: tuple[int, int, int] | None = None
    reuses: int | None = None  # the node whose result it reads again: an exchange or a sub-query

    def metric(self, name: str) -> int | None:
        return dict(self.metrics).get(name)


@dataclass(frozen=True, slots=True)
class Misjudged:
    """An operator and how many times too high or too low it was estimated; `by` is what was compared."""

    node: int
    kind: str
    factor: float
    by: str  # rows | bytes
    estimated: int
    actual: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A normalised physical plan; `phase` is `initial` (as planned) or `final` (after adaptive execution)."""

    phase: str
    nodes: tuple[PlanNode, ...]
    extractor: str
