"""The decisions that the stored rows of a query lead to; asked again, on any later day, the same ones."""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile
from typing import TYPE_CHECKING

from planopt_assets.decide.decide import cannot_tell, decide
from planopt_assets.decide.history import PastVerdicts
from planopt_assets.model.past_verdict import PastVerdict, TakenBack
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.promotion import in_force
from planopt_assets.model.verdict import NOT_TRIED
from planopt_assets.observe.evidence import evidence_of
from planopt_assets.promote.chain import taken_back
from planopt_assets.promote.twice_taken_back import times_taken_back
from planopt_assets.store.codecs.observing import DETAILS, EXECUTIONS

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.decision import Decision
    from planopt_assets.model.policy import Policy
    from planopt_assets.model.promotion import Chain
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot


def decisions_for(workload: Workload, snapshot: Snapshot, standing: Standing) -> tuple[Decision, ...]:
    """One per rule, or the one that says why nothing can be told."""
    assert standing.input_fingerprint is not None
    observations = tuple(a.observation_id for a in standing.artifacts)
    if not standing.captured:
        inputs = standing.input_fingerprint
        return (
            cannot_tell(standing.query_id, standing.reason, policy=ORIGINAL, inputs=inputs, evidence_ids=observations),
        )
    query = workload.query(standing.query_id)
    evidence = evidence_of(
        standing.artifacts,
        {d.observation_id: d for d in snapshot.read(DETAILS, observation_id=observations)},
        {e.id: e for e in snapshot.read(EXECUTIONS, execution_id=observations)},
        query.runs_per_day,
        workload.objective,
    )
    return decide(evidence, workload.knobs, history=history_of(standing), now=standing.artifacts[-1].stamp.second)


def history_of(standing: Standing) -> PastVerdicts:
    """Every verdict that was there when these inputs were observed: later ones must not change what was decided.

    The same holds for what was taken back: a policy that watch reverts tomorrow was accepted today.
    """
    seen = standing.artifacts[-1].stamp
    chain = tuple(takewhile(lambda p: seen.later_than(p.stamp), standing.chain))
    gone = _taken_back(standing, chain)
    return PastVerdicts(
        standing.canonical_fingerprint,
        standing.context_hash,
        standing.input_bytes,
        tuple(
            PastVerdict(v, v.stamp.second, gone.get(v.id) if v.accepted else None, v.stamp.sequence)
            for v in standing.past_verdicts
            if _is_about_original(v, in_force(chain), gone)
            and seen.later_than(v.stamp)
            and not v.reason.startswith(NOT_TRIED)  # nothing ran: nothing is known
        ),
        standing.sizes,
        standing.similar_within,
    )


def _is_about_original(verdict: Verdict, held: Policy, gone: Collection[str]) -> bool:
    """Whether it tells how a policy compares with original, or was taken back, which is remembered too.

    A confirmation that fails takes the policy back. A part that could not be left out without a loss may still be worth
    trying by itself, once the combination is gone. So may what was better than a combination that is gone.
    """
    if verdict.confirms:
        return False
    return not verdict.leaves_out or (verdict.accepted and (verdict.counts_beside(held) or verdict.id in gone))


def _taken_back(standing: Standing, chain: Chain) -> dict[str, TakenBack]:
    """By verdict, from the generations that were there when these inputs were observed."""
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
