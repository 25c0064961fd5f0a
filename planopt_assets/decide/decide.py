"""From evidence to decisions: ask every rule, keep what is material, and let the veto have the last word."""

from __future__ import annotations

from planopt_assets.decide.answer import Answer
from planopt_assets.decide.knobs import CATALOGUE_VERSION, objection
from planopt_assets.decide.materiality import immaterial
from planopt_assets.decide.rules import RULES
from planopt_assets.model.decision import Decision, DecisionKind
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Knobs


def decide(evidence: Evidence, limits: Knobs) -> tuple[Decision, ...]:
    """One decision per rule, in the order of `RULES`; the same evidence always gives the same decisions."""
    return tuple(_settle(name, rule(evidence), evidence, limits) for name, rule in RULES)


def cannot_tell(query_id: str, reason: str, *, policy: Policy, inputs: str, evidence_ids: tuple[str, ...]) -> Decision:
    """The one decision for a query of which nothing could be observed."""
    return Decision(
        "cannot_tell", query_id, "observe", policy, policy, reason, 0, (), evidence_ids, inputs, "", CATALOGUE_VERSION
    )


def _settle(rule: str, answer: Answer, evidence: Evidence, limits: Knobs) -> Decision:
    kind: DecisionKind = answer.kind
    reason, saving, arithmetic = answer.reason, 0, {"finding": answer.reason, **dict(answer.arithmetic)}
    after = evidence.policy
    if kind == "proposal":
        objections = [o for name, value in answer.change.settings if (o := objection(name, value, limits))]
        too_small, worth = immaterial(answer, evidence)
        arithmetic |= worth
        if objections:
            kind, reason = "no_change", f"vetoed: {objections[0]}"
        elif too_small:
            kind, reason = "no_change", f"not worth a trial: {too_small}"
        else:
            after = evidence.policy.merged(answer.change)
            saving = int(worth["saving_cpu_ns_per_run"])
    return Decision(
        kind=kind,
        query_id=evidence.query_id,
        rule=rule,
        policy_before=evidence.policy,
        policy_after=after,
        reason=reason,
        expected_gain_cpu_ns=saving,
        arithmetic=tuple(arithmetic.items()),
        evidence_ids=evidence.observation_ids,
        input_fingerprint=evidence.input_fingerprint,
        plan_fingerprint=evidence.plan_fingerprint,
        catalogue_version=CATALOGUE_VERSION,
    )
