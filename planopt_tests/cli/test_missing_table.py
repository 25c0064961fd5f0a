"""A table that is not there is known from its folder: before Spark starts, and without Java."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planopt_tests.cli.stored_observations import HASH_JOIN, observe_by_hand
from planopt_tests.cli.test_cli import NO_JAVA, ok, planopt
from planopt_tests.conftest import make_tables, write_workload_file
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast

QUERIES = """\
  - {id: by_shop, sql: "SELECT shop, count(*) AS n FROM Sales GROUP BY shop"}
  - {id: column, sql: "SELECT city AS sales FROM shops"}
  - {id: forbidden, sql: "DROP TABLE sales"}"""
WHY = "it cannot run: PLN-206 table sales: "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workload whose path of `sales` is wrong."""
    file = write_workload_file(make_tables(tmp_path, files=1), QUERIES)
    file.write_text(file.read_text().replace("data/sales", "data/seles"))
    return tmp_path


def test_plan_and_status_know_that_a_query_cannot_run(folder: Path) -> None:
    steps = {q["id"]: q["steps"]["observe"]["why"] for q in ok(planopt("plan", "--json", cwd=folder))["queries"]}
    assert steps["by_shop"].startswith(WHY)
    assert (steps["column"], steps["forbidden"]) == ("never observed", "never observed")
    reasons = {q["id"]: q["reason"] for q in ok(planopt("status", "--json", cwd=folder))["queries"]}
    assert reasons["by_shop"].startswith(WHY)
    assert reasons["column"] == "not run on these inputs yet"


def test_such_a_query_fails_without_spark_and_is_tried_again(folder: Path) -> None:
    for _ in range(2):
        done = planopt("run", "by_shop", cwd=folder, env=NO_JAVA)
        assert done.returncode == 4, done.stderr
        assert "failed: by_shop: PLN-206 table sales: " in done.stderr
    rows = StoredRows(str(folder / "store"), "tests").rows("plan_artifacts", ["status", "error_code", "tables"])
    assert rows == 2 * [{"status": "failed", "error_code": "PLN-206", "tables": "[]"}]
    (query,) = (q for q in ok(planopt("status", "--json", cwd=folder, env=NO_JAVA))["queries"] if q["id"] == "by_shop")
    assert (query["outcome"], query["reason"][:7]) == ("cannot_tell", "PLN-206")
    file = folder / "planopt.yaml"
    file.write_text(file.read_text().replace("data/seles", "data/sales"))
    (query,) = ok(planopt("plan", "by_shop", "--json", cwd=folder))["queries"]
    assert query["steps"]["observe"]["why"].startswith("changed: ")


def test_check_does_not_pass_on_what_was_seen_before_the_table_went_away(folder: Path) -> None:
    observe_by_hand(folder, "r1", HASH_JOIN)
    done = planopt("check", "by_shop", "--json", cwd=folder)
    assert done.returncode == 3, done.stderr
    answered = {(g["observed"], g["passed"], g["words"][:29]) for g in json.loads(done.stdout)["gates"]}
    assert answered == {(False, False, "not observed: PLN-206 table s")}
