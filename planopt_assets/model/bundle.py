"""All that is kept of one planning of one query: the parts that must repeat, each with a hash of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planopt_assets.model.ids import content_id
from planopt_assets.model.provenance import Planning, PlanningEnvironment, Rulepack

Parts = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Planned:
    """What Spark told about planning a query, beside the physical plan; logical plans are normalised."""

    analyzed: list[Any]
    analyzed_text: str  # as Spark shows it, ids and all
    optimized: list[Any]
    output: tuple[tuple[str, str, bool], ...]  # name, type, nullable
    planning: Planning
    environment: PlanningEnvironment
    rulepack: Rulepack
    explains: tuple[tuple[str, str], ...] = ()  # mode, text: tier `debug`


def bundle_hash(parts: Parts) -> str:
    """One hash over all parts, whatever their order."""
    return content_id("bun", dict(parts))


def differing(before: Parts, after: Parts) -> tuple[str, ...]:
    """Names of the parts that are not the same."""
    left, right = dict(before), dict(after)
    return tuple(sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name)))
