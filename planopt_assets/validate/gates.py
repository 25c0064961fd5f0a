"""The regression gates, as pure answers; Dagster's asset checks and the command line only show them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from planopt_assets.model.gate import Gate

if TYPE_CHECKING:
    from planopt_assets.store.standing import Standing


def results_equal(standing: Standing) -> Gate:
    """Did every candidate return what the query returns? One that did not was rejected, and this says so."""
    wrong = [v for v in standing.verdicts if v["results_equal"] is False]
    if any(v["outcome"] == "accept" for v in wrong):
        return Gate(False, True, "a verdict accepts a candidate whose result is not the same")
    if wrong:
        return Gate(False, False, f"{len(wrong)} candidate(s) rejected: {wrong[0]['reason']}")
    compared = sum(v["results_equal"] is True for v in standing.verdicts)
    return Gate(
        True, False, f"{compared} candidate(s) compared over the whole result" if compared else "no candidate was tried"
    )


def not_regressed(standing: Standing) -> Gate:
    """Does the policy in force rest on an accepted verdict, and has no newer trial found it worse?"""
    if standing.active is None:
        return Gate(True, False, "the query runs as original")
    policy, promoted_by = standing.active.policy, standing.promoted_by
    if promoted_by is None or promoted_by["outcome"] != "accept" or promoted_by["policy_id"] != policy.id:
        return Gate(False, True, f"generation {standing.active.generation} has no accepted verdict in the store")
    worse = [v for v in standing.verdicts if v["policy_id"] == policy.id and _worse(v)]
    if worse:
        return Gate(False, True, f"{policy.describe()} was found worse on the current inputs: {worse[0]['reason']}")
    return Gate(True, False, f"{policy.describe()} in force, proven by {promoted_by['verdict_id']}")


def _worse(verdict: Mapping[str, Any]) -> bool:
    """Really worse, not just without the gain it once had: another result, a broken guard, or surely slower."""
    if verdict["results_equal"] is False:
        return True
    if verdict["outcome"] == "accept":
        return False
    guards = [c for c in json.loads(verdict["criteria"]) if not c["name"].startswith("objective:")]
    slower = verdict["gain_low"] is not None and verdict["gain_low"] > 1.0
    return slower or any(c["passed"] is False for c in guards)
