"""`planopt accept`: a person takes a changed plan as the one to keep; from then on the gate compares with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planopt_tests.cli.conftest import Planopt
from planopt_tests.cli.stored_observations import (
    HASH_JOIN,
    SORT_JOIN,
    fail_by_hand,
    observe_by_hand,
)
from planopt_tests.cli.test_cli import NO_JAVA, ok
from planopt_tests.cli.test_cli import planopt as planopt_process
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast


def accepted(folder: Path) -> list[dict[str, Any]]:
    return StoredRows(str(folder / "store"), "tests").rows("accepted_topologies")


@pytest.fixture
def changed(folder: Path) -> str:
    """The id of an observation with another plan than before, on the same inputs, settings and engine."""
    observe_by_hand(folder, "r1", HASH_JOIN)
    return observe_by_hand(folder, "r2", SORT_JOIN)


def stable(planopt: Planopt, query: str = "by_shop") -> tuple[int, bool, str]:
    """Exit code of `planopt check`, and what the gate says."""
    said = planopt("check", query, "--json")
    gate = said.facts["gates"][0]
    assert gate["gate"] == "plan_topology_stable"
    return said.code, gate["passed"], gate["words"]


def test_the_newest_plan_is_recorded_with_the_reason(folder: Path, planopt: Planopt, changed: str) -> None:
    said = planopt("accept", "by_shop", "--reason", "statistics rebuilt")
    assert (said.code, said.err) == (0, "")
    assert said.out == f"by_shop: the plan of {changed} is accepted\n"
    (row,) = accepted(folder)
    assert (row["workload"], row["query_id"], row["observation_id"]) == ("tests", "by_shop", changed)
    assert (row["topology_hashes"], row["reason"]) == ([f"top_{SORT_JOIN}"], "statistics rebuilt")
    assert row["run_id"]


def test_json_names_the_observation(folder: Path, planopt: Planopt, changed: str) -> None:
    said = planopt("accept", "by_shop", "--json")
    assert (said.code, said.facts) == (0, {"query": "by_shop", "accepted": changed})
    assert [row["reason"] for row in accepted(folder)] == [""]


def test_a_process_needs_no_java_for_it(folder: Path, changed: str) -> None:
    done = planopt_process("accept", "by_shop", "--json", cwd=folder, env=NO_JAVA)
    assert ok(done)["accepted"] == changed
    assert len(accepted(folder)) == 1


def test_the_gate_fails_before_and_passes_afterwards(folder: Path, planopt: Planopt, changed: str) -> None:
    code, passed, words = stable(planopt)
    assert (code, passed) == (3, False)
    assert words.endswith("accept it with `planopt accept by_shop`")
    planopt("accept", "by_shop")
    assert stable(planopt) == (0, True, "accepted")


def test_later_plans_are_compared_with_it(folder: Path, planopt: Planopt, changed: str) -> None:
    planopt("accept", "by_shop")
    observe_by_hand(folder, "r3", SORT_JOIN, bundle_hash="bun_r2")
    assert stable(planopt) == (0, True, "same plan as accepted, before and after execution")
    observe_by_hand(folder, "r4", HASH_JOIN, bundle_hash="bun_r2")
    assert stable(planopt)[:2] == (3, False)


def test_it_is_of_one_query_only(folder: Path, planopt: Planopt, changed: str) -> None:
    observe_by_hand(folder, "r3", HASH_JOIN, "cities")
    observe_by_hand(folder, "r4", SORT_JOIN, "cities")
    planopt("accept", "by_shop")
    assert stable(planopt, "cities")[:2] == (3, False)


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["text", "json"])
def test_an_unknown_query_is_refused(folder: Path, planopt: Planopt, changed: str, words: list[str]) -> None:
    said = planopt("accept", "by_shap", *words)
    assert said.code == 1
    message = said.facts["error"]["code"] if words else said.err
    assert message.startswith("PLN-501")
    assert accepted(folder) == []


def test_a_query_that_was_never_observed_is_refused(folder: Path, planopt: Planopt, changed: str) -> None:
    said = planopt("accept", "cities")
    assert (said.code, said.out) == (1, "")
    assert "there is no captured plan of this query" in said.err
    assert "planopt run cities" in said.err
    assert accepted(folder) == []


def test_a_query_whose_newest_observation_has_no_plan_is_refused(folder: Path, planopt: Planopt, changed: str) -> None:
    fail_by_hand(folder, "r3")
    said = planopt("accept", "by_shop")
    assert said.code == 1
    assert "there is no captured plan of this query" in said.err
    assert accepted(folder) == []


def test_a_query_must_be_named(planopt: Planopt) -> None:
    assert planopt("accept").code == 2
