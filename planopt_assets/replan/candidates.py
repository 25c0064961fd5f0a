"""Which policies to plan: every proposal by itself, and all of them together as a trial of its own."""

from __future__ import annotations

from planopt_assets.model.decision import Decision, proposals
from planopt_assets.model.policy import Policy


def policies_to_plan(decisions: tuple[Decision, ...]) -> tuple[tuple[Policy, tuple[str, ...]], ...]:
    """Each policy once, with the decisions behind it; the combination comes last, and is judged like any other."""
    wanted = proposals(decisions)
    found: dict[Policy, tuple[str, ...]] = {}
    for decision in wanted:
        found[decision.policy_after] = (*found.get(decision.policy_after, ()), decision.id)
    if len(found) > 1:
        combined = wanted[0].policy_before
        for decision in wanted:
            combined = combined.with_settings(dict(decision.policy_after.settings))
        found.setdefault(combined, tuple(d.id for d in wanted))
    return tuple(found.items())
