"""What the arms run: queries of a suite over tables that no arm writes to."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from benchmarks.arms_workload import workload_of
from benchmarks.tpc.data import TPCDS_APPENDS, make_tables
from benchmarks.tpc.texts import connected, texts

pytestmark = pytest.mark.fast


def folder_with_tables(folder: Path) -> Path:
    """Tables that are there are not written again, whatever is in them."""
    for name in TPCDS_APPENDS:
        (folder / "data" / "tpcds-0.01" / name).mkdir(parents=True)
    return folder


def test_tpcds_has_all_its_queries_over_all_its_tables(tmp_path: Path) -> None:
    found = workload_of("tpcds", 0.01, folder_with_tables(tmp_path), (), 60, lambda _: None)
    assert [q.id for q in found.queries] == list(texts("tpcds"))
    assert {t.name for t in found.tables} == set(TPCDS_APPENDS)
    assert {t.maintain for t in found.tables} == {"never"}
    assert (found.mode, found.budgets.per_run) == ("auto", 60)


def test_tpch_runs_with_the_demos_memory_and_none_of_its_other_settings(tmp_path: Path) -> None:
    """What the demo does for small data would be no default of Spark's."""
    (tmp_path / "data-0.01" / "data").mkdir(parents=True)
    (tmp_path / "data-0.01" / "data" / ".scale").write_text("0.01")  # so that no data is written
    tpch, demo = (workload_of(queries, 0.01, tmp_path, (), 60, lambda _: None) for queries in ("tpch", "demo"))
    assert [name for name, _ in tpch.spark_settings] == ["spark.driver.memory"]
    assert set(tpch.spark_settings) < set(demo.spark_settings)


def test_some_queries_can_be_chosen(tmp_path: Path) -> None:
    found = workload_of("tpcds", 0.01, folder_with_tables(tmp_path), ("tpcds_q96", "tpcds_q03"), 60, lambda _: None)
    assert [q.id for q in found.queries] == ["tpcds_q03", "tpcds_q96"]


def test_a_query_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no such query: tpcds_q100"):
        workload_of("tpcds", 0.01, folder_with_tables(tmp_path), ("tpcds_q100",), 60, lambda _: None)


def test_every_table_of_tpcds_has_its_appends() -> None:
    with connected("tpcds") as connection:
        connection.execute("CALL dsdgen(sf = 0)")
        assert {name for (name,) in connection.execute("SHOW TABLES").fetchall()} == set(TPCDS_APPENDS)


def test_a_table_is_written_in_as_many_appends_as_are_named(tmp_path: Path) -> None:
    appends = dict.fromkeys(("region", "nation", "supplier", "part", "partsupp", "customer"), 1)
    tables = make_tables(tmp_path, "tpch", 0.001, {**appends, "orders": 6, "lineitem": 12})
    files = {name: len(DeltaTable(path).file_uris()) for name, path in tables.items()}
    assert files == {**appends, "orders": 6, "lineitem": 12}
    assert DeltaTable(tables["lineitem"]).version() == 11
