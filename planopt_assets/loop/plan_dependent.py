"""Queries whose result may depend on the plan, by their newest observation: no policy is safe for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from planopt_assets.decide.decide import depends_on_plan
from planopt_assets.store.codecs.observing import PLAN_DEPENDENCE

if TYPE_CHECKING:
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.store.snapshot import Snapshot


def plan_dependent(snapshot: Snapshot, newest: Mapping[str, Sequence[PlanArtifact]]) -> dict[str, str]:
    """In words, for each such query. `newest` has the artifacts of the last observation that was captured."""
    asked = {a.observation_id for artifacts in newest.values() for a in artifacts}
    seen = snapshot.read(PLAN_DEPENDENCE, observation_id=asked) if asked else []
    names = {one.observation_id: one.functions for one in seen}
    found = {q: [n for a in artifacts for n in names.get(a.observation_id, ())] for q, artifacts in newest.items()}
    return {query_id: depends_on_plan(functions) for query_id, functions in found.items() if functions}
