"""The generated store is one that planopt would have written: settled, promoted in part, and without a failing gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.store_scale.__main__ import main
from benchmarks.store_scale.generate import STAGES, generate
from benchmarks.store_scale.measure import Cost, ratios
from planopt_assets.decide.rules import RULES
from planopt_assets.loop.gates import CHECKS, evaluate
from planopt_assets.loop.run import read_standings
from planopt_assets.model.workload import Workload
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.workload import load_workload
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast

QUERIES, OBSERVATIONS = 3, 2


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    return load_workload(generate(tmp_path_factory.mktemp("store_scale"), QUERIES, OBSERVATIONS))


def test_every_query_is_settled_and_some_have_a_policy_in_force(workload: Workload) -> None:
    standings = read_standings(workload)
    assert {q: s.settled for q, s in standings.items()} == dict.fromkeys(["q0000", "q0001", "q0002"], True)
    assert {q: s.active.generation if s.active else 0 for q, s in standings.items()} == {
        "q0000": 1,
        "q0001": 0,
        "q0002": 1,
    }
    assert {q: s.outcome for q, s in standings.items()} == {
        "q0000": "accept",  # carried over from the first night
        "q0001": "no_change",  # rejected on the first night, and remembered
        "q0002": "accept",
    }


def test_no_gate_fails(workload: Workload) -> None:
    ids = [q.id for q in workload.queries]
    gates = evaluate(ids, Snapshot(workload.store, workload.name), read_standings(workload))
    assert {name: [q for q, gate in answers.items() if not gate.passed] for name, answers in gates.items()} == {
        name: [] for name in CHECKS
    }


def test_each_night_adds_what_a_night_of_planopt_adds(workload: Workload) -> None:
    reader = StoredRows(workload.store, workload.name)
    rows = {table: reader.table(table).num_rows for tables in STAGES.values() for table in tables}
    nights = QUERIES * OBSERVATIONS
    assert rows["plan_artifacts"] == nights
    beyond = 2 * OBSERVATIONS  # two queries have an accepted policy, which is asked about as well
    explored = nights  # in each, one decision tells that nothing is left to explore
    assert rows["policy_decisions"] == (nights + beyond) * len(RULES) + explored
    tried = QUERIES + 2  # the second night confirms what was promoted; later ones remember
    assert rows["verdicts"] == tried
    assert rows["trials"] == tried * 7
    assert rows["active_policies"] == 2
    production = [r for r in reader.rows("runtime_counters", ["purpose"]) if r["purpose"] == "production"]
    assert len(production) == 2 * OBSERVATIONS
    assert min(rows.values()) > 0


def test_the_same_seed_gives_the_same_ids_wherever_the_folder_is(workload: Workload, tmp_path: Path) -> None:
    other = load_workload(generate(tmp_path, QUERIES, OBSERVATIONS))
    for table, column in (("plan_artifacts", "input_fingerprint"), ("lineage", "child_id"), ("trials", "trial_id")):
        before, after = (StoredRows(w.store, w.name).rows(table, [column]) for w in (workload, other))
        assert before == after


def test_another_seed_gives_other_queries(workload: Workload, tmp_path: Path) -> None:
    other = load_workload(generate(tmp_path, QUERIES, 1, seed=7))
    assert all(a.sql != b.sql for a, b in zip(workload.queries, other.queries, strict=True))


def test_ratios_are_of_the_first_checkout_to_the_second() -> None:
    costs = [Cost("status", "here", 1.0, 0.5, 100.0, 1), Cost("status", "against", 4.0, 1.0, 100.0, 1)]
    assert ratios(costs, "here", "against") == [{"command": "status", "wall_s": 0.25, "cpu_s": 0.5, "peak_mib": 1.0}]


def test_a_measurement_tells_what_a_command_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--queries", "1", "--observations", "2", "--rounds", "1", "--commands", "check"]
    assert main([*sizes, "--folder", str(tmp_path), "--json"]) == 0
    (cost,) = json.loads(capsys.readouterr().out)["sizes"][0]["costs"]
    assert (cost["command"], cost["tree"], cost["rounds"]) == ("check", "here", 1)
    assert min(cost["wall_s"], cost["cpu_s"], cost["peak_mib"]) > 0


def test_a_store_on_which_there_is_work_to_do_is_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = generate(tmp_path / "1x1", 1, 1)
    (file.parent / "queries" / "q0000.sql").write_text("SELECT 1", encoding="utf-8")
    arguments = ["--queries", "1", "--observations", "1", "--folder", str(tmp_path), "--reuse"]
    assert main(arguments) == 1
    assert "finds work to do on this store" in capsys.readouterr().err
