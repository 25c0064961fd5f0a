"""A table that is not there is known from its folder: before Spark starts, and without Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_tests.cli.conftest import Planopt
from planopt_tests.cli.stored_observations import HASH_JOIN, observe_by_hand
from planopt_tests.cli.test_cli import NO_JAVA
from planopt_tests.cli.test_cli import planopt as process
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


def test_plan_and_status_know_that_a_query_cannot_run(planopt: Planopt) -> None:
    steps = {q["id"]: q["steps"]["observe"]["why"] for q in planopt("plan", "--json").facts["queries"]}
    assert steps["by_shop"].startswith(WHY)
    assert (steps["column"], steps["forbidden"]) == ("never observed", "never observed")
    reasons = {q["id"]: q["reason"] for q in planopt("status", "--json").facts["queries"]}
    assert reasons["by_shop"].startswith(WHY)
    assert reasons["column"] == "not run on these inputs yet"


def test_such_a_query_fails_without_spark_and_is_tried_again(folder: Path, planopt: Planopt) -> None:
    first = process("run", "by_shop", cwd=folder, env=NO_JAVA)
    again = planopt("run", "by_shop")
    for code, words in ((first.returncode, first.stderr), (again.code, again.err)):
        assert code == 4, words
        assert "failed: by_shop: PLN-206 table sales: " in words
    rows = StoredRows(str(folder / "store"), "tests").rows("plan_artifacts", ["status", "error_code", "tables"])
    assert rows == 2 * [{"status": "failed", "error_code": "PLN-206", "tables": "[]"}]
    (query,) = (q for q in planopt("status", "--json").facts["queries"] if q["id"] == "by_shop")
    assert (query["outcome"], query["reason"][:7]) == ("cannot_tell", "PLN-206")
    file = folder / "planopt.yaml"
    file.write_text(file.read_text().replace("data/seles", "data/sales"))
    (query,) = planopt("plan", "by_shop", "--json").facts["queries"]
    assert query["steps"]["observe"]["why"].startswith("changed: ")


def test_check_does_not_pass_on_what_was_seen_before_the_table_went_away(folder: Path, planopt: Planopt) -> None:
    observe_by_hand(folder, "r1", HASH_JOIN)
    done = planopt("check", "by_shop", "--json")
    assert done.code == 3, done.err
    answered = {(g["observed"], g["passed"], g["words"][:29]) for g in done.facts["gates"]}
    assert answered == {(False, False, "not observed: PLN-206 table s")}
