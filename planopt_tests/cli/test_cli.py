"""`planopt` as people and scripts use it: real processes, real exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from planopt_assets import cli
from planopt_assets.loop.gates import CHECKS
from planopt_tests.conftest import make_tables, write_workload_file
from planopt_tests.stored_rows import StoredRows
from planopt_tests.without_java import NO_JAVA, without_java

PLANOPT = str(Path(sys.executable).parent / "planopt")

QUERIES = """\
  - {id: by_shop, sql: "SELECT shop, count(*) AS n FROM sales GROUP BY shop", runs_per_day: 1000}
  - {id: cities, sql: "SELECT city FROM shops WHERE shop = 3"}
  - {id: forbidden, sql: "DROP TABLE shops"}"""
SHORT = "budgets: {per_candidate: 3, per_query: 60, per_run: 300, explore: 0}"


def planopt(*words: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PLANOPT, *words], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def ok(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def here(*words: str, cwd: Path) -> Any:
    """The same command in this process, with the session of the suite: another process, and no other Spark to start."""
    done = CliRunner().invoke(cli.app, [*words, "--json", "-w", str(cwd / "planopt.yaml")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workload after `planopt run` in a process of its own."""
    folder = make_tables(tmp_path_factory.mktemp("cli") / "first")
    write_workload_file(folder, QUERIES, mode="advise", extra=SHORT)
    facts = ok(planopt("run", "--json", cwd=folder, env={**os.environ, "PYTHONHASHSEED": "4711"}))
    assert not facts["nothing_to_do"]
    return folder


@pytest.fixture(scope="module")
def ran_backwards(ran: Path, spark: SparkSession) -> Path:
    """The same after a run in the process of the suite, where Python hashes differently, with all in another order.

    Settings, queries and the files of the tables are listed the other way round.
    """
    folder = ran.with_name("backwards")
    for path in sorted(ran.joinpath("data").rglob("*"), reverse=True):
        if path.is_file():
            copy = folder / path.relative_to(ran)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    head, _, tail = (ran / "planopt.yaml").read_text().partition("  settings:\n")
    settings, _, rest = tail.partition("tables:\n")
    tables, _, rest = rest.partition("queries:\n")
    queries = rest.removesuffix(SHORT)
    backwards = ["\n".join(reversed(part.splitlines())) + "\n" for part in (settings, tables, queries)]
    text = f"{head}  settings:\n{backwards[0]}tables:\n{backwards[1]}queries:\n{backwards[2]}{SHORT}"
    assert text != (ran / "planopt.yaml").read_text()
    (folder / "planopt.yaml").write_text(text)
    assert not here("run", cwd=folder)["nothing_to_do"]
    return folder


@pytest.mark.e2e
def test_a_second_run_finds_nothing_to_do_and_needs_no_java(ran: Path) -> None:
    facts = ok(without_java("run", "--json", cwd=ran))
    assert facts["nothing_to_do"]
    assert facts["run_id"] is None
    text = planopt("run", cwd=ran, env=NO_JAVA)
    assert text.stdout.startswith("Nothing to do: queries, tables and settings are unchanged")


@pytest.mark.e2e
def test_two_processes_give_the_same_ids(ran: Path, ran_backwards: Path) -> None:
    first, second = (
        {q["id"]: q for q in ok(without_java("status", "--json", cwd=folder))["queries"]}
        for folder in (ran, ran_backwards)
    )
    assert set(first) == set(second)
    for query in first:
        for name in ("plan_fingerprints", "topology_hashes"):
            assert first[query][name] == second[query][name], (query, name)
        # Clocks decide whether the first policy is accepted, and so whether rules are asked again beyond it.
        decided = sorted((first[query]["decision_ids"], second[query]["decision_ids"]), key=len)
        assert decided[1][: len(decided[0])] == decided[0], query
    assert first["by_shop"]["decision_ids"]
    assert all(first["by_shop"]["plan_fingerprints"])


@pytest.mark.e2e
def test_every_hash_is_the_same_in_another_process_with_everything_in_another_order(
    ran: Path, ran_backwards: Path
) -> None:
    first, second = (stored_hashes(folder) for folder in (ran, ran_backwards))
    assert first == second
    assert set(first) == {"by_shop", "cities", "forbidden"}
    assert len(json.loads(first["by_shop"]["bundle_parts"])) == 13


HASHES = (
    *("query_fingerprint", "input_fingerprint", "snapshot_hash", "plan_fingerprint", "topology_hash", "bundle_hash"),
    *("final_topology_hash", "canonical_fingerprint", "planning_env_hash", "rulepack_hash", "contract_hash"),
    *("bundle_parts", "plan_hashes"),
)


def stored_hashes(folder: Path) -> dict[str, dict[str, Any]]:
    rows = StoredRows(str(folder / "store"), "tests").rows("plan_artifacts", ["query_id", *HASHES])
    return {row.pop("query_id"): row for row in rows}


@pytest.mark.e2e
def test_check_answers_every_gate_for_every_query_without_java(ran: Path) -> None:
    facts = ok(without_java("check", "--json", cwd=ran))
    assert {(g["gate"], g["query"]) for g in facts["gates"]} == {
        (gate, query) for gate in CHECKS for query in ("by_shop", "cities", "forbidden")
    }
    failed = [(g["gate"], g["query"]) for g in facts["gates"] if not g["passed"]]
    assert {gate for gate, _ in failed} <= {"gain_proven"}  # clocks decide that one: a busy machine hides the gain
    passed = 11 - sum(query == "by_shop" for _, query in failed)
    text = without_java("check", "by_shop", cwd=ran)
    # A gate that did not pass stands in a table above.
    assert text.stdout.splitlines()[-1].startswith(f"{passed} of 11 gates passed (plan_topology_stable, ")


@pytest.mark.e2e
def test_a_plan_that_changed_for_no_reason_fails_the_check_until_a_person_accepts_it(
    ran: Path, spark: SparkSession
) -> None:
    changed = ran.with_name("changed")
    shutil.copytree(ran, changed)
    row = StoredRows(str(changed / "store"), "tests").table("plan_artifacts", query_id="cities")
    later = {"run_id": "later", "observation_id": "obs-later-cities-b0", "topology_hash": "top_another"}
    for name, value in later.items():
        column = row.schema.get_field_index(name)
        row = row.set_column(column, name, pa.array([value]))
    moment = pc.add(row["recorded_at"], pa.scalar(timedelta(hours=1)))
    write_deltalake(
        changed / "store" / "plan_artifacts",
        row.set_column(row.schema.get_field_index("recorded_at"), "recorded_at", moment),
        mode="append",
    )
    failed = without_java("check", cwd=changed)
    assert failed.returncode == 3
    assert "planopt accept cities" in " ".join(failed.stdout.split())
    assert here("accept", "cities", "--reason", "meant", cwd=changed)["accepted"] == "obs-later-cities-b0"
    assert without_java("check", cwd=changed).returncode == 0
    nothing = without_java("accept", "forbidden", cwd=changed)
    assert (nothing.returncode, nothing.stderr[:7]) == (1, "PLN-305")


@pytest.mark.e2e
def test_status_lists_the_same_queries_as_run(ran: Path) -> None:
    run, status = (ok(without_java(c, "--json", cwd=ran))["queries"] for c in ("run", "status"))
    assert run == status
    assert {q["id"]: q["outcome"] for q in status if q["id"] != "by_shop"} == {
        "cities": "no_change",
        "forbidden": "refused",
    }
    wanted = {"id", "outcome", "reason", "results_equal", "policy_id", "gain"}
    assert all(wanted <= set(q) for q in status)


@pytest.mark.e2e
def test_lineage_of_a_verdict_ends_at_source_tables_with_versions(ran: Path) -> None:
    status = {q["id"]: q for q in ok(without_java("status", "--json", cwd=ran))["queries"]}
    node = ok(without_java("lineage", status["by_shop"]["verdict_id"], "--json", cwd=ran))
    assert node["kind"] == "verdict"
    text = without_java("lineage", status["by_shop"]["verdict_id"], cwd=ran).stdout
    assert "table sales@v5" in text
    unknown = without_java("lineage", "ver-nothing", cwd=ran)
    assert (unknown.returncode, unknown.stderr[:7]) == (1, "PLN-304")


@pytest.mark.e2e
def test_why_shows_the_arithmetic_the_plan_change_and_the_criteria(ran: Path) -> None:
    facts = ok(without_java("why", "by_shop", "--json", cwd=ran))
    assert facts["decisions"][0]["arithmetic"]["partitions_target"] == 2
    assert "-" in facts["candidates"][0]["diff"]
    text = without_java("why", "by_shop", cwd=ran).stdout
    assert "partitions_target = 2" in text


@pytest.mark.e2e
def test_plan_says_that_nothing_is_to_do_where_run_finds_nothing_to_do(ran: Path) -> None:
    facts = ok(without_java("plan", "--json", cwd=ran))
    assert facts["nothing_to_do"]
    assert not any(q["to_do"] for q in facts["queries"])
    assert "Nothing to do" in without_java("plan", cwd=ran).stdout


@pytest.mark.e2e
def test_a_run_is_tagged_with_the_priority_that_plan_shows(ran: Path) -> None:
    import dagster as dg

    with dg.DagsterInstance.from_config(str(ran / ".planopt" / "dagster")) as instance:
        (run,) = instance.get_runs()
    assert run.tags["dagster/priority"] == "0"  # the first run: nothing is known yet


@pytest.mark.e2e
def test_diff_shows_what_a_candidate_changes_in_the_plan(ran: Path) -> None:
    facts = ok(without_java("diff", "by_shop", "--json", cwd=ran))
    assert facts["role"] in ("accepted", "candidate")
    assert facts["diff"].startswith("-")
    assert facts["edits"] == []
    assert facts["policy"] in without_java("diff", "by_shop", cwd=ran).stdout


@pytest.mark.e2e
def test_promote_without_an_accepted_verdict_refuses_before_any_spark_starts(ran: Path) -> None:
    done = without_java("promote", "cities", cwd=ran)
    assert done.returncode == 1
    assert done.stderr.startswith("PLN-401 query cities: no accepted verdict")
    assert "Traceback" not in done.stderr


@pytest.mark.e2e
def test_the_report_is_one_file_that_names_every_query(ran: Path) -> None:
    path = Path(ok(without_java("report", "--json", cwd=ran))["report"])
    text = path.read_text(encoding="utf-8")
    assert all(f'id="{q}"' in text for q in ("by_shop", "cities", "forbidden"))
    assert "http" not in text


@pytest.mark.e2e
def test_work_without_java_is_one_error_that_says_what_to_install(tmp_path: Path) -> None:
    write_workload_file(make_tables(tmp_path), QUERIES)
    done = without_java("run", cwd=tmp_path)
    assert done.returncode == 1
    assert "PLN-202" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.fast
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["run"], 1, "PLN-001"),
        (["status", "-w", "nowhere.yaml"], 1, "PLN-001"),
        (["nonsense"], 2, "No such command"),
        (["demo", "--scale", "0"], 2, "--scale"),
        (["why"], 2, "Missing argument"),
    ],
)
def test_a_mistake_is_one_message_and_its_exit_code(tmp_path: Path, words: list[str], code: int, says: str) -> None:
    done = planopt(*words, cwd=tmp_path)
    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.fast
def test_an_unknown_query_is_answered_with_the_nearest_name(tmp_path: Path) -> None:
    write_workload_file(make_tables(tmp_path, files=1), QUERIES)
    done = planopt("why", "by_shap", "--json", cwd=tmp_path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"] == {
        "code": "PLN-501",
        "where": "planopt.yaml",
        "what": "the workload has no query 'by_shap'",
        "fix": "did you mean 'by_shop'?",
    }


@pytest.mark.fast
def test_debug_shows_where_an_error_came_from(tmp_path: Path) -> None:
    done = planopt("status", "--debug", cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.fast
def test_status_before_the_first_run_says_so(tmp_path: Path) -> None:
    write_workload_file(make_tables(tmp_path, files=1), QUERIES)
    facts = ok(planopt("status", "--json", cwd=tmp_path, env=NO_JAVA))
    assert {q["outcome"] for q in facts["queries"]} == {"not_run"}


@pytest.mark.fast
def test_plan_before_the_first_run_wants_to_observe_everything_and_needs_no_java(tmp_path: Path) -> None:
    write_workload_file(make_tables(tmp_path, files=1), QUERIES)
    facts = ok(planopt("plan", "--json", cwd=tmp_path, env=NO_JAVA))
    assert not facts["nothing_to_do"]
    assert {q["id"]: q["steps"]["observe"]["why"] for q in facts["queries"]} == dict.fromkeys(
        ["by_shop", "cities", "forbidden"], "never observed"
    )
    text = planopt("plan", "cities", cwd=tmp_path, env=NO_JAVA).stdout
    assert "observe: never observed" in text
    assert "by_shop" not in text


@pytest.mark.fast
def test_diff_before_the_first_run_knows_only_the_original(tmp_path: Path) -> None:
    write_workload_file(make_tables(tmp_path, files=1), QUERIES)
    facts = ok(planopt("diff", "cities", "--json", cwd=tmp_path, env=NO_JAVA))
    assert (facts["role"], facts["diff"], facts["edits"]) == ("original", "", [])
