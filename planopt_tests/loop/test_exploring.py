"""When an option beyond the rules is chosen, what others have shown about it, and when there is an end to it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.decide.explore.options import options_for
from planopt_assets.loop.agenda import agenda_of
from planopt_assets.loop.experiences import experiences, newest_verdict
from planopt_assets.loop.exploring import exploration_for, next_decisions
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.standings import _rounds
from planopt_assets.loop.steps import step
from planopt_assets.model.decision import Decision
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.signals import Signals
from planopt_assets.model.stamp import Stamp
from planopt_assets.model.workload import Budgets, Query, Workload
from planopt_assets.promote.lifecycle import Lifecycle
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, VERDICTS
from planopt_assets.store.codecs.forms import dumped
from planopt_tests.decide.cases import WORKED
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.promote.events import REGRESSED, accept, chain_of, fix, verdict_of
from planopt_tests.promoted import chain, promotion_row
from planopt_tests.rows import FEWER, OTHER, artifact, candidate, decision, nothing_beyond, standing, stored, verdict

pytestmark = pytest.mark.fast

NOTHING = decision("no_change")
OPTION = decision(policy=OTHER, rule="explore", arithmetic=json.dumps({"known_until": 5}))
ENDED = decision("no_change", rule="explore", arithmetic=json.dumps({"known_until": 5}))


def quiet(**others: Any) -> Standing:
    """A query of which no rule wants anything, in a workload that explores."""
    return standing(**{"decisions": [NOTHING], "explores": True, **others})


# When


def test_once_the_rules_have_nothing_left_an_option_is_chosen() -> None:
    found = quiet()
    assert (found.rounds.to_explore, found.settled) == (True, False)
    assert step(found, "decide").need == "needed"
    assert not standing(decisions=[NOTHING]).rounds.to_explore  # the workload file leaves no time for it


@pytest.mark.parametrize(
    "others",
    [
        {"mode": "observe"},
        {"decisions": []},
        {"decisions": [decision()]},
        {"decisions": [decision()], "candidates": [candidate()]},
        {"artifacts": [artifact("failed")]},
        {"chain": chain_of(fix(OTHER))},
        {"suspended": "sales has grown"},
    ],
    ids=["only looks", "not decided", "not planned", "not tried", "failed", "pinned", "suspended"],
)
def test_nothing_is_explored_while_something_else_is_open(others: dict[str, Any]) -> None:
    assert not quiet(**others).rounds.to_explore


def test_an_option_is_planned_and_tried_like_a_proposal_of_a_rule() -> None:
    chosen = quiet(decisions=[NOTHING, OPTION])
    assert (chosen.rounds.to_explore, step(chosen, "replan").need) == (False, "needed")
    planned = replace(chosen, candidates=[candidate(OTHER)])
    assert (planned.rounds.exploring, step(planned, "validate").need) == (True, "needed")


@pytest.mark.parametrize("outcome", ["reject", "inconclusive"])
def test_after_one_that_brought_nothing_the_next_one_has_its_turn(outcome: str) -> None:
    tried = quiet(decisions=[NOTHING, OPTION], candidates=[candidate(OTHER)], verdicts=[verdict(OTHER, outcome)])
    assert (tried.rounds.to_explore, tried.rounds.exploring) == (True, False)
    assert quiet(decisions=[NOTHING, OPTION], candidates=[candidate(OTHER, kept=False)]).rounds.to_explore


def test_once_none_is_left_the_query_is_settled() -> None:
    found = quiet(decisions=[NOTHING, ENDED])
    assert (found.rounds.to_explore, found.settled) == (False, True)


def test_after_an_accept_the_rules_are_asked_first_and_then_it_goes_on_from_there() -> None:
    tried = quiet(decisions=[NOTHING, OPTION], candidates=[candidate(OTHER)], verdicts=[verdict(OTHER)])
    assert (tried.base_policy, tried.decided, tried.rounds.to_explore) == (OTHER, False, False)
    asked = replace(tried, decisions=[*tried.decisions, nothing_beyond(OTHER)])
    assert (asked.base_policy, asked.rounds.to_explore) == (OTHER, True)


def test_after_a_revert_no_option_is_chosen_that_would_never_be_planned() -> None:
    tried = {"decisions": [decision()], "candidates": [candidate()], "verdicts": [verdict_of(FEWER)]}
    found = quiet(**tried, chain=chain_of(accept(FEWER), REGRESSED))
    assert (found.base, found.rounds.to_explore, found.settled) == (None, False, True)
    stuck = replace(found, decisions=[*found.decisions, OPTION])  # as it was chosen by an older planopt
    assert (stuck.settled, step(stuck, "replan").need) == (True, "done")


def test_what_is_open_by_a_rule_has_the_whole_budget() -> None:
    assert not quiet(decisions=[decision()], candidates=[candidate()]).rounds.exploring


def test_options_of_earlier_runs_stay_beside_the_last_answers_of_the_rules() -> None:
    def by(run_id: str, one: Decision) -> Decision:
        return replace(one, stamp=Stamp(run_id))

    told = [by("r1", decision()), by("r1", OPTION), by("r2", NOTHING), by("r2", ENDED)]
    assert [(d.stamp.run_id, d.rule) for d in _rounds(told)] == [
        ("r2", "right_size_shuffle"),
        ("r1", "explore"),
        ("r2", "explore"),
    ]


# What is known

SIGNALS = dumped(asdict(Signals(exchanges=WORKED.executions[0].exchanges)))


def seen(query_id: str = "q", sequence: int = 1) -> dict[str, Any]:
    return stored(
        "plan_artifacts",
        query_id=query_id,
        observation_id=f"obs-run-{query_id}-b0",
        binding=0,
        status="captured",
        query_fingerprint="qry_1",
        input_fingerprint="inp_1",
        settings=dumped(dict(WORKED.settings)),
        signals=SIGNALS,
        sequence=sequence,
    )


def judged(query_id: str, policy: Policy, outcome: str = "accept", sequence: int = 2, **others: Any) -> dict[str, Any]:
    row = VERDICTS.to_row(verdict(policy, outcome, query_id=query_id, **others))
    return stored("verdicts", **row, sequence=sequence)


def store(*verdicts: dict[str, Any], **tables: list[dict[str, Any]]) -> MemorySnapshot:
    (execution,) = WORKED.executions
    counted = stored("runtime_counters", execution_id="obs-run-q-b0", **asdict(execution.counters))
    known = {"plan_artifacts": [seen("q"), seen("other"), seen("third")], "runtime_counters": [counted]}
    return MemorySnapshot(verdicts=list(verdicts), **{**known, **tables})


def test_a_verdict_tells_what_a_change_saved_and_one_that_was_not_accepted_that_it_saved_nothing() -> None:
    found = experiences(store(judged("other", FEWER), judged("third", FEWER, "reject")), 2)
    assert [(e.query_id, e.change, round(e.saved, 3)) for e in found] == [("other", FEWER, 0.3), ("third", FEWER, 0.0)]


@pytest.mark.parametrize(
    "row",
    [
        judged("other", FEWER, purpose="confirm"),
        judged("other", FEWER, purpose="leave_out"),
        judged("other", FEWER, "inconclusive", pairs=0),
        judged("other", FEWER, "inconclusive", reason="not tried by itself: it is part of another"),
        judged("other", FEWER, sequence=3),
        judged("unseen", FEWER),
    ],
    ids=["confirms", "leaves out", "not measured", "not tried", "stored later", "no plan"],
)
def test_other_verdicts_tell_nothing(row: dict[str, Any]) -> None:
    assert experiences(store(row), 2) == []


def test_the_newest_verdict_of_a_query_on_a_change_counts_once() -> None:
    (one,) = experiences(store(judged("other", FEWER), judged("other", FEWER, "reject", verdict_id="ver-2")), 2)
    assert one.saved == 0.0


@pytest.mark.parametrize(
    ("state", "sequence", "until", "saved"),
    [("reverted", 3, 3, 0.0), ("reverted", 4, 3, 0.3), ("expired", 3, 3, 0.3)],
    ids=["taken back", "taken back later", "expired"],
)
def test_what_was_taken_back_because_later_runs_showed_no_gain_saved_nothing(
    state: str, sequence: int, until: int, saved: float
) -> None:
    first, second = chain("other", FEWER, ORIGINAL, workload="demo", state=state)
    rows = [promotion_row(first, sequence=2), promotion_row(second, sequence=sequence)]
    told = store(judged("other", FEWER, verdict_id=first.verdict_id), active_policies=rows)
    assert [round(e.saved, 3) for e in experiences(told, until)] == [saved]


MEASURED = json.dumps(
    [
        {"name": "results_equal", "passed": True, "baseline": None, "candidate": None, "threshold": ""},
        {"name": "objective:cpu", "passed": True, "baseline": 2.1e9, "candidate": 1.68e9, "threshold": ""},
    ]
)


@pytest.mark.parametrize("first_on", ["inp_1", "inp_0"], ids=["on the same inputs", "carried over from similar ones"])
def test_an_addition_is_credited_with_what_it_saved_beyond_the_policy_it_was_added_to(first_on: str) -> None:
    both = FEWER.merged(OTHER)
    added = decision(policy=both, policy_before=FEWER.to_json(), query_id="other")
    planned = candidate(both, query_id="other", decision_ids=[added.id])
    first = judged("other", FEWER, input_fingerprint=first_on)
    second = judged("other", both, gain_ratio=0.56, purpose="add", candidate_id=planned.id, criteria=MEASURED)
    rows = store(
        first,
        second,
        candidate_plans=[stored("candidate_plans", **CANDIDATES.to_row(planned))],
        policy_decisions=[stored("policy_decisions", **DECISIONS.to_row(added))],
    )
    assert [(e.change, round(e.saved, 3)) for e in experiences(rows, 2)] == [(FEWER, 0.3), (OTHER, 0.2)]


# The decision

QUERY = Query("q", sql="SELECT 1", runs_per_day=24)
WORKLOAD = Workload("demo", Path("planopt.yaml"), "memory", (), (QUERY,), budgets=Budgets(explore=0.5))


def test_what_helped_another_query_with_the_same_plan_is_chosen() -> None:
    wanted = next(iter(options_for(WORKED).values()))
    rows = store(judged("other", wanted))
    (found,) = next_decisions(WORKLOAD, rows, quiet())
    assert (found.rule, found.kind, found.policy_before, found.policy_after) == (
        "explore",
        "proposal",
        ORIGINAL,
        wanted,
    )
    assert "it helped 1 of 1 queries that tried it" in found.reason
    assert dict(found.arithmetic)["known_until"] == newest_verdict(rows) == 2


def test_its_own_verdicts_are_history_and_no_experience() -> None:
    wanted = next(iter(options_for(WORKED).values()))
    (found,) = next_decisions(WORKLOAD, store(judged("q", wanted)), quiet())
    assert "no query tried it yet" in found.reason


def test_a_stored_choice_is_the_same_whatever_was_learned_since() -> None:
    first, second = list(options_for(WORKED).values())[:2]
    then = store(judged("other", first))
    chosen = next_decisions(WORKLOAD, then, quiet())[0]
    later = store(judged("other", first), judged("third", second, sequence=9, gain_ratio=0.1))
    found = quiet(decisions=[NOTHING, chosen], candidates=[candidate(chosen.policy_after, kept=False)])
    again = exploration_for(WORKLOAD, later, found, None, again=chosen)
    assert DECISIONS.to_row(again) == DECISIONS.to_row(chosen)
    (next_one,) = next_decisions(WORKLOAD, later, found)
    assert next_one.policy_after == second


def test_what_was_dropped_on_earlier_inputs_is_left_out_and_the_decision_says_so() -> None:
    first, second = list(options_for(WORKED))[:2]
    policies = options_for(WORKED)
    rows = store(judged("other", policies[first]), judged("third", policies[second], gain_ratio=0.8))
    gone = Lifecycle(policies[first], "dropped", "plan and partitioning stay the same")
    found = quiet(policies=(gone,))
    (chosen,) = next_decisions(WORKLOAD, rows, found)
    assert chosen.policy_after == policies[second]
    again = exploration_for(WORKLOAD, rows, replace(quiet(), decisions=[NOTHING, chosen]), None, again=chosen)
    assert DECISIONS.to_row(again) == DECISIONS.to_row(chosen)


def test_plan_foresees_what_run_will_explore() -> None:
    (item,) = agenda_of(WORKLOAD, store(), {"q": quiet()}, ["q"]).items
    assert [(s.stage, s.need) for s in item.steps[1:3]] == [("decide", "needed"), ("replan", "needed")]
    assert item.promise.gain_ns_per_run > 0
