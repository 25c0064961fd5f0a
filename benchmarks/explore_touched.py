"""What of a run each option touches, for the replay of stored trials: half of it is what exploration trusts it with.

Where an option was chosen, its stored decision tells. Decisions of an older planopt tell the expected share alone: it
is the trust, then all that is touched, and the trials of others that were known. Worked: 13 % were expected, with one
trial on the same plan that saved 30 %. Trust counts as two trials, so it was (3 x 13 % - 30 %) / 2 = 4.5 %. Where a
rule proposed what an option sets too, it is calculated from the observation of the query as original.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace

from planopt_assets.decide.explore.choice import TRUST_COUNTS, Experience
from planopt_assets.decide.explore.options import OPTIONS, touched_by
from planopt_assets.decide.explore.plan_features import PlanFeatures, features_of, similarity
from planopt_assets.loop.cost_models import environment_of, prices_of
from planopt_assets.loop.experiences import experiences
from planopt_assets.loop.histories import artifacts_of, grouped
from planopt_assets.model.decision import Decision
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.signals import Signals
from planopt_assets.observe.evidence import evidence_of
from planopt_assets.store.codecs.deciding import DECISIONS
from planopt_assets.store.codecs.observing import DETAILS, EXECUTIONS
from planopt_assets.store.prices import stored_prices
from planopt_assets.store.snapshot import Snapshot

Touched = Mapping[tuple[str, Policy], float]
"""By query and change: the share of a run that the change touches. Only of changes that are an option."""


def stored_touched(snapshot: Snapshot) -> Touched:
    """Of everything in a store that an option sets."""
    decisions = grouped(snapshot.read(DECISIONS), lambda d: d.query_id)
    found: dict[tuple[str, Policy], float] = {}
    for query_id, evidence in _observed(snapshot, decisions).items():
        shares, features = touched_by(evidence), _features(evidence)
        found |= {(query_id, option.policy(evidence)): shares[option.name] for option in OPTIONS}
        for chosen in decisions.get(query_id, []):
            if chosen.explores and chosen.proposes:
                change = chosen.policy_after.beyond(chosen.policy_before)
                known = [e for e in experiences(snapshot, chosen.known_until) if e.query_id != query_id]
                found[query_id, change] = _touched(chosen, change, features, known)
    return found


def _touched(chosen: Decision, change: Policy, features: PlanFeatures, known: Iterable[Experience]) -> float:
    """As the decision says; else what is left of the expected share without the trials of others."""
    facts = dict(chosen.arithmetic)
    if "touched_share" in facts:
        return float(facts["touched_share"])
    told = [(similarity(features, e.features), e.saved) for e in known if e.change == change]
    share = float(facts["expected_share"])
    weight = TRUST_COUNTS + sum(w for w, _ in told)
    return max(0.0, (share * weight - sum(w * saved for w, saved in told)) / TRUST_COUNTS)


def _observed(snapshot: Snapshot, decisions: Mapping[str, Sequence[Decision]]) -> dict[str, Evidence]:
    """The newest observation of every query as original, with the prices that its decisions went by."""
    captured = grouped([a for a in artifacts_of(snapshot, None) if a.captured], lambda a: a.query_id)
    newest = {q: [a for a in seen if a.stamp.run_id == seen[-1].stamp.run_id] for q, seen in captured.items()}
    asked = {a.observation_id for seen in newest.values() for a in seen}
    details = {d.observation_id: d for d in snapshot.read(DETAILS, observation_id=asked)}
    executions = {e.id: e for e in snapshot.read(EXECUTIONS, execution_id=asked)}
    # Decisions of older versions name models of another kind, which are not read.
    known = {None, *(p.id for p in stored_prices(snapshot))}
    found = {}
    for query_id, seen in newest.items():
        if all(a.observation_id in executions and details[a.observation_id].signals for a in seen):
            first = (d for d in decisions.get(query_id, ()) if d.policy_before == ORIGINAL and d.prices_id in known)
            evidence = evidence_of(seen, details, executions, runs_per_day=1.0)
            here = environment_of(evidence, seen[-1])
            found[query_id] = replace(evidence, prices=prices_of(snapshot, first, here))
    return found


def _features(evidence: Evidence) -> PlanFeatures:
    return features_of([Signals(**{f.name: getattr(e, f.name) for f in fields(Signals)}) for e in evidence.executions])
