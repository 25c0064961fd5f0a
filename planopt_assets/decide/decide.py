"""From evidence to decisions: ask every rule, then check its proposal against the veto, history and materiality."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from planopt_assets.decide.answer import Answer, no_change
from planopt_assets.decide.answer import cannot_tell as no_answer
from planopt_assets.decide.catalogue import CATALOGUE_VERSION
from planopt_assets.decide.history import NO_HISTORY, Memory, PastVerdicts, recall, recall_alone
from planopt_assets.decide.knobs import objections
from planopt_assets.decide.materiality import immaterial, too_little_together
from planopt_assets.decide.prices import PRICED
from planopt_assets.decide.rules import RULES
from planopt_assets.model.cost_model import GIVEN
from planopt_assets.model.decision import Decision, DecisionKind
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Knobs


def decide(
    evidence: Evidence,
    limits: Knobs,
    *,
    history: PastVerdicts = NO_HISTORY,
    now: int = 0,
) -> tuple[Decision, ...]:
    """One decision per rule, in the order of `RULES`. The same arguments always give the same decisions.

    `now` is in seconds since 1970. The caller passes the stored time of the observation, so that decide gives the same
    answer on any later day.
    """
    asked = Asked(evidence, limits, history, now)
    if words := _plan_dependent(evidence):
        return tuple(settle(name, no_change(words, {}), asked) for name, _ in RULES)
    if unknown := _unknown(evidence):
        return tuple(settle(name, no_answer(unknown, {}), asked) for name, _ in RULES)
    decisions = tuple(settle(name, rule(evidence), asked) for name, rule in RULES)
    return decisions if evidence.objective == "bytes" else _worth_together(decisions)


def _worth_together(decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """No proposal at all where all of them together promise less than the judge accepts."""
    words = too_little_together([d for d in decisions if d.proposes])
    return tuple(_refused(d, words) if words and d.proposes else d for d in decisions)


def _refused(decision: Decision, words: str) -> Decision:
    return replace(
        decision,
        kind="no_change",
        policy_after=decision.policy_before,
        reason=f"not worth a trial: {words}",
        expected_gain_cpu_ns=0,
    )


def objection_to_any(evidence: Evidence) -> str:
    """Why nobody may propose anything for this query. Empty if somebody may."""
    return _plan_dependent(evidence) or _unknown(evidence)


def _plan_dependent(evidence: Evidence) -> str:
    """The reason why no policy may be tried, or nothing.

    Equal results of trials prove nothing here: the next run of the same policy may meet its rows in another order.
    """
    found = [name for execution in evidence.executions for name in execution.plan_dependent]
    return f"not tunable: {depends_on_plan(found)}" if found else ""


def depends_on_plan(names: Iterable[str]) -> str:
    """
    >>> depends_on_plan(["first", "collect_list", "first"])
    'its result may depend on the plan (collect_list, first)'
    """
    return f"its result may depend on the plan ({', '.join(sorted(set(names)))})"


def _unknown(evidence: Evidence) -> str:
    """Counters the cost model needs and that nobody told; empty where it has all it needs."""
    missing = [(e.observation_id, name) for e in evidence.executions for name in e.counters.unknown(PRICED)]
    told = ", ".join(f"{name} of {observation}" for observation, name in missing)
    return f"unknown counters: {told}" if told else ""


def cannot_tell(query_id: str, reason: str, *, policy: Policy, inputs: str, evidence_ids: tuple[str, ...]) -> Decision:
    """The only decision for a query that could not be observed."""
    return Decision(
        "cannot_tell", query_id, "observe", policy, policy, reason, 0, (), evidence_ids, inputs, "", CATALOGUE_VERSION
    )


@dataclass(frozen=True, slots=True)
class Asked:
    """What `decide` is asked: the evidence, the limits of the workload file, and what was judged before."""

    evidence: Evidence
    limits: Knobs
    history: PastVerdicts
    now: int


def _memory(wanted: Policy, change: Policy, asked: Asked) -> Memory | None:
    """What is known about the policy as it would be; beyond an accepted one, also about the change by itself."""
    if wanted == change:
        return recall(wanted, asked.history, asked.now)
    return recall(wanted, asked.history, asked.now) or recall_alone(change, asked.history, asked.now)


def settle(rule: str, answer: Answer, asked: Asked) -> Decision:
    """The decision that an answer leads to, once veto, history and materiality had their say."""
    evidence = asked.evidence
    kind: DecisionKind = answer.kind
    reason, saving, arithmetic = answer.reason, 0, {"finding": answer.reason, **dict(answer.arithmetic)}
    after, evidence_ids = evidence.policy, evidence.observation_ids
    if evidence.prices != GIVEN:
        arithmetic["prices"] = evidence.prices.id
    if kind == "proposal":
        wanted = evidence.policy.merged(answer.change)
        vetoes = objections(answer.change, asked.limits)
        too_small, worth = immaterial(answer, evidence)
        arithmetic |= worth
        memory = _memory(wanted, answer.change, asked)
        if vetoes:
            kind, reason = "no_change", f"vetoed: {vetoes[0]}"
        elif memory is not None:
            kind, reason = "no_change", memory.reason
            arithmetic |= dict(memory.arithmetic)
            evidence_ids += memory.evidence_ids
        elif too_small:
            kind, reason = "no_change", f"not worth a trial: {too_small}"
        else:
            after, saving = wanted, int(worth["saving_cpu_ns_per_run"])
    return Decision(
        kind=kind,
        query_id=evidence.query_id,
        rule=rule,
        policy_before=evidence.policy,
        policy_after=after,
        reason=reason,
        expected_gain_cpu_ns=saving,
        arithmetic=tuple(arithmetic.items()),
        evidence_ids=evidence_ids,
        input_fingerprint=evidence.input_fingerprint,
        plan_fingerprint=evidence.plan_fingerprint,
        catalogue_version=CATALOGUE_VERSION,
    )
