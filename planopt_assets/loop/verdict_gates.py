"""The regression gates, as pure answers; Dagster's asset checks and the command line only show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.model.gate import NEVER_RAN, Compared, Gate
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.verdict import OBJECTIVE

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.verdict import Verdict


def results_equal(standing: Standing) -> Gate:
    """Did every candidate return what the query returns? One that did not was rejected, and this says so."""
    wrong = [v for v in standing.verdicts if v.results_equal is False]
    found = f"{len(wrong)} of {len(standing.verdicts)} tried change(s) returned something else"
    compared = Compared("the result of the baseline", found, "equal; floating point within its tolerance")
    if any(v.accepted for v in wrong):
        return Gate(False, True, "a verdict accepts a candidate whose result is not the same", compared=compared)
    if wrong:
        return Gate(False, False, f"{len(wrong)} candidate(s) rejected: {wrong[0].reason}", compared=compared)
    if not standing.verdicts and standing.never_observed:
        return Gate.without_evidence(NEVER_RAN)
    if not standing.verdicts and (failed := [a for a in standing.artifacts if a.status == "failed"]):
        return Gate.without_evidence(f"the query failed ({failed[0].error_code})")
    equal = sum(v.results_equal is True for v in standing.verdicts)
    words = f"{equal} candidate(s) compared over the whole result" if equal else "no candidate was tried"
    return Gate(True, False, words, compared=compared if equal else None)


def gain_proven(standing: Standing) -> Gate:
    """Is the change that was tried better beyond doubt? If not, the query stays as it is: a remark, no regression."""
    deciding = standing.deciding
    if deciding is None and standing.never_observed:
        return Gate.without_evidence(NEVER_RAN)
    if deciding is None:
        return Gate(True, False, "no change was tried on the current inputs")
    numbers = {"gain_percent": 100 * (1 - deciding.gain.ratio)} if deciding.gain else {}
    words = {
        "accept": f"{deciding.policy.describe()} is better with equal results: {standing.reason}",
        "reject": f"{deciding.policy.describe()} was tried and is not better: {standing.reason}",
    }.get(standing.outcome, f"{deciding.policy.describe()} was tried without a clear answer: {standing.reason}")
    return Gate(standing.outcome == "accept", False, words, numbers=numbers, compared=_both_sides(deciding))


def _both_sides(verdict: Verdict) -> Compared | None:
    """What the objective was on both sides of the trials; None where they ended before it was looked at."""
    held = next((c for c in verdict.judgement.criteria if c.name.startswith(OBJECTIVE)), None)
    if held is None or held.baseline is None or held.candidate is None:
        return None
    of = held.name.removeprefix(OBJECTIVE)
    before, after = (
        f"{value:,.0f} bytes read" if of == "bytes" else f"{value / 1e9:.3f} s {of}"
        for value in (held.baseline, held.candidate)
    )
    return Compared(f"{before} as original", f"{after} with the change", held.threshold)


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
    again = [v for v in standing.past_verdicts if v.confirms and v.input_fingerprint == standing.input_fingerprint]
    worse = [v for v in (*standing.verdicts, *again[-1:]) if v.policy == policy and v.found_worse]
    against = f"{policy.describe()} was found worse on the current inputs: {worse[0].reason}" if worse else ""
    if active.fixed:
        wrong = any(v.results_equal is False for v in worse)
        said = f"{policy.describe()} is pinned by {active.who or 'a person'}: {active.reason}"
        compared = _both_sides(worse[0]) if worse else None
        return Gate(not worse, wrong, f"{said}, but {against}" if worse else said, compared=compared)
    if promoted_by is None or not promoted_by.accepted or promoted_by.policy != policy:
        return Gate(False, True, f"generation {active.generation} has no accepted verdict in the store")
    if doubt := promoted_by.judgement.doubt:
        return Gate(False, True, f"verdict {promoted_by.id} of generation {active.generation} is no proof: {doubt}")
    compared = _both_sides(worse[0] if worse else promoted_by)
    if against:
        return Gate(False, True, against, compared=compared)
    if standing.due is not None:
        words = f"{policy.describe()} should not be in force any more: {standing.due.reason}"
        return Gate(False, True, words, compared=compared)
    restored = since if active.state != "accepted" else ""
    return Gate(True, False, f"{policy.describe()} in force{restored}, proven by {promoted_by.id}", compared=compared)


def conditions_hold(standing: Standing) -> Gate:
    """Does the evidence of the policy in force hold for the tables as they are now? If not, nobody applies it."""
    if standing.broken is not None:
        return Gate.without_evidence(str(standing.broken))
    active = standing.active
    if active is None and standing.never_observed:
        return Gate.without_evidence(NEVER_RAN)
    if active is None or active.policy == ORIGINAL:
        return Gate(True, False, "the query runs as original")
    if active.fixed:
        return Gate(True, False, f"{active.policy.describe()} is pinned by {active.who or 'a person'}")
    if standing.suspended:
        return Gate(False, False, f"{active.policy.describe()} is suspended: {standing.suspended}")
    return Gate(True, False, f"{active.policy.describe()} was proven on tables of this size")
