"""`planopt workload-policy`, and what `status` and `export` say of it; without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_tests.cli.conftest import Planopt
from planopt_tests.conftest import make_tables, write_workload_file

pytestmark = pytest.mark.fast


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three queries that nobody has run."""
    queries = "\n".join(
        f'  - {{id: q{n}, sql: "SELECT shop, count(*) AS n FROM sales GROUP BY shop"}}' for n in range(3)
    )
    write_workload_file(make_tables(tmp_path, files=1), queries)
    return tmp_path


def test_nothing_in_common_is_said_and_is_no_error(planopt: Planopt) -> None:
    said = planopt("workload-policy")
    assert (said.code, said.out) == (0, "no setting helped more than half of the queries, and three at least\n")
    assert planopt("workload-policy", "--json").facts["workload_policy"] is None
    assert planopt("status", "--json").facts["workload_policy"] is None


def test_nothing_is_exported_for_all_that_was_not_accepted_on_the_whole(planopt: Planopt) -> None:
    said = planopt("export", "--workload-policy", "--format", "spark-defaults")
    assert said.code == 1
    assert "planopt workload-policy --try" in said.err
