"""Real processes and real deaths: a query that ends the JVM is named, the others go on, and nobody meets it again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.loop.run import read_standings
from planopt_assets.loop.standing import Standing
from planopt_assets.workload import load_workload
from planopt_tests.conftest import make_tables, write_workload_file
from planopt_tests.e2e.ending_queries import HUNGRY, MEMORY, PYTHON
from planopt_tests.promote.lenient_planopt import lenient_planopt as planopt
from planopt_tests.stored_rows import StoredRows
from planopt_tests.without_java import without_java

pytestmark = pytest.mark.e2e

QUERIES = f"""
  - {{id: by_note, sql: "SELECT note, count(*) AS n FROM sales GROUP BY note"}}
  - {{id: hungry, sql: "{HUNGRY}"}}
  - {{id: killed, python: "ending:killed"}}
  - {{id: tempting, python: "ending:killed_under_a_candidate", runs_per_day: 2000}}
  - {{id: by_shop, sql: "SELECT shop, count(*) AS n FROM sales GROUP BY shop", runs_per_day: 1000}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_tables(tmp_path_factory.mktemp("lost"), files=1)
    (folder / "ending.py").write_text(PYTHON)
    # One candidate for each query: every one for `tempting` costs a session.
    extra = "allow_python: true\nknobs: {allow: [spark.sql.shuffle.partitions]}\n"
    file = write_workload_file(folder, QUERIES, mode="auto", extra=extra)
    file.write_text(file.read_text().replace("spark.driver.memory: 2g", f"spark.driver.memory: {MEMORY}"))
    return folder


@pytest.fixture(scope="module")
def done(folder: Path) -> subprocess.CompletedProcess[str]:
    return planopt("run", "--json", cwd=folder)


@pytest.fixture(scope="module")
def standings(folder: Path, done: subprocess.CompletedProcess[str]) -> dict[str, Standing]:
    assert done.stdout, done.stderr
    return read_standings(load_workload(folder / "planopt.yaml"))


def steps(folder: Path, *queries: str) -> dict[str, Any]:
    """What the next run would do in observe, by query; without Java, for plan needs none."""
    told = without_java("plan", *queries, "--json", cwd=folder)
    return {q["id"]: q["steps"]["observe"] for q in json.loads(told.stdout)["queries"]}


@pytest.mark.parametrize(("query", "how"), [("hungry", "it ran out of memory"), ("killed", "killed by signal 9")])
def test_a_query_that_ends_the_jvm_is_recorded_as_the_cause(
    standings: dict[str, Standing], query: str, how: str
) -> None:
    (artifact,) = standings[query].artifacts
    assert (artifact.status, artifact.error_code) == ("failed", "PLN-215")
    assert f"PLN-215 query {query}: the query ended the Spark session: " in str(artifact.error)
    assert how in str(artifact.error)


def test_the_others_go_on_and_what_was_measured_before_is_kept(standings: dict[str, Standing]) -> None:
    assert standings["by_note"].captured
    assert standings["by_shop"].captured
    assert standings["by_shop"].outcome == "accept"
    assert [p.generation for p in standings["by_shop"].chain] == [1]


def test_a_candidate_that_ends_the_jvm_is_rejected_and_not_tried_again(
    folder: Path, standings: dict[str, Standing]
) -> None:
    tempting = standings["tempting"]
    assert tempting.captured
    assert {v.outcome for v in tempting.verdicts} == {"reject"}
    assert "the candidate failed: PLN-215 query tempting" in tempting.verdicts[0].reason
    assert not tempting.chain
    assert not tempting.unjudged
    died = [t for t in StoredRows(str(folder / "store"), "tests").rows("trials") if t["status"] == "failed"]
    assert {t["query_id"] for t in died} == {"tempting"}


def test_the_next_run_leaves_it_alone_until_a_person_names_it(folder: Path, standings: dict[str, Standing]) -> None:
    told = steps(folder)
    assert {q: told[q]["need"] for q in ("by_note", "hungry", "killed", "by_shop")} == {
        "by_note": "done",
        "hungry": "off",
        "killed": "off",
        "by_shop": "done",
    }
    assert told["hungry"]["why"].startswith("left alone: PLN-215 query hungry: the query ended the Spark session")
    again = without_java("run", "--json", cwd=folder)
    assert json.loads(again.stdout)["nothing_to_do"] is True
    assert steps(folder, "killed")["killed"]["need"] == "needed"


def test_with_new_inputs_it_is_tried_after_the_others(folder: Path, standings: dict[str, Standing]) -> None:
    file = folder / "planopt.yaml"
    text = file.read_text()
    file.write_text(text.replace(f"spark.driver.memory: {MEMORY}", "spark.driver.memory: 700m"))
    try:
        found = read_standings(load_workload(file))
    finally:
        file.write_text(text)
    assert {q for q, standing in found.items() if standing.ended_session} == {"hungry", "killed"}
    assert not any(standing.left_alone for standing in found.values())


# What cannot be stopped, and what runs out of memory without dying


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, int]]:
    folder = make_tables(tmp_path_factory.mktemp("hanging"))
    done = planopt(str(folder), cwd=folder, module="planopt_tests.e2e.hanging_workspace")
    assert done.stdout, done.stderr
    return [(query, how, lost) for query, how, lost in json.loads(done.stdout.splitlines()[-1])]


def test_a_thread_or_a_task_that_cannot_be_stopped_costs_the_session_and_not_the_next_query(
    told: list[tuple[str, str, int]],
) -> None:
    assert [(query, how.partition(" ")[0], lost) for query, how, lost in told] == [
        ("by_shop", "17", 0),
        ("endless", "PLN-214", 1),
        ("by_shop", "17", 1),
        ("endless_constant", "PLN-214", 2),
        ("hungry_constant", "PLN-215", 3),
        ("by_shop", "17", 3),
    ]


def test_a_jvm_that_survived_its_own_lack_of_memory_is_not_trusted(told: list[tuple[str, str, int]]) -> None:
    (how,) = [how for query, how, _ in told if query == "hungry_constant"]
    assert "it ran out of memory: java.lang.OutOfMemoryError" in how
