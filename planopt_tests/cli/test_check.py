"""`planopt check`: every gate for every query on what is stored; exit code 3 is a severe failure or no evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planopt_assets.loop.gates import CHECKS
from planopt_assets.model.policy import Policy
from planopt_tests.cli.conftest import Planopt
from planopt_tests.cli.stored_observations import (
    HASH_JOIN,
    SORT_JOIN,
    fail_by_hand,
    observe_by_hand,
    write,
)
from planopt_tests.cli.test_cli import NO_JAVA
from planopt_tests.cli.test_cli import planopt as planopt_process
from planopt_tests.promoted import chain, promote_by_hand

pytestmark = pytest.mark.fast

ALL_OF_BOTH = 2 * len(CHECKS)


def failed(facts: Any) -> list[tuple[str, str, bool]]:
    return [(g["gate"], g["query"], g["severe"]) for g in facts["gates"] if g["observed"] and not g["passed"]]


def plan_changes(folder: Path, query: str = "by_shop", **columns: Any) -> None:
    """Another join than before; without `columns`, on the same inputs, settings and engine."""
    observe_by_hand(folder, f"r1-{query}", HASH_JOIN, query)
    observe_by_hand(folder, f"r2-{query}", SORT_JOIN, query, **columns)


def test_before_anything_was_observed_no_gate_passes(planopt: Planopt) -> None:
    said = planopt("check")
    assert (said.code, said.err) == (3, "")
    header, *rows, count = said.out.splitlines()
    assert header.split() == ["gate", "query", "severity", "why"]
    assert [" ".join(row.split()) for row in rows] == [
        f"every gate {query} - not observed: the query never ran" for query in ("by_shop", "cities")
    ]
    assert count == f"0 of {ALL_OF_BOTH} gates passed, {ALL_OF_BOTH} not observed ({', '.join(CHECKS)})"


def test_who_says_so_may_have_gates_without_evidence(folder: Path, planopt: Planopt) -> None:
    said = planopt("check", "--allow-unobserved")
    assert (said.code, said.out.splitlines()[-1]) == (0, planopt("check").out.splitlines()[-1])
    plan_changes(folder)
    assert planopt("check", "--allow-unobserved").code == 3


def test_json_says_which_gates_have_no_evidence(folder: Path, planopt: Planopt) -> None:
    observe_by_hand(folder, "r1", HASH_JOIN)
    said = planopt("check", "--json")
    assert said.code == 3
    assert {(g["query"], g["observed"], g["passed"], g["severe"]) for g in said.facts["gates"]} == {
        ("by_shop", True, True, False),
        ("cities", False, False, False),
    }


def test_the_same_plan_again_passes(folder: Path, planopt: Planopt) -> None:
    for run in ("r1", "r2"):
        observe_by_hand(folder, run, HASH_JOIN, bundle_hash="bun_1")
    said = planopt("check", "by_shop")
    assert (said.code, said.out.split(" ")[0]) == (0, str(len(CHECKS)))


def test_a_severe_failure_is_exit_code_3_and_says_what_to_do(folder: Path, planopt: Planopt) -> None:
    plan_changes(folder)
    said = planopt("check", "by_shop")
    assert said.code == 3
    header, row, count = said.out.splitlines()
    assert header.split() == ["gate", "query", "severity", "why"]
    assert row.split()[:3] == ["plan_topology_stable", "by_shop", "error"]
    assert row.rstrip().endswith("(canonical); accept it with `planopt accept by_shop`")
    assert count.startswith(f"{len(CHECKS) - 1} of {len(CHECKS)} gates passed (")


def test_so_it_is_for_a_process_without_java(folder: Path) -> None:
    plan_changes(folder)
    done = planopt_process("check", cwd=folder, env=NO_JAVA)
    assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"snapshot_hash": "snp_2"}, "the plan changed after inputs or settings did (stable)"),
        ({"planning_env_hash": "env_2"}, "the plan changed after inputs or settings did (stable)"),
    ],
)
def test_a_failure_that_is_not_severe_is_shown_and_is_exit_code_0(
    folder: Path, planopt: Planopt, columns: dict[str, str], words: str
) -> None:
    plan_changes(folder, **columns)
    said = planopt("check", "by_shop")
    assert said.code == 0
    row = said.out.splitlines()[1]
    assert row.split()[:3] == ["plan_topology_stable", "by_shop", "warn"]
    assert row.rstrip().endswith(words)
    assert failed(planopt("check", "by_shop", "--json").facts) == [("plan_topology_stable", "by_shop", False)]


def test_a_severe_one_among_others_is_exit_code_3(folder: Path, planopt: Planopt) -> None:
    plan_changes(folder, snapshot_hash="snp_2")
    observation = observe_by_hand(folder, "r3", HASH_JOIN, "cities")
    scan = {"table": "shops", "table_version": 3, "native": True, "outcome": "pushdown_missed", "finding": "a cast"}
    write(folder, "r4", {"scan_outcomes": [{"query_id": "cities", "observation_id": observation, **scan}]})
    said = planopt("check", "--json")
    assert said.code == 3
    assert failed(said.facts) == [
        ("plan_topology_stable", "by_shop", False),
        ("pushdown_effective", "cities", False),
        ("native_scan", "cities", True),  # read at a version that nobody pinned
    ]


def test_a_policy_in_force_without_a_verdict_is_severe(folder: Path, planopt: Planopt) -> None:
    promote_by_hand(str(folder / "store"), *chain("cities", Policy.of({"spark.sql.shuffle.partitions": "2"})))
    said = planopt("check", "--json")
    assert said.code == 3
    assert failed(said.facts) == [("not_regressed", "cities", True)]


def test_json_has_every_answer_with_its_details(folder: Path, planopt: Planopt) -> None:
    plan_changes(folder)
    said = planopt("check", "--json")
    assert said.code == 3
    assert said.facts.keys() == {"workload", "gates"}
    gates = said.facts["gates"]
    assert [(g["gate"], g["query"]) for g in gates] == [(n, q) for n in CHECKS for q in ("by_shop", "cities")]
    stable = gates[0]
    told = {"gate", "query", "passed", "severe", "words", "details", "numbers", "observed", "compared", "run_id"}
    assert stable.keys() == told
    assert stable["compared"].keys() == {"expected", "found", "threshold"}
    assert f"-{HASH_JOIN}" in stable["details"].replace(" ", "")
    assert f"+{SORT_JOIN}" in stable["details"].replace(" ", "")


def test_only_the_queries_asked_for_are_looked_at(folder: Path, planopt: Planopt) -> None:
    plan_changes(folder)
    observe_by_hand(folder, "r1", HASH_JOIN, "cities")
    said = planopt("check", "cities")
    assert said.code == 0
    assert said.out.startswith(f"{len(CHECKS)} of {len(CHECKS)} gates passed")
    assert {g["query"] for g in planopt("check", "cities", "--json").facts["gates"]} == {"cities"}
    assert planopt("check", "by_shop").code == 3
    assert planopt("check", "cities", "by_shop").code == 3


def test_a_query_that_failed_has_nothing_to_look_at(folder: Path, planopt: Planopt) -> None:
    fail_by_hand(folder, "r1")
    said = planopt("check", "by_shop", "--json")
    assert said.code == 3
    assert said.facts["gates"][0]["words"] == "not observed: the query failed (PLN-207)"


@pytest.mark.parametrize("words", [["by_shap"], ["cities", "by_shap"]])
def test_an_unknown_query_is_an_error_and_no_answer(planopt: Planopt, words: list[str]) -> None:
    said = planopt("check", *words)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("PLN-501")
    assert "did you mean 'by_shop'?" in said.err
    assert planopt("check", *words, "--json").facts["error"]["code"] == "PLN-501"
