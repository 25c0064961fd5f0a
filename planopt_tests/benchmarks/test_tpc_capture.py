"""A sample of the TPC queries through planopt: captured, read alike by both extractors, and answered as by DuckDB."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from benchmarks.tpc.__main__ import main
from benchmarks.tpc.capture_all import capture_all
from benchmarks.tpc.oracle import results_check
from benchmarks.tpc.texts import SUITES
from benchmarks.tpc.workload import workload
from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.workload import Query, Workload
from planopt_tests.conftest import MASTER, SETTINGS

pytestmark = pytest.mark.spark

SAMPLE = {
    "tpch_q15",  # a scalar sub-query that execution folds into another
    "tpch_q21",  # EXISTS and NOT EXISTS with inequalities
    "tpch_q22",  # a scan filtered by a scalar sub-query
    "tpcds_q09",  # fifteen sub-queries in the branches of CASE
    "tpcds_q12",  # adapted: division by zero
    "tpcds_q16",  # adapted: quoted names; EXISTS and NOT EXISTS
    "tpcds_q51",  # windows over a full outer join
    "tpcds_q95",  # a self-join in WITH, read twice under IN
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("tpc")


def in_the_shared_session(whole: Workload) -> Workspace:
    return Workspace(replace(whole, master=MASTER, spark_settings=tuple(sorted(SETTINGS.items()))))


@pytest.mark.parametrize("suite", SUITES)
def test_the_sample_is_captured_read_alike_and_answered_as_by_duckdb(spark, folder: Path, suite) -> None:
    whole = workload(folder, suite)
    sample = replace(whole, queries=tuple(q for q in whole.queries if q.id in SAMPLE))
    rows = list(capture_all(in_the_shared_session(sample), check=results_check(whole, suite)))
    assert {row.query: row.problems for row in rows if row.problems} == {}
    assert {row.query for row in rows} == {name for name in SAMPLE if name.startswith(f"{suite}_")}
    assert all(before > 10 and after > 0 for before, after in (row.nodes for row in rows))


def test_a_query_that_fails_is_told_and_the_next_one_goes_on(spark, folder: Path) -> None:
    whole = workload(folder, "tpch")
    lost = Query("lost", sql="SELECT * FROM nowhere")
    found = Query("found", sql="SELECT r_regionkey FROM region")
    workspace = in_the_shared_session(replace(whole, queries=(lost, found)))
    first, second = capture_all(workspace, check=lambda _, rows: "" if len(rows) == 4 else f"{len(rows)} rows")
    assert first.problems[0].startswith("PLN-")
    assert "nowhere" in first.problems[0]
    assert first.nodes == ()
    assert second.problems == ("5 rows",)
    assert len(second.nodes) == 2


def test_an_error_that_is_not_planopts_own_names_its_place(spark, folder: Path) -> None:
    def broken(_: str, rows: object) -> str:
        raise IndexError("of no use")

    workspace = in_the_shared_session(replace(workload(folder, "tpch"), queries=(Query("q", sql="SELECT 1 AS one"),)))
    (row,) = capture_all(workspace, check=broken)
    assert row.problems[0].startswith("IndexError in test_tpc_capture.py:")
    assert row.problems[0].endswith(": of no use")


def test_the_command_prints_one_line_per_query_and_fails_with_any_of_them(spark, folder: Path, capsys) -> None:
    command = ["tpch_q06", "--plan-only", f"--folder={folder}"]
    assert main(command, in_the_shared_session) == 0
    line, summary = capsys.readouterr().out.splitlines()
    assert line.split()[0] == "tpch_q06"
    assert line.split()[-1] == "ok"
    assert summary == "1 queries, 0 failed"

    def without_tables(whole: Workload) -> Workspace:
        return in_the_shared_session(replace(whole, tables=()))

    assert main([*command, "--json"], without_tables) == 1
    (row,) = map(orjson.loads, capsys.readouterr().out.splitlines())
    assert row["query"] == "tpch_q06"
    assert row["problems"]


def test_a_query_that_does_not_exist_is_refused(capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["tpch_q23"])
    assert "no such query: tpch_q23" in capsys.readouterr().err
