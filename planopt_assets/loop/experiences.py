"""What every query of the workload has shown about changes: who gained from which, with the plan it had as original."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planopt_assets.decide.explore.choice import Experience
from planopt_assets.decide.explore.plan_features import features_of
from planopt_assets.loop.histories import artifacts_of, grouped
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.verdict import NOT_TRIED, OBJECTIVE
from planopt_assets.model.workload_policy import WHOLE_WORKLOAD
from planopt_assets.promote.chain import taken_back
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, VERDICTS
from planopt_assets.store.codecs.observing import DETAILS
from planopt_assets.store.promotions import chains

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


def told_changes(snapshot: Snapshot, until: int) -> list[Told]:
    """The same without the plans, which are large."""
    newest: dict[tuple[str, Policy], Told] = {}
    for told in snapshot.once("told changes", lambda: _told(snapshot)):
        if told.sequence <= until:
            newest.pop((told.query_id, told.change), None)
            newest[told.query_id, told.change] = told.as_known(until)
    return list(newest.values())


@dataclass(frozen=True, slots=True)
class Told:
    """What one verdict says about a change: the share of a run that it saved, 0 where it was not accepted."""

    sequence: int
    query_id: str
    change: Policy
    saved: float
    refuted_at: int | None = None  # the number of the generation that took it back: later runs showed no gain

    def as_known(self, until: int) -> Told:
        """What rows up to a number say: nothing was saved by what was taken back by then."""
        return replace(self, saved=0.0) if self.refuted_at is not None and self.refuted_at <= until else self


def _experiences(snapshot: Snapshot, until: int) -> list[Experience]:
    plans = _plans_seen(snapshot, until)
    return [
        Experience(told.query_id, told.change, told.saved, plans[told.query_id])
        for told in told_changes(snapshot, until)
        if told.query_id in plans
    ]


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


def _told(snapshot: Snapshot) -> list[Told]:
    verdicts = [v for v in _verdicts(snapshot) if _tells(v)]
    before, refuted = _bases(snapshot, verdicts), _refuted(snapshot)
    found = []
    for verdict in verdicts:
        change = verdict.policy.beyond(before.get(verdict.candidate_id, ORIGINAL))
        if change.parts:
            saved, gone = _saved(verdict), refuted.get(verdict.id)
            found.append(Told(verdict.stamp.sequence, verdict.query_id, change, saved, gone))
    return found


def _verdicts(snapshot: Snapshot) -> list[Verdict]:
    return snapshot.once("all verdicts", lambda: snapshot.read(VERDICTS))


def _tells(verdict: Verdict) -> bool:
    """Whether it tells what a change brings a query: measured, and not only to confirm or to leave something out."""
    measured = verdict.outcome == "reject" or verdict.judgement.pairs > 0
    tried = not verdict.confirms and not verdict.leaves_out and verdict.query_id != WHOLE_WORKLOAD
    return measured and tried and not verdict.reason.startswith(NOT_TRIED)


def _bases(snapshot: Snapshot, verdicts: list[Verdict]) -> dict[str, Policy]:
    """By candidate, the accepted policy that it added to."""
    added = {v.candidate_id for v in verdicts if v.purpose == "add"}
    decided_by = {c.id: c.decision_ids for c in snapshot.read(CANDIDATES, candidate_id=added)}
    asked = {d for ids in decided_by.values() for d in ids}
    before = {d.id: d.policy_before for d in snapshot.read(DECISIONS, decision_id=asked)}
    return {candidate_id: before[ids[0]] for candidate_id, ids in decided_by.items() if ids and ids[0] in before}


def _refuted(snapshot: Snapshot) -> dict[str, int]:
    """By verdict, the generation with which automation took its policy back. What expired is not refuted."""
    gone = (item for chain in chains(snapshot).whole.values() for item in taken_back(chain).items())
    return {verdict_id: by.stamp.sequence for verdict_id, by in gone if by.state == "reverted"}


def _saved(verdict: Verdict) -> float:
    """The share of a run that a change saved, of what its baseline took. Nothing where it was not accepted.

    The gain of an addition is stored as compared with original. What it saved itself is what its own trials measured.

    Worked: a policy takes 2.1 s of CPU, and with an addition 1.68 s: the addition saves 0.2, whatever the policy saves.
    """
    if not verdict.proven or verdict.gain is None:
        return 0.0
    if verdict.against_original:
        return max(0.0, 1 - verdict.gain.ratio)
    told = next(c for c in verdict.judgement.criteria if c.name.startswith(OBJECTIVE))
    return max(0.0, 1 - told.candidate / told.baseline) if told.candidate and told.baseline else 0.0
