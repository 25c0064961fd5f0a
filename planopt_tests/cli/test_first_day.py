"""The mistakes of a first day, all in one workload and one run: each query has its own answer, and one is right."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from planopt_tests.cli.test_cli import planopt
from planopt_tests.conftest import MASTER, make_tables
from planopt_tests.without_java import without_java

pytestmark = pytest.mark.e2e

WORKLOAD = f"""\
version: 1
name: tests
store: store
mode: observe
spark: {{master: "{MASTER}"}}
tables: {{sales: data/sales, shops: data/shops, orders: data/nowhere}}
queries:
  - {{id: right, sql: "SELECT shop, count(*) AS n FROM sales GROUP BY shop"}}
  - {{id: unregistered, sql: "SELECT id FROM customers"}}
  - {{id: unbound, sql: "SELECT id FROM sales WHERE shop = :shop"}}
  - {{id: missing, sql: "SELECT id FROM orders"}}
  - {{id: long, sql_file: long.sql}}
"""


def test_every_mistake_concerns_its_own_query(tmp_path: Path) -> None:
    make_tables(tmp_path, files=1)
    (tmp_path / "planopt.yaml").write_text(WORKLOAD)
    (tmp_path / "long.sql").write_text("SELECT id FROM sales -- ".ljust(5_000_000, "x"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = planopt("run", "--json", cwd=tmp_path, env={**os.environ, "TMPDIR": str(temporary)})
    assert done.returncode == 4, done.stderr
    found = {q["id"]: (q["outcome"], q["reason"]) for q in json.loads(done.stdout)["queries"]}
    assert {query: (outcome, reason[:7]) for query, (outcome, reason) in found.items() if query != "right"} == {
        "unregistered": ("refused", "PLN-101"),
        "unbound": ("cannot_tell", "PLN-207"),
        "missing": ("cannot_tell", "PLN-206"),
        "long": ("refused", "PLN-102"),
    }
    assert found["right"][0] == "no_change"
    assert "`parameters:` in the workload file" in found["unbound"][1]
    assert sorted(line.split(": ")[1] for line in done.stderr.splitlines() if line.startswith("failed: ")) == [
        "missing",
        "unbound",
    ]
    assert not (tmp_path / "spark-warehouse").exists()
    assert not list(temporary.glob("planopt-*"))
    checked = without_java("check", "--json", cwd=tmp_path)
    assert checked.returncode == 3
    unobserved = {g["query"] for g in json.loads(checked.stdout)["gates"] if not g["observed"]}
    assert unobserved == {"unbound", "missing"}
    assert without_java("check", "right", "unregistered", "long", cwd=tmp_path).returncode == 0
