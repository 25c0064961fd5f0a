"""Why a query ended as it did: every stored step that led there, as one object."""

from __future__ import annotations

import json

import pytest

from planopt_assets.report.standing_facts import standing_facts
from planopt_assets.report.why import why_facts
from planopt_tests.rows import FEWER, candidate, decision, promotion, standing, verdict

pytestmark = pytest.mark.fast

CRITERIA = [
    {"name": "tasks", "passed": True, "baseline": 100.0, "candidate": 40.0, "threshold": "at most 2 x", "note": ""}
]
JUDGED = verdict(FEWER, criteria=json.dumps(CRITERIA), error_available=0.03, error_spent=0.0135)
ACCEPTED = standing(decisions=[decision()], candidates=[candidate()], verdicts=[JUDGED], past_verdicts=[JUDGED])


def test_why_starts_with_where_the_query_stands() -> None:
    facts = why_facts(ACCEPTED)
    assert standing_facts(ACCEPTED).items() <= facts.items()
    assert facts["in_force"] == "original"


def test_why_names_the_policy_in_force_with_its_generation() -> None:
    assert why_facts(standing(decisions=[decision()], active=promotion(FEWER, generation=3)))["in_force"] == (
        "generation 3: shuffle.partitions=2"
    )


def test_why_holds_every_decision_with_its_arithmetic() -> None:
    assert why_facts(ACCEPTED)["decisions"] == [
        {
            "id": decision().id,
            "rule": "right_size_shuffle",
            "beyond": "",
            "kind": "proposal",
            "reason": "the largest shuffle is small",
            "arithmetic": {"saving_cpu_ns_per_run": 480_000_000},
        }
    ]


def test_why_holds_every_candidate_with_what_changes_in_its_plan() -> None:
    assert why_facts(ACCEPTED)["candidates"] == [
        {
            "id": candidate().id,
            "policy": "shuffle.partitions=2",
            "kept": True,
            "reason": "the plan changes",
            "diff": "-Exchange hashpartitioning 200\n+Exchange hashpartitioning 2",
        }
    ]


def test_why_holds_every_verdict_with_its_criteria() -> None:
    assert why_facts(ACCEPTED)["verdicts"] == [
        {
            "id": f"ver-run-q-{FEWER.id[4:]}",
            "policy": "shuffle.partitions=2",
            "outcome": "accept",
            "reason": "the reason for accept",
            "pairs": 9,
            "error_available": 0.03,
            "error_spent": 0.0135,
            "error_words": "error 1.35% of 3%",
            "criteria": CRITERIA,
        }
    ]


def test_why_tells_what_is_left_of_the_error_budget() -> None:
    facts = why_facts(ACCEPTED)
    assert facts["error_budget"] == {"whole": 0.05, "spent": 0.0135, "trials": 1, "next_trial": pytest.approx(0.01)}
    assert facts["error_budget_words"] == "1.35% of 5% spent in 1 trial, the next one may err in 1%"


def test_a_verdict_from_before_there_was_a_budget_tells_nothing_about_it() -> None:
    older = why_facts(standing(verdicts=[verdict(FEWER)], past_verdicts=[verdict(FEWER)]))
    assert older["verdicts"][0]["error_words"] == ""
    assert older["error_budget"]["trials"] == 0


def test_why_is_plain_data() -> None:
    facts = why_facts(ACCEPTED)
    assert json.loads(json.dumps(facts)) == facts
