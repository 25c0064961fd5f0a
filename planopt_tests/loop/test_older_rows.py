"""What makes inputs other inputs since schema version 6, and how rows from before it go on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, propose
from planopt_assets.loop.decisions import decisions_for
from planopt_assets.loop.run import read_standings
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.steps import planned_steps
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.workload import Query, Table, Workload
from planopt_assets.promote.transitions import Accept, next_generation
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, VERDICTS
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.rows import FEWER
from planopt_tests.store.written import WrittenStore

pytestmark = pytest.mark.fast

SQL = Query("q", sql="SELECT shop, count(*) AS n FROM sales GROUP BY shop", runs_per_day=24)
PYTHON = Query("q", python="daily:build", runs_per_day=24)
HELPERS = "def least():\n    return 5\n"


@pytest.fixture
def written(tmp_path: Path) -> WrittenStore:
    commit(tmp_path)
    (tmp_path / "daily.py").write_text("import helpers\n")
    (tmp_path / "helpers.py").write_text(HELPERS)
    tables = (Table("sales", str(tmp_path / "sales")),)
    file, store = tmp_path / "planopt.yaml", str(tmp_path / "store")
    return WrittenStore(Workload("demo", file, store, tables, (SQL,), master="local[2]", allow_python=True))


@pytest.fixture(autouse=True)
def one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(evidence: Evidence) -> Answer:
        return propose(dict(FEWER.settings), "because", saved_cpu_ns=480_000_000, arithmetic={"n": 1})

    monkeypatch.setattr(decide_module, "RULES", (("any_rule", rule),))


@pytest.fixture(autouse=True)
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put this Java, or none, on the machine; 17.0.15 to begin with."""

    def installed(version: str) -> None:
        home = tmp_path / f"java-{version}"
        (home / "bin").mkdir(parents=True, exist_ok=True)
        if version:
            (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
            (home / "bin" / "java").chmod(0o755)
            (home / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
        monkeypatch.setenv("JAVA_HOME", str(home))

    installed("17.0.15")
    return installed


def commit(folder: Path, table: str = "sales") -> None:
    rows = pa.table({"shop": pa.array([1, 2], pa.int64()), "amount": pa.array([1.0, 2.0])})
    write_deltalake(folder / table, rows, mode="append")


def diverge(folder: Path) -> None:
    """The table is replaced by a copy that got a commit of its own after version 0."""
    shutil.copytree(folder / "sales", folder / "copy")
    commit(folder, "sales")
    commit(folder, "copy")


def swap(folder: Path) -> None:
    shutil.rmtree(folder / "sales")
    (folder / "copy").rename(folder / "sales")


def standing(written: WrittenStore, query: Query = SQL) -> Standing:
    return read_standings(replace(written.workload, queries=(query,)))["q"]


def reason(written: WrittenStore, query: Query) -> str:
    snapshot = Snapshot(written.workload.store, "demo")
    (decision,) = decisions_for(replace(written.workload, queries=(query,)), snapshot, standing(written, query))
    return decision.reason


# Tables


def test_a_diverged_copy_of_a_table_is_another_input(written: WrittenStore, tmp_path: Path) -> None:
    diverge(tmp_path)
    written.observe(SQL, "r1")
    assert standing(written).observed
    swap(tmp_path)
    found = standing(written)
    assert not found.observed
    assert found.changes == ("sales is another copy of the table: its v1 has another commit",)


def test_a_true_copy_in_another_place_is_the_same_input(written: WrittenStore, tmp_path: Path) -> None:
    written.observe(SQL, "r1")
    shutil.move(tmp_path / "sales", tmp_path / "moved")
    moved = replace(written.workload, tables=(Table("sales", str(tmp_path / "moved")),))
    assert read_standings(moved)["q"].observed


# Java


def test_another_release_of_java_re_opens_a_query_and_another_patch_does_not(
    written: WrittenStore, java: Callable[[str], None]
) -> None:
    written.observe(SQL, "r1", engine="delta 4.4.0, java 17.0.15, spark 4.2.0")
    java("17.0.16")
    assert standing(written).observed
    java("21.0.2")
    found = standing(written)
    assert not found.observed
    assert found.changes == ("settings, budgets or versions of Java, Spark, Delta or planopt",)


def test_who_only_reads_needs_no_java(written: WrittenStore, java: Callable[[str], None]) -> None:
    written.observe(SQL, "r1", engine="delta 4.4.0, java 17.0.15, spark 4.2.0")
    java("")
    assert standing(written).observed


# Rows of an older planopt


def test_after_the_upgrade_only_the_policy_in_force_is_tried_once_more(written: WrittenStore) -> None:
    inputs = written.observe(SQL, "r1", older=True)
    for decision in decisions_for(written.workload, Snapshot(written.workload.store, "demo"), standing(written)):
        written.append("policy_decisions", DECISIONS.to_row(decision), run_id="r1")
    candidate = Candidate("q", FEWER, (decision.id,), True, "", "", "pln_2", "top_2", inputs)
    written.append("candidate_plans", CANDIDATES.to_row(candidate), run_id="r1")
    verdict_id = written.judge(standing(written), FEWER, "accept", "r1", candidate_id=candidate.id)
    (verdict,) = Snapshot(written.workload.store, "demo").read(VERDICTS)
    event = Accept(verdict_id, verdict.candidate_id, inputs, (verdict,))
    chain = (next_generation("demo", "q", (), event),)
    written.promote(chain, "r1")
    found = standing(written)
    assert found.input_fingerprint == inputs
    assert (found.outcome, found.active, found.due) == ("accept", chain[0], None)
    steps = planned_steps(found)
    assert [step.need for step in steps[:4]] == ["done", "needed", "depends", "needed"]
    (beyond,) = decisions_for(written.workload, Snapshot(written.workload.store, "demo"), found, found.base)
    assert beyond.kind == "cannot_tell"  # its trials do not tell the plan: nothing else is planned
    assert steps[3].why.startswith("generation 1 is to be confirmed, step 1 of 2")


def test_a_policy_in_force_does_not_expire_when_its_query_is_first_observed_again(
    written: WrittenStore, tmp_path: Path
) -> None:
    inputs = written.observe(SQL, "r1", older=True)
    verdict_id = written.judge(standing(written), FEWER, "accept", "r1")
    (verdict,) = Snapshot(written.workload.store, "demo").read(VERDICTS)
    event = Accept(verdict_id, verdict.candidate_id, inputs, (verdict,))
    written.promote((next_generation("demo", "q", (), event),), "r1")
    commit(tmp_path)
    assert not standing(written).observed
    written.observe(SQL, "r2")
    found = standing(written)
    assert (found.observed, found.due, found.active and found.active.policy) == (True, None, FEWER)
    assert reason(written, SQL).startswith("accepted before on similar inputs")  # so no trial


def test_what_an_older_row_does_not_know_counts_as_unchanged(written: WrittenStore, tmp_path: Path) -> None:
    diverge(tmp_path)
    written.observe(SQL, "r1", older=True)
    swap(tmp_path)
    assert standing(written).observed


def test_once_the_heads_are_known_an_older_row_says_nothing_any_more(written: WrittenStore, tmp_path: Path) -> None:
    diverge(tmp_path)
    written.observe(SQL, "r1", older=True)
    written.observe(SQL, "r2")
    swap(tmp_path)
    assert not standing(written).observed


def test_a_new_version_is_noticed_after_an_older_row(written: WrittenStore, tmp_path: Path) -> None:
    written.observe(SQL, "r1", older=True)
    commit(tmp_path)
    found = standing(written)
    assert (found.observed, found.changes) == (False, ("sales v0 -> v1",))


@pytest.mark.parametrize(
    ("engine", "observed"),
    [("delta 4.4.0, java 17.0.9, spark 4.2.0", True), ("delta 4.4.0, java 11.0.2, spark 4.2.0", False), ("", True)],
)
def test_an_older_row_tells_its_java_if_it_knows_it(written: WrittenStore, engine: str, observed: bool) -> None:
    written.observe(SQL, "r1", engine=engine, older=True)
    assert standing(written).observed is observed


# Modules of a Python query


def test_a_helper_that_changed_re_opens_its_query_and_its_spelling_does_not(
    written: WrittenStore, tmp_path: Path
) -> None:
    written.observe(PYTHON, "r1")
    (tmp_path / "helpers.py").write_text(f"# why\n{HELPERS}")
    assert standing(written, PYTHON).observed
    (tmp_path / "helpers.py").write_text(HELPERS.replace("5", "6"))
    found = standing(written, PYTHON)
    assert (found.observed, found.changes) == (False, ("its modules or its parameters",))


def test_a_python_query_of_an_older_planopt_stays_as_it_was(written: WrittenStore) -> None:
    inputs = written.observe(PYTHON, "r1", older=True)
    found = standing(written, PYTHON)
    assert (found.observed, found.input_fingerprint) == (True, inputs)


def test_its_verdicts_count_until_a_helper_changes(written: WrittenStore, tmp_path: Path) -> None:
    written.observe(PYTHON, "r1", older=True)
    verdict = written.judge(standing(written, PYTHON), FEWER, "reject", "r1")
    commit(tmp_path)
    written.observe(PYTHON, "r2")
    assert reason(written, PYTHON) == f"rejected before: the reason for reject ({verdict})"
    (tmp_path / "helpers.py").write_text(HELPERS.replace("5", "6"))
    written.observe(PYTHON, "r3")
    assert reason(written, PYTHON) == "because"
