"""What is tried once no rule has anything left: options that helped queries with similar plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.decide.decide import Asked
from planopt_assets.decide.explore.explore import Known, explore
from planopt_assets.decide.explore.options import options_for
from planopt_assets.decide.explore.plan_features import features_of
from planopt_assets.loop.decisions import decisions_for, evidence_for, history_of, not_looked_at
from planopt_assets.loop.experiences import experiences, newest_verdict
from planopt_assets.model.decision import EXPLORE
from planopt_assets.store.codecs.observing import DETAILS
from planopt_assets.validate.error_budget import budget_left

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.decision import Decision
    from planopt_assets.model.evidence import Evidence
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot


def next_decisions(workload: Workload, snapshot: Snapshot, standing: Standing) -> tuple[Decision, ...]:
    """What decide answers now: the rules about the policy that the round starts from, or after them one option."""
    if standing.rounds.to_explore:
        return (exploration_for(workload, snapshot, standing, standing.base),)
    return decisions_for(workload, snapshot, standing, standing.base)


def exploration_for(
    workload: Workload, snapshot: Snapshot, standing: Standing, base: Verdict | None, again: Decision | None = None
) -> Decision:
    """The next option from the policy that a round starts from. A stored decision, asked `again`, is the same one."""
    evidence, now = evidence_for(workload, snapshot, standing, base)
    if evidence is None:
        assert base is not None
        return not_looked_at(standing, base, rule=EXPLORE)
    until = newest_verdict(snapshot) if again is None else again.known_until
    seen = snapshot.read(DETAILS, observation_id={a.observation_id for a in standing.artifacts})
    explored = [d for d in standing.decisions if d.explores and d.policy_before == evidence.policy]
    earlier = explored if again is None else explored[: [d.id for d in explored].index(again.id)]
    own = [v for v in standing.past_verdicts if v.stamp.sequence <= until]
    budgets = workload.budgets
    known = Known(
        features=features_of([d.signals for d in seen if d.signals is not None]),
        experiences=[e for e in experiences(snapshot, until) if e.query_id != standing.query_id],
        explored=[d.policy_after for d in earlier],
        dropped=_dropped(standing, evidence) if again is None else again.options_dropped,
        trials=budget_left(own, standing.canonical_fingerprint).looked,
        until=until,
        seconds=budgets.explore * budgets.per_run,
        seed=workload.seed,
    )
    asked = Asked(evidence, workload.knobs, history_of(standing, base, until), now)
    return explore(asked, known)


def _dropped(standing: Standing, evidence: Evidence) -> tuple[str, ...]:
    """Options that were planned for this query before, on whatever inputs, and changed nothing."""
    gone = {one.policy for one in standing.policies if one.state == "dropped"}
    return tuple(name for name, p in options_for(evidence).items() if evidence.policy.merged(p) in gone)
