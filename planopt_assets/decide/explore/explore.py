"""One step of exploration: the most promising option that is allowed, new and worth a trial, as a decision. Pure.

It comes after the rules, once nothing of theirs is open. Its decision passes the same veto, history and materiality,
and is stored in the same table. So replan, validate and promote see a proposal like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from planopt_assets.decide.answer import Answer, no_change, propose
from planopt_assets.decide.critical_path import gain_bound
from planopt_assets.decide.decide import Asked, objection_to_any, settle
from planopt_assets.decide.explore.choice import Experience, Prospect, prospects
from planopt_assets.decide.explore.options import OPTIONS, options_for, touched_by
from planopt_assets.decide.explore.plan_features import PlanFeatures
from planopt_assets.decide.prices import query_cpu_ns
from planopt_assets.model.decision import DROPPED, EXPLORE, SEPARATOR, Decision
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import Policy

TRIAL_EXECUTIONS = 7  # a first run and three pairs must fit into what a run has for exploration
LEAST_SHARE = 0.05  # of a run: the judge mostly gives up a smaller gain after its third pair
MOST_TRIALS = 8  # of a query's life that looked at clocks; from then on a gain of 15 % is mostly missed


Facts = dict[str, int | float | str]


@dataclass(frozen=True, slots=True)
class Known:
    """What exploration knows beside the evidence, from rows up to a number that the decision names."""

    features: PlanFeatures  # of the query as original
    experiences: Sequence[Experience]  # of the other queries
    explored: Collection[Policy]  # proposed before from the same policy, on the same inputs
    dropped: Collection[str]  # options that changed no plan of this query, by name
    trials: int  # of this query that looked at clocks
    until: int  # the highest sequence among the verdicts that were read
    seconds: float  # that a run has for exploration
    seed: int


def explore(asked: Asked, known: Known) -> Decision:
    """The proposal of one option, or why there is none to try any more."""
    facts: Facts = {"known_until": known.until, "options": len(OPTIONS), DROPPED: SEPARATOR.join(known.dropped)}
    if words := objection_to_any(asked.evidence) or _no_room(asked, known):
        return settle(EXPLORE, no_change(f"nothing to explore: {words}", facts), asked)
    fitting = options_for(asked.evidence)
    base = asked.evidence.policy
    new = {
        name: policy
        for name, policy in fitting.items()
        if base.merged(policy) not in known.explored and name not in known.dropped
    }
    ranked = prospects(
        new,
        known.features,
        known.experiences,
        touched=touched_by(asked.evidence),
        seed=known.seed,
        query_id=asked.evidence.query_id,
    )
    refused = []
    for prospect in ranked:
        found = settle(EXPLORE, _answer(prospect, asked, facts), asked)
        if found.proposes:
            return found
        refused.append(found)
    facts |= {"options_that_fit": len(fitting), "options_explored": len(fitting) - len(new)}
    words = f"of {len(OPTIONS)} options {len(fitting)} fit the plan, {len(fitting) - len(new)} were explored"
    words += "".join(f"; {f.reason}" for f in refused[:1])
    return settle(EXPLORE, no_change(f"nothing left to explore: {words}", facts), asked)


def trial_s(evidence: Evidence) -> float:
    """Seconds that the trial of an option takes: decide and validate both ask whether it fits into a run."""
    return TRIAL_EXECUTIONS * sum(e.counters.wall_ns for e in evidence.executions) / 1e9


def _no_room(asked: Asked, known: Known) -> str:
    evidence = asked.evidence
    needed_s = trial_s(evidence)
    if evidence.objective == "bytes":
        return "no option reads fewer bytes, which is the objective"
    if known.trials >= MOST_TRIALS:
        return f"{known.trials} trials have spent nearly all of the query's error budget"
    if needed_s > known.seconds:
        return f"a trial takes about {needed_s:.0f} s, and `budgets.explore` leaves {known.seconds:.0f} s of a run"
    return ""


def _answer(prospect: Prospect, asked: Asked, facts: Facts) -> Answer:
    evidence = asked.evidence
    expected = f"{prospect.name}; {prospect.words}, and is expected to save {prospect.share:.1%}"
    if prospect.share < LEAST_SHARE:
        return no_change(f"not worth a trial: {expected}, below {LEAST_SHARE:.0%}", facts)
    wall = gain_bound(evidence, ()).modelled_wall_ns
    return propose(
        dict(prospect.policy.settings),
        f"explored: {expected}",
        saved_cpu_ns=round(prospect.share * query_cpu_ns(evidence)),
        saved_wall_ns=round(prospect.share * wall),
        arithmetic={
            **facts,
            "option": prospect.name,
            "touched_share": prospect.touched,
            "expected_share": prospect.share,
            "tried_by_queries": prospect.tried,
            "helped_queries": prospect.helped,
        },
    )
