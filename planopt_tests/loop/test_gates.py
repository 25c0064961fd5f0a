"""The gates by name: which rows each is asked of, and what comes back for every query."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from planopt_assets.loop.gates import CHECKS, evaluate
from planopt_assets.model.gate import Gate
from planopt_assets.store.schemas import TABLES
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.rows import FEWER, captured_row, scan_row, standing, verdict

pytestmark = pytest.mark.fast

OBSERVED = {
    "plan_topology_stable",
    "deterministic",
    "estimates_sane",
    "pushdown_effective",
    "native_scan",
    "protocol_compatible",
    "contract_kept",
}


def answers(gates: dict[str, dict[str, Gate]]) -> dict[str, dict[str, bool]]:
    return {name: {query: gate.passed for query, gate in found.items()} for name, found in gates.items()}


def test_every_gate_watches_a_table_of_the_store_and_asks_one_thing() -> None:
    for name, check in CHECKS.items():
        assert check.asset in TABLES, name
        assert (check.of_history is None) != (check.of_standing is None), name
        assert check.description.endswith("."), name


def test_the_gates_over_observations() -> None:
    assert {name for name, check in CHECKS.items() if check.of_history} == OBSERVED


def test_every_gate_answers_by_its_own_name() -> None:
    for name, check in CHECKS.items():
        gate = check.of_history or check.of_standing
        assert gate is not None
        assert gate.__name__ == name


def test_only_what_must_never_be_promoted_over_is_blocking() -> None:
    assert {name for name, check in CHECKS.items() if check.blocking} == {"results_equal", "not_regressed"}


def test_every_gate_is_asked_of_every_query() -> None:
    never = standing(artifacts=[])
    found = evaluate(["q", "r"], MemorySnapshot(), {"q": never, "r": never})
    assert found.keys() == CHECKS.keys()
    assert all(list(gates) == ["q", "r"] for gates in found.values())
    assert not any(gate.observed or gate.passed or gate.severe for gates in found.values() for gate in gates.values())


def test_each_query_is_judged_by_its_own_rows() -> None:
    artifacts = [captured_row("r1"), {**captured_row("r1"), "query_id": "r", "observation_id": "obs-r1-r-b0"}]
    scans = [scan_row(observation_id="obs-r1-r-b0", native=False)]
    wrong = standing(verdicts=[verdict(FEWER, outcome="reject", results_equal=False)])
    reader = MemorySnapshot(plan_artifacts=artifacts, scan_outcomes=scans)
    found = evaluate(
        ["q", "r"], reader, {"q": wrong, "r": standing()}, ["native_scan", "results_equal", "deterministic"]
    )
    assert answers(found) == {
        "native_scan": {"q": True, "r": False},
        "results_equal": {"q": False, "r": True},
        "deterministic": {"q": True, "r": True},
    }


@pytest.mark.parametrize(("names", "reads"), [(["results_equal", "not_regressed"], 0), (["native_scan"], 4), ([], 0)])
def test_observations_are_read_once_and_only_if_a_gate_looks_at_them(names: Sequence[str], reads: int) -> None:
    reader = MemorySnapshot()
    found = evaluate(["q"], reader, {"q": standing()}, names)
    assert list(found) == list(names)
    assert len(reader.asked) == len(set(reader.asked)) == reads
