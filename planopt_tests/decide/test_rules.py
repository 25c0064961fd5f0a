"""What every rule decides, case by case: `fixtures/<rule>/<case>.yaml` holds the evidence and the decision expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_assets.decide.decide import decide
from planopt_assets.decide.rules import RULES
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_tests.decide.cases import FIXTURES, evidence_of, limits_of, load
from planopt_tests.fresh_python import ROOT

pytestmark = pytest.mark.fast

CASES = sorted(FIXTURES.glob("*/*.yaml"))


@pytest.mark.parametrize("file", CASES, ids=[f"{f.parent.name}-{f.stem}" for f in CASES])
def test_a_rule_decides_as_its_fixture_says(file: Path) -> None:
    case = load(file)
    expect = case["expect"]
    decisions = decide(evidence_of(case["evidence"]), limits_of(case.get("limits", {})))
    (decision,) = [d for d in decisions if d.rule == file.parent.name]
    wanted = Policy.of(expect.get("settings"), hints=expect.get("hints", ()), rewrites=expect.get("rewrites", ()))
    assert (decision.kind, decision.policy_after) == (expect["kind"], wanted)
    assert expect["reason"] in decision.reason
    assert decision.expected_gain_cpu_ns == expect.get("expected_gain_cpu_ns", 0)
    arithmetic = dict(decision.arithmetic)
    assert {name: arithmetic[name] for name in expect["arithmetic"]} == expect["arithmetic"]


@pytest.mark.parametrize("rule", [name for name, _ in RULES])
def test_every_rule_has_fixtures_that_propose_and_fixtures_that_do_not(rule: str) -> None:
    kinds = [load(file)["expect"]["kind"] for file in CASES if file.parent.name == rule]
    assert len(kinds) >= 6
    assert set(kinds) - {"cannot_tell"} == {"proposal", "no_change"}


@pytest.mark.parametrize("rule", [name for name, _ in RULES])
def test_every_rule_is_tried_on_tables_with_its_problem_and_beside_them_on_a_query_without(rule: str) -> None:
    text = (ROOT / "planopt_tests" / "e2e" / f"test_{rule}.py").read_text("utf-8")
    assert ".accepted(" in text
    assert ".left_alone(" in text


def test_no_fixture_is_left_of_a_rule_that_is_gone() -> None:
    assert {file.parent.name for file in CASES} <= {name for name, _ in RULES}


@pytest.mark.parametrize("file", CASES, ids=[f"{f.parent.name}-{f.stem}" for f in CASES])
def test_only_a_proposal_expects_a_gain_and_another_policy(file: Path) -> None:
    case = load(file)
    for decision in decide(evidence_of(case["evidence"]), limits_of(case.get("limits", {}))):
        proposes = decision.kind == "proposal"
        assert (decision.policy_after != ORIGINAL) == proposes
        by_the_clock = dict(decision.arithmetic).get("saving_wall_ns_per_run", 0)  # where the objective is latency
        assert (decision.expected_gain_cpu_ns > 0 or (proposes and by_the_clock > 0)) == proposes
