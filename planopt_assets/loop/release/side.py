"""One side of a comparison: a query as it is planned, with all that a release may lose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.observe.pushdown.classify import classify
from planopt_assets.observe.pushdown.thresholds import Thresholds

if TYPE_CHECKING:
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.model.plan import Plan
    from planopt_assets.model.scan import ScanFacts, ScanOutcome
    from planopt_assets.model.workload import Query


@dataclass(frozen=True, slots=True)
class Side:
    """One binding of a query, planned but not run."""

    plan: Plan
    scans: tuple[ScanFacts, ...]
    outcomes: tuple[ScanOutcome, ...]  # one for each scan
    output: tuple[tuple[str, str], ...]  # name, type


def planned_side(workspace: Workspace, query: Query, binding: int) -> Side:
    """Plan a query as original, on the pinned versions."""
    again = workspace.replanned(query, binding, workspace.baseline)
    settings = dict(again.planned.environment.settings)
    return Side(
        again.initial,
        again.scans,
        tuple(classify(s, again.offers[s.table], settings, Thresholds()) for s in again.scans),
        tuple((name, kind) for name, kind, _ in again.planned.output),
    )
