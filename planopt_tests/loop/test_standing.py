"""Where a query stands: outcome, reason and what is left to do, from stored rows alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.loop.standing import Standing
from planopt_assets.model.conditions import Conditions
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import Gain
from planopt_assets.promote.transitions import Event
from planopt_assets.report.standing_facts import standing_facts
from planopt_tests.promote.events import EXPIRED, REGRESSED, ROLLED_BACK, accept, chain_of, fix, verdict_of
from planopt_tests.rows import (
    FEWER,
    OTHER,
    artifact,
    candidate,
    decision,
    nothing_beyond,
    promotion,
    standing,
    verdict,
)

pytestmark = pytest.mark.fast

DROPPED = candidate(kept=False)


def tried(*verdicts: Any, **others: Any) -> Standing:
    """A query with proposals, candidates and these verdicts."""
    candidates = [candidate(FEWER), candidate(OTHER)][: max(1, len(verdicts))]
    beyond = [nothing_beyond(v.policy) for v in verdicts if v.accepted]
    return standing(decisions=[decision(), *beyond], candidates=candidates, verdicts=list(verdicts), **others)


NOTHING_FITS = standing(decisions=[decision("no_change")])

STANDINGS: dict[str, tuple[Standing, str, str, bool]] = {  # standing, outcome, reason, settled
    "never observed": (standing(artifacts=[]), "not_run", "not run on these inputs yet", False),
    "refused by the gate": (
        standing(artifacts=[artifact("refused")], decisions=[decision("cannot_tell")]),
        "refused",
        "PLN-101 query q: `INSERT` writes",
        True,
    ),
    "failed while observed": (
        standing(artifacts=[artifact("failed")], decisions=[decision("cannot_tell")]),
        "cannot_tell",
        "PLN-207 query q: no space",
        False,  # it may pass next time
    ),
    "observed, not decided yet": (standing(), "not_run", "observed, but not decided on yet", False),
    "only observed, because the mode says so": (
        standing(mode="observe"),
        "no_change",
        "the workload's mode is observe: planopt only looks",
        True,
    ),
    "nothing to propose": (NOTHING_FITS, "no_change", "the reason for no_change", True),
    "proposed, not planned yet": (
        standing(decisions=[decision()]),
        "not_run",
        "the largest shuffle is small",
        False,
    ),
    "planned, and the plan stays the same": (
        standing(decisions=[decision()], candidates=[DROPPED]),
        "no_change",
        "dropped: plan and partitioning stay the same",
        True,
    ),
    "planned, not tried yet": (
        standing(decisions=[decision()], candidates=[candidate()]),
        "not_run",
        "the largest shuffle is small",
        False,
    ),
    "accepted": (tried(verdict(outcome="accept")), "accept", "the reason for accept", True),
    "rejected": (tried(verdict(outcome="reject")), "reject", "the reason for reject", True),
    "inconclusive": (tried(verdict(outcome="inconclusive")), "inconclusive", "the reason for inconclusive", True),
    "one rejected, one accepted": (
        tried(verdict(FEWER, "reject"), verdict(OTHER, "accept")),
        "accept",
        "the reason for accept",
        True,
    ),
    "one rejected, one inconclusive": (
        tried(verdict(FEWER, "reject"), verdict(OTHER, "inconclusive")),
        "inconclusive",
        "the reason for inconclusive",
        True,
    ),
}


@pytest.mark.parametrize(("found", "outcome", "reason", "settled"), STANDINGS.values(), ids=STANDINGS)
def test_a_query_stands_at(found: Standing, outcome: str, reason: str, settled: bool) -> None:
    assert (found.outcome, found.reason, found.settled) == (outcome, reason, settled)


@pytest.mark.parametrize(("found", "outcome"), [(s, o) for s, o, _, _ in STANDINGS.values()], ids=STANDINGS)
def test_only_an_accepted_verdict_is_to_be_promoted(found: Standing, outcome: str) -> None:
    assert (found.to_promote is not None) == (outcome == "accept")


# Reasons


def test_of_several_decisions_the_one_nearest_to_a_proposal_says_why_there_is_none() -> None:
    small = decision("no_change", arithmetic='{"saving_cpu_ns_per_run": 1000}', reason="not worth a trial")
    assert standing(decisions=[decision("no_change"), small, decision("no_change")]).reason == "not worth a trial"


def test_a_binding_that_failed_speaks_for_the_query() -> None:
    mixed = standing(artifacts=[artifact(), artifact("failed", binding=1)])
    assert (mixed.captured, mixed.outcome, mixed.reason) == (False, "cannot_tell", "PLN-207 query q: no space")


# What is left to do


def test_a_candidate_without_a_verdict_is_still_to_be_tried() -> None:
    half = standing(
        decisions=[decision()], candidates=[candidate(FEWER), candidate(OTHER)], verdicts=[verdict(FEWER, "reject")]
    )
    assert ([c.policy for c in half.unjudged], half.settled) == ([OTHER], False)


def test_accepted_by_themselves_two_policies_are_planned_together_in_the_next_pass() -> None:
    third = Policy.of({"spark.sql.files.maxPartitionBytes": "1048576"})
    decisions = [decision(policy=p) for p in (FEWER, OTHER, third)]
    whole = FEWER.merged(OTHER).merged(third)
    tried = {FEWER: "accept", OTHER: "accept", third: "reject", whole: "reject"}
    found = standing(
        decisions=decisions,
        candidates=[candidate(p) for p in tried],
        verdicts=[verdict(p, outcome) for p, outcome in tried.items()],
    )
    assert (found.replanned, found.settled) == (False, False)
    pair = FEWER.merged(OTHER)
    done = replace(
        found, candidates=[*found.candidates, candidate(pair)], verdicts=[*found.verdicts, verdict(pair, "reject")]
    )
    assert (done.decided, done.base) == (False, done.best)  # of both, the policy to go on from
    assert done.best is not None
    asked = replace(done, decisions=[*done.decisions, nothing_beyond(done.best.policy)])
    assert (asked.replanned, asked.settled, asked.outcome) == (True, True, "accept")


def test_a_verdict_carried_over_from_similar_inputs_counts_like_one_on_these() -> None:
    decisions = [decision("no_change"), nothing_beyond(FEWER)]
    carried = standing(decisions=decisions, carried=[verdict(FEWER)], mode="auto")
    assert (carried.outcome, carried.settled) == ("accept", False)  # it is to be promoted
    assert standing_facts(carried)["carried_over"]
    in_force = replace(carried, chain=(promotion(FEWER),))
    assert (in_force.settled, in_force.to_promote) == (True, None)


def test_a_refused_query_that_is_only_looked_at_is_settled() -> None:
    assert standing(artifacts=[artifact("refused")], mode="observe").settled


def test_a_dropped_candidate_is_not_to_be_tried() -> None:
    assert standing(decisions=[decision()], candidates=[DROPPED]).unjudged == []


def test_in_auto_an_accepted_policy_is_not_settled_until_it_is_in_force() -> None:
    waiting = tried(verdict(FEWER), mode="auto")
    promoted = tried(verdict(FEWER), mode="auto", active=promotion(FEWER))
    assert (waiting.settled, promoted.settled) == (False, True)


def test_in_advise_an_accepted_policy_waits_for_a_person() -> None:
    waiting = tried(verdict(FEWER), mode="advise")
    assert waiting.settled
    assert waiting.to_promote is not None


def test_an_accepted_policy_that_is_in_force_is_not_promoted_again() -> None:
    assert tried(verdict(FEWER), active=promotion(FEWER)).to_promote is None


def test_an_accepted_policy_takes_the_place_of_another_in_force() -> None:
    found = tried(verdict(FEWER), active=promotion(OTHER)).to_promote
    assert found is not None
    assert found.policy == FEWER


def test_of_two_accepted_policies_the_one_with_the_best_proven_gain_is_promoted() -> None:
    # The second looks better on average, and less is proven of it.
    proven = verdict(FEWER, gain_ratio=0.70, gain_high=0.75)
    lucky = verdict(OTHER, gain_ratio=0.60, gain_high=0.90)
    found = tried(lucky, proven).to_promote
    assert found == proven


def after(*events: Event, **others: Any) -> Standing:
    chain = chain_of(*events)
    return tried(verdict_of(FEWER), chain=chain, **{"mode": "auto", **others})


@pytest.mark.parametrize("policy", [OTHER, ORIGINAL], ids=["another policy", "original"])
def test_while_a_pin_stands_nothing_is_promoted(policy: Policy) -> None:
    pinned = after(fix(policy))
    assert (pinned.to_promote, pinned.promotable(by_hand=True), pinned.settled) == (None, None, True)


def test_a_verdict_whose_policy_was_taken_back_is_not_promoted_again() -> None:
    for end in (REGRESSED, ROLLED_BACK, EXPIRED):
        assert (after(accept(FEWER), end).to_promote, after(accept(FEWER), end).settled) == (None, True)


def test_a_person_may_promote_again_what_expired_or_was_rolled_back_but_not_what_got_worse() -> None:
    again = {end: after(accept(FEWER), end).promotable(by_hand=True) for end in (REGRESSED, ROLLED_BACK, EXPIRED)}
    assert {end: found is not None for end, found in again.items()} == {
        REGRESSED: False,
        ROLLED_BACK: True,
        EXPIRED: True,
    }


def test_the_next_best_verdict_is_promoted_when_the_best_one_is_spent() -> None:
    chain = chain_of(accept(FEWER), REGRESSED)
    second = verdict_of(OTHER, gain_high=0.95)
    found = tried(verdict_of(FEWER), second, chain=chain)
    assert (found.best, found.to_promote) == (verdict_of(FEWER), second)


@pytest.mark.parametrize(("mode", "settled"), [("auto", False), ("advise", False), ("observe", True)])
def test_a_policy_that_should_go_is_not_settled_unless_planopt_only_looks(mode: str, settled: bool) -> None:
    assert after(accept(FEWER), mode=mode, due=EXPIRED).settled is settled


def test_a_promotion_without_its_lineage_is_not_settled() -> None:
    assert (after(accept(FEWER)).settled, after(accept(FEWER), unlinked=True).settled) == (True, False)


# What is shown


def test_the_gain_is_that_of_the_verdict_the_outcome_rests_on() -> None:
    found = tried(verdict(FEWER, "reject", gain_ratio=1.5), verdict(OTHER))
    assert found.gain == Gain("cpu", 0.7, 0.6, 0.8, 0.92)
    assert found.policy == OTHER


def test_a_verdict_without_a_measured_gain_shows_none() -> None:
    assert tried(verdict(outcome="inconclusive")).gain is None


def test_where_nothing_was_tried_the_policy_is_the_one_in_force() -> None:
    assert NOTHING_FITS.policy == ORIGINAL
    assert standing(decisions=[decision("no_change")], active=promotion(FEWER)).policy == FEWER


def test_the_facts_of_a_query_are_one_flat_object() -> None:
    assert standing_facts(tried(verdict(FEWER), active=promotion(OTHER))) == {
        "id": "q",
        "outcome": "accept",
        "reason": "the reason for accept",
        "results_equal": True,
        "policy_id": FEWER.id,
        "policy": {"settings": {"spark.sql.shuffle.partitions": "2"}, "hints": [], "rewrites": []},
        "gain": {"metric": "cpu", "ratio": 0.7, "low": 0.6, "high": 0.8, "confidence": 0.92},
        "active_policy": {"settings": {"spark.sql.files.openCostInBytes": "65536"}, "hints": [], "rewrites": []},
        "active_policy_id": OTHER.id,
        "depends_on_cores": ["spark.sql.shuffle.partitions"],
        "generation": 1,
        "state": "accepted",
        "state_reason": "cpu -30%",
        "conditions": Conditions().facts(),
        "not_applied": None,
        "due": None,
        "confirmation": None,
        "error_budget": {"whole": 0.05, "spent": 0.0, "trials": 0, "next_trial": 0.03},
        "policies": [],
        "promotion_id": "pro-q-g1",
        "verdict_id": f"ver-run-q-{FEWER.id[4:]}",
        "carried_over": False,
        "observation_ids": ["obs-run-q-b0"],
        "plan_fingerprints": ["pln_1"],
        "topology_hashes": ["top_1"],
        "decision_ids": [decision().id, nothing_beyond(FEWER).id],
    }


def test_the_facts_hold_whole_policies() -> None:
    hinted, rewritten = Policy.of(hints=["broadcast(join0.right g)"]), Policy.of(rewrites=["cnf"])
    facts = standing_facts(tried(verdict(hinted), active=promotion(rewritten)))
    assert facts["policy"] == {"settings": {}, "hints": ["broadcast(join0.right g)"], "rewrites": []}
    assert facts["active_policy"] == {"settings": {}, "hints": [], "rewrites": ["cnf"]}


def test_the_facts_of_a_query_that_never_ran_say_so() -> None:
    facts = standing_facts(standing(artifacts=[]))
    assert (facts["outcome"], facts["gain"], facts["verdict_id"], facts["generation"]) == ("not_run", None, None, 0)
    assert facts["active_policy_id"] == ORIGINAL.id
