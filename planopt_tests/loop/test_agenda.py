"""What a run would do: the same as what it does, said before."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planopt_assets.loop.agenda import Agenda, agenda_of
from planopt_assets.loop.standing import Standing
from planopt_assets.report.diff import diff_facts
from planopt_tests.loop.test_standing import STANDINGS
from planopt_tests.promote.events import EXPIRED
from planopt_tests.rows import FEWER, OTHER, artifact, candidate, decision, nothing_beyond, promotion, standing, verdict

pytestmark = pytest.mark.fast

MEASURED = json.dumps({"modelled_cpu_ns": 3_000_000_000, "runs_per_day": 24.0})


def agenda(*standings: Standing) -> Agenda:
    """Of queries that are all decided on, or not observed: nothing has to be read from a store."""
    by_id = {s.query_id: s for s in standings}
    nothing: Any = None
    return agenda_of(nothing, nothing, by_id, list(by_id))


def needs(found: Standing) -> dict[str, str]:
    (item,) = agenda(found).items
    return {s.stage: s.need for s in item.steps}


def proposed(**others: Any) -> dict[str, Any]:
    return decision(arithmetic=MEASURED, **others)


KNOWN = {
    name: found
    for name, (found, *_) in STANDINGS.items()
    if name not in ("observed, not decided yet", "proposed, not planned yet", "planned, not tried yet")
}


@pytest.mark.parametrize("found", KNOWN.values(), ids=KNOWN)
def test_there_is_something_to_do_exactly_where_a_query_is_not_settled(found: Standing) -> None:
    (item,) = agenda(found).items
    assert item.to_do is not found.settled


def test_a_query_never_seen_is_observed_and_the_rest_depends_on_it() -> None:
    assert needs(standing(artifacts=[])) == {
        "observe": "needed",
        "decide": "depends",
        "replan": "depends",
        "validate": "depends",
        "promote": "depends",
    }


def test_why_a_query_is_observed_again_is_what_changed() -> None:
    (item,) = agenda(standing(artifacts=[], changes=("sales v5 -> v6",))).items
    assert item.steps[0].why == "changed: sales v5 -> v6"


def test_a_proposal_is_planned_and_a_candidate_is_tried() -> None:
    planned = needs(standing(decisions=[proposed()]))
    assert (planned["decide"], planned["replan"], planned["validate"]) == ("done", "needed", "depends")
    tried = needs(standing(decisions=[proposed()], candidates=[candidate()]))
    assert (tried["replan"], tried["validate"]) == ("done", "needed")


def test_without_a_proposal_nothing_is_planned_or_tried() -> None:
    found = needs(standing(decisions=[decision("no_change")]))
    assert (found["replan"], found["validate"], found["promote"]) == ("off", "off", "off")


@pytest.mark.parametrize(("mode", "need"), [("auto", "needed"), ("advise", "off"), ("observe", "off")])
def test_what_was_accepted_is_promoted_in_auto_only(mode: str, need: str) -> None:
    decisions = [proposed(), nothing_beyond()]
    found = standing(decisions=decisions, candidates=[candidate()], verdicts=[verdict()], mode=mode)
    assert needs(found)["promote"] == need


def test_the_best_promise_is_tried_first_and_the_order_is_shown() -> None:
    small = standing(decisions=[proposed(expected_gain_cpu_ns=10**8)], candidates=[candidate()], query_id="small")
    large = standing(decisions=[proposed(expected_gain_cpu_ns=10**9)], candidates=[candidate()], query_id="large")
    settled = standing(decisions=[decision("no_change")], query_id="settled")
    found = agenda(settled, small, large)
    assert found.queries == ["large", "small"]
    assert [(q["id"], q["order"]) for q in found.facts()] == [("settled", None), ("small", 2), ("large", 1)]
    assert found.priority == 24  # 1 s x 24 x 30 days over 30 s of trial


def test_statistics_nobody_had_halve_the_rank() -> None:
    def rank(source: str) -> float:
        seen = [artifact(statistics_source=source)]
        return agenda(standing(seen, decisions=[proposed()], candidates=[candidate()])).items[0].promise.rank

    assert rank("none") == rank("plan") / 2 > 0


# planopt diff


def test_the_diff_is_that_of_the_policy_in_force_before_any_other() -> None:
    planned = [candidate(FEWER), candidate(OTHER, diff="-a\n+b")]
    found = standing(decisions=[proposed()], candidates=planned, verdicts=[verdict(FEWER)], active=promotion(OTHER))
    facts = diff_facts(found, planned)
    assert (facts["role"], facts["policy_id"], facts["diff"]) == ("active", OTHER.id, "-a\n+b")


def test_else_of_the_accepted_one_else_of_the_first_that_changes_the_plan() -> None:
    planned = [candidate(FEWER, kept=False), candidate(OTHER)]
    accepted = diff_facts(standing(candidates=planned, verdicts=[verdict(FEWER)]), planned)
    tried = diff_facts(standing(candidates=planned), planned)
    assert (accepted["role"], accepted["policy_id"]) == ("accepted", FEWER.id)
    assert (tried["role"], tried["policy_id"]) == ("candidate", OTHER.id)


def test_without_a_candidate_there_is_only_the_original() -> None:
    facts = diff_facts(standing([artifact(edits=["predicate: a < 24 -> a < 25"])]), [])
    assert (facts["role"], facts["policy"], facts["diff"]) == ("original", "original", "")
    assert facts["edits"] == ["predicate: a < 24 -> a < 25"]


def test_a_policy_that_should_go_is_to_do_whatever_was_accepted() -> None:
    for left in ({"due": EXPIRED}, {"unlinked": True}):
        in_force = {"decisions": [decision("no_change")], "active": promotion(FEWER), "mode": "advise"}
        assert needs(standing(**in_force))["promote"] == "done"
        assert needs(standing(**in_force, **left))["promote"] == "needed"
