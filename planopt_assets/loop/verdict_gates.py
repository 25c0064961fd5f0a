"""The regression gates, as pure answers; Dagster's asset checks and the command line only show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.model.gate import NEVER_RAN, Gate
from planopt_assets.model.policy import ORIGINAL

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing


def results_equal(standing: Standing) -> Gate:
    """Did every candidate return what the query returns? One that did not was rejected, and this says so."""
    wrong = [v for v in standing.verdicts if v.results_equal is False]
    if any(v.accepted for v in wrong):
        return Gate(False, True, "a verdict accepts a candidate whose result is not the same")
    if wrong:
        return Gate(False, False, f"{len(wrong)} candidate(s) rejected: {wrong[0].reason}")
    if not standing.verdicts and standing.never_observed:
        return Gate.without_evidence(NEVER_RAN)
    if not standing.verdicts and (failed := [a for a in standing.artifacts if a.status == "failed"]):
        return Gate.without_evidence(f"the query failed ({failed[0].error_code})")
    compared = sum(v.results_equal is True for v in standing.verdicts)
    return Gate(
        True, False, f"{compared} candidate(s) compared over the whole result" if compared else "no candidate was tried"
    )


def not_regressed(standing: Standing) -> Gate:
    """Does the policy in force rest on a verdict or on a person, and was it neither found worse nor outlived?

    A pin is a person's business: what speaks against it is told, and is a regression only if its result is wrong.
    """
    if standing.broken is not None:
        return Gate(False, True, str(standing.broken))
    active = standing.active
    if active is None and standing.never_observed:
        return Gate.without_evidence(NEVER_RAN)  # a store that was lost has no policies either
    if active is None:
        return Gate(True, False, "the query runs as original")
    policy, promoted_by = active.policy, standing.promoted_by
    since = f" since generation {active.generation} ({active.state}: {active.reason})"
    if policy == ORIGINAL:
        return Gate(True, False, f"the query runs as original{since}")
    if standing.vetoed:
        return Gate(False, True, f"generation {active.generation} is not applied: {standing.vetoed}")
    worse = [v for v in standing.verdicts if v.policy == policy and v.found_worse]
    against = f"{policy.describe()} was found worse on the current inputs: {worse[0].reason}" if worse else ""
    if active.fixed:
        wrong = any(v.results_equal is False for v in worse)
        said = f"{policy.describe()} is pinned by {active.who or 'a person'}: {active.reason}"
        return Gate(not worse, wrong, f"{said}, but {against}" if worse else said)
    if promoted_by is None or not promoted_by.accepted or promoted_by.policy != policy:
        return Gate(False, True, f"generation {active.generation} has no accepted verdict in the store")
    if doubt := promoted_by.judgement.doubt:
        return Gate(False, True, f"verdict {promoted_by.id} of generation {active.generation} is no proof: {doubt}")
    if against:
        return Gate(False, True, against)
    if standing.due is not None:
        return Gate(False, True, f"{policy.describe()} should not be in force any more: {standing.due.reason}")
    restored = since if active.state != "accepted" else ""
    return Gate(True, False, f"{policy.describe()} in force{restored}, proven by {promoted_by.id}")
