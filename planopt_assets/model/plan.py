"""A physical plan as data: a flat, ordered list of nodes with their parents."""

from __future__ import annotations

from dataclasses import dataclass

ROOT = -1


@dataclass(frozen=True, slots=True)
class PlanNode:
    """One operator; `index` is its place in a depth-first walk, `parent` the index above it (-1 at the root)."""

    index: int
    parent: int
    kind: str
    detail: str  # normalised: expression ids renumbered by first appearance, paths replaced by table names
    metrics: tuple[tuple[str, int], ...] = ()

    def metric(self, name: str) -> int | None:
        return dict(self.metrics).get(name)


@dataclass(frozen=True, slots=True)
class Plan:
    """A normalised physical plan; `phase` is `initial` (as planned) or `final` (after adaptive execution)."""

    phase: str
    nodes: tuple[PlanNode, ...]
    extractor: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A shuffle the planner may resize: how many partitions it planned and what went through it."""

    node: int
    partitions: int
    bytes_written: int


@dataclass(frozen=True, slots=True)
class Scan:
    """What one scan of a registered table read, and into how many tasks it was split."""

    node: int
    table: str
    files: int
    bytes: int
    splits: int
