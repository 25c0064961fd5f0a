"""What every query of the store has shown about changes: who gained from which, with the plan it had as original."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.decide.explore.choice import Experience
from planopt_assets.decide.explore.plan_features import features_of
from planopt_assets.loop.histories import artifacts_of, grouped
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.verdict import NOT_TRIED
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, VERDICTS
from planopt_assets.store.codecs.observing import DETAILS

if TYPE_CHECKING:
    from planopt_assets.decide.explore.plan_features import PlanFeatures
    from planopt_assets.model.policy import Policy
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.store.snapshot import Snapshot


def newest_verdict(snapshot: Snapshot) -> int:
    """The number up to which a decision that is taken now knows verdicts; asked again later, it knows no more."""
    return max((v.stamp.sequence for v in _verdicts(snapshot)), default=0)


def experiences(snapshot: Snapshot, until: int) -> list[Experience]:
    """Of each query and change, what the newest verdict up to a number says; oldest first."""
    return snapshot.once(f"experiences until {until}", lambda: _experiences(snapshot, until))


def _verdicts(snapshot: Snapshot) -> list[Verdict]:
    return snapshot.once("all verdicts", lambda: snapshot.read(VERDICTS))


def _plans_seen(snapshot: Snapshot, until: int) -> dict[str, PlanFeatures]:
    """The plan of every query as original, as it was last observed before a number."""
    known = [a for a in artifacts_of(snapshot, None) if a.captured and a.stamp.sequence <= until]
    newest = {
        query_id: [a.observation_id for a in seen if a.input_fingerprint == seen[-1].input_fingerprint]
        for query_id, seen in grouped(known, lambda a: a.query_id).items()
    }
    asked = {o for observations in newest.values() for o in observations}
    signals = {d.observation_id: d.signals for d in snapshot.read(DETAILS, observation_id=asked)}
    found = {q: [s for o in sorted(set(seen)) if (s := signals.get(o)) is not None] for q, seen in newest.items()}
    return {query_id: features_of(told) for query_id, told in found.items() if told}


def _experiences(snapshot: Snapshot, until: int) -> list[Experience]:
    told = [v for v in _verdicts(snapshot) if v.stamp.sequence <= until and _tells(v)]
    before, plans = _bases(snapshot, told), _plans_seen(snapshot, until)
    found: dict[tuple[str, Policy], Experience] = {}
    for verdict in told:
        base = before.get(verdict.candidate_id, ORIGINAL)
        change = verdict.policy.beyond(base)
        if verdict.query_id not in plans or not change.parts:
            continue
        found.pop((verdict.query_id, change), None)
        saved = _saved(verdict, base, told)
        found[verdict.query_id, change] = Experience(verdict.query_id, change, saved, plans[verdict.query_id])
    return list(found.values())


def _tells(verdict: Verdict) -> bool:
    """Whether it tells what a change brings: it was measured, and not only to confirm or to leave something out."""
    measured = verdict.outcome == "reject" or verdict.judgement.pairs > 0
    return measured and not verdict.confirms and not verdict.leaves_out and not verdict.reason.startswith(NOT_TRIED)


def _bases(snapshot: Snapshot, verdicts: list[Verdict]) -> dict[str, Policy]:
    """By candidate, the accepted policy that it added to."""
    added = {v.candidate_id for v in verdicts if v.purpose == "add"}
    decided_by = {c.id: c.decision_ids for c in snapshot.read(CANDIDATES, candidate_id=added)}
    asked = {d for ids in decided_by.values() for d in ids}
    before = {d.id: d.policy_before for d in snapshot.read(DECISIONS, decision_id=asked)}
    return {candidate_id: before[ids[0]] for candidate_id, ids in decided_by.items() if ids and ids[0] in before}


def _saved(verdict: Verdict, base: Policy, verdicts: list[Verdict]) -> float:
    """The share of a run that a change saved, of what its baseline took. Nothing where it was not accepted.

    Worked: a policy takes 0.7 of original, and with an addition 0.56. The addition alone takes 0.8, so it saves 0.2.
    """
    if not verdict.proven or verdict.gain is None:
        return 0.0
    same = (v for v in verdicts if v.query_id == verdict.query_id and v.policy == base and v.proven and v.gain)
    held = [v.gain.ratio for v in same if v.gain and v.input_fingerprint == verdict.input_fingerprint]
    return max(0.0, 1 - verdict.gain.ratio / (held[-1] if held else 1.0))
