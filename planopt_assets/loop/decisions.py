"""The decisions that the stored rows of a query lead to; asked again, on any later day, the same ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from planopt_assets.decide.answer import propose
from planopt_assets.decide.common_settings import common_settings
from planopt_assets.decide.decide import Asked, cannot_tell, decide, objection_to_any, settle
from planopt_assets.decide.driver_memory import THRESHOLD, has_room_below
from planopt_assets.decide.history import PastVerdicts
from planopt_assets.decide.knobs import size_in_bytes
from planopt_assets.decide.prices import query_cpu_ns
from planopt_assets.loop.cost_models import environment_of, prices_of
from planopt_assets.loop.experiences import told_changes
from planopt_assets.model.decision import AS_MOST, NO_ROOM
from planopt_assets.model.past_verdict import PastVerdict, TakenBack
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import in_force
from planopt_assets.model.verdict import NOT_TRIED
from planopt_assets.observe.evidence import ShownTrial, evidence_of, under
from planopt_assets.promote.chain import taken_back
from planopt_assets.promote.twice_taken_back import times_taken_back
from planopt_assets.store.codecs.deciding import TRIAL_SIGNALS, TRIALS
from planopt_assets.store.codecs.observing import DETAILS, EXECUTIONS

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.decision import Decision
    from planopt_assets.model.evidence import Evidence
    from planopt_assets.model.promotion import Chain
    from planopt_assets.model.stamp import Stamp
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot


def decisions_for(
    workload: Workload, snapshot: Snapshot, standing: Standing, base: Verdict | None = None
) -> tuple[Decision, ...]:
    """One per rule, or the one that says why nothing can be told. Asked again, they go by the prices that they name.

    `base` is the accepted verdict that the round starts from. None: it starts from original.
    """
    assert standing.input_fingerprint is not None
    if not standing.captured:
        observations = tuple(a.observation_id for a in standing.artifacts)
        inputs = standing.input_fingerprint
        return (
            cannot_tell(standing.query_id, standing.reason, policy=ORIGINAL, inputs=inputs, evidence_ids=observations),
        )
    evidence, now = evidence_for(workload, snapshot, standing, base)
    if evidence is None:
        assert base is not None
        return (not_looked_at(standing, base),)
    history = history_of(standing, base)
    answers = decide(evidence, workload.knobs, history=history, now=now)
    if base is None and not history.verdicts:
        answers += _as_most_queries(snapshot, standing, Asked(evidence, workload.knobs, history, now), answers)
    return answers


def _as_most_queries(
    snapshot: Snapshot, standing: Standing, asked: Asked, beside: Collection[Decision] = ()
) -> tuple[Decision, ...]:
    """What most other queries gained from is the first that a new query tries. Nothing if there is no such thing.

    It knows the verdicts that were stored when the query was observed, and no later ones. `beside` is what the rules
    have answered: what their hints broadcast may be too large together with what a threshold lets in.
    """
    told = [t for t in told_changes(snapshot, standing.artifacts[-1].stamp.sequence) if t.query_id != standing.query_id]
    gained: dict[str, Policy] = {t.query_id: ORIGINAL for t in told}
    for one in told:
        if one.saved > 0:
            gained[one.query_id] = gained[one.query_id].merged(one.change)
    common = _harmless(common_settings(gained), asked.evidence)
    if common == ORIGINAL or objection_to_any(asked.evidence):
        return ()
    helped = [t for t in told if t.saved > 0 and any(part in common.parts for part in t.change.parts)]
    share, queries = round(sum(t.saved for t in helped) / len(helped), 6), len({t.query_id for t in helped})
    words = f"{sum(common.within(p) for p in gained.values())} of {len(gained)} other queries gained from it"
    answer = propose(
        dict(common.settings),
        f"{words}, {share:.0%} of a run on average",
        saved_cpu_ns=round(share * query_cpu_ns(asked.evidence)),
        arithmetic={
            "queries_that_gained": queries,
            "queries_tried": len(gained),
            "expected_share": share,
            **_no_room_beside_hints(common, asked.evidence, beside),
        },
    )
    return (settle(AS_MOST, answer, asked),)


def _harmless(common: Policy, evidence: Evidence) -> Policy:
    """Without a broadcast threshold that would let in more than the driver holds for this query."""
    raised = size_in_bytes(dict(common.settings).get(THRESHOLD, "0"))
    fits = raised <= 0 or has_room_below(evidence, raised)
    return common if fits else Policy.of({name: value for name, value in common.settings if name != THRESHOLD})


def _no_room_beside_hints(common: Policy, evidence: Evidence, beside: Collection[Decision]) -> dict[str, int]:
    """One fact, where the driver has room for its threshold, and not beside the broadcasts that hints ask for."""
    raised = size_in_bytes(dict(common.settings).get(THRESHOLD, "0"))
    hinted = {h.target for d in beside if d.proposes for h in d.policy_after.hints if h.broadcasts}
    return {NO_ROOM: 1} if raised > 0 and not has_room_below(evidence, raised, hinted) else {}


def evidence_for(
    workload: Workload, snapshot: Snapshot, standing: Standing, base: Verdict | None
) -> tuple[Evidence | None, int]:
    """The stored evidence of the round that starts from `base`, and when it was taken, in seconds since 1970.

    None: the trials of the accepted policy do not show its plan.
    """
    observations = tuple(a.observation_id for a in standing.artifacts)
    evidence = evidence_of(
        standing.artifacts,
        {d.observation_id: d for d in snapshot.read(DETAILS, observation_id=observations)},
        {e.id: e for e in snapshot.read(EXECUTIONS, execution_id=observations)},
        workload.query(standing.query_id).runs_per_day,
        workload.objective,
    )
    before = base.policy if base else ORIGINAL
    environment = environment_of(evidence, standing.artifacts[-1])
    prices = prices_of(snapshot, (d for d in standing.decisions if d.policy_before == before), environment)
    evidence, now = replace(evidence, prices=prices), standing.artifacts[-1].stamp.second
    if base is None:
        return evidence, now
    now = max(now, base.stamp.second)
    shown = _shown(snapshot, base, len(evidence.executions))
    if shown is None:
        return None, now
    planned = next((c.plan_fingerprint for c in standing.candidates if c.id == base.candidate_id), "")
    return under(evidence, base.policy, planned, shown), now


def _shown(snapshot: Snapshot, base: Verdict, bindings: int) -> list[ShownTrial] | None:
    """What the trials of an accepted policy showed, by binding. None where one of them was not looked at.

    Its first run shows the plan, its last one the counters: by then it was warm.
    """
    trials = [
        t for t in snapshot.read(TRIALS, trial_id=set(base.trial_ids)) if t.policy_id == base.policy.id and not t.error
    ]
    signals = {
        s.trial_id: s.signals for s in snapshot.read(TRIAL_SIGNALS, trial_id={t.id for t in trials if t.warm_up})
    }
    counters = {e.id: e.counters for e in snapshot.read(EXECUTIONS, execution_id={t.id for t in trials})}
    found = []
    for binding in range(bindings):
        of_binding = [t for t in trials if t.binding == binding]
        seen = next((s for t in of_binding if (s := signals.get(t.id)) is not None), None)
        last = next((t for t in reversed(of_binding) if not t.warm_up and t.id in counters), None)
        if seen is None or last is None:
            return None
        found.append(ShownTrial(last.id, counters[last.id], seen))
    return found


def not_looked_at(standing: Standing, base: Verdict, rule: str = "observe") -> Decision:
    """An older planopt did not look at the plans of trials: nothing is told, and the query stays as it is."""
    assert standing.input_fingerprint is not None
    words = f"the trials of {base.policy.describe()} do not tell its plan"
    inputs = standing.input_fingerprint
    told = cannot_tell(standing.query_id, words, policy=base.policy, inputs=inputs, evidence_ids=(base.id,))
    return replace(told, rule=rule)


def history_of(standing: Standing, base: Verdict | None = None, until: int = 0) -> PastVerdicts:
    """Every verdict that was there when these inputs were observed: later ones must not change what was decided.

    The same holds for what was taken back: a policy that watch reverts tomorrow was accepted today. A round that starts
    from an accepted policy also knows what was stored with its verdict. Exploration knows what the trials before it
    showed, up to the number `until`.
    """
    chain = tuple(takewhile(lambda p: _was_known(p.stamp, standing, base, until), standing.chain))
    gone = _taken_back(standing, chain)
    return PastVerdicts(
        standing.canonical_fingerprint,
        standing.context_hash,
        standing.input_bytes,
        tuple(
            PastVerdict(v, v.stamp.second, gone.get(v.id) if v.accepted else None, v.stamp.sequence)
            for v in standing.past_verdicts
            if _is_about_original(v, in_force(chain), gone)
            and _was_known(v.stamp, standing, base, until)
            and not v.reason.startswith(NOT_TRIED)  # nothing ran: nothing is known
        ),
        standing.sizes,
        standing.similar_within,
    )


def _is_about_original(verdict: Verdict, held: Policy, gone: Collection[str]) -> bool:
    """Whether it tells how a policy compares with original, or was taken back, which is remembered too.

    A confirmation that fails takes the policy back. A part that could not be left out without a loss may still be worth
    trying by itself, once the combination is gone. So may what was better than a combination that is gone. What an
    addition brought beyond an accepted policy counts for both together.
    """
    if verdict.confirms:
        return False
    return not verdict.leaves_out or (verdict.accepted and (verdict.counts_beside(held) or verdict.id in gone))


def _was_known(stored: Stamp, standing: Standing, base: Verdict | None, until: int) -> bool:
    """Whether a row was there when the evidence of the round was, or when exploration asked."""
    observed = standing.artifacts[-1].stamp
    there = observed.later_than(stored) or (base is not None and not stored.later_than(base.stamp))
    return there or 0 < stored.sequence <= until


def _taken_back(standing: Standing, chain: Chain) -> dict[str, TakenBack]:
    """By verdict, from the generations that were there when the evidence was."""
    policies = {v.id: v.policy for v in standing.past_verdicts}
    return {
        verdict_id: TakenBack(
            "expired" if by.state == "expired" else "reverted",
            by.id,
            by.reason,
            by.stamp.second,
            by.stamp.sequence,
            times_taken_back(chain, policies[verdict_id]) if verdict_id in policies else 1,
        )
        for verdict_id, by in taken_back(chain).items()
    }
