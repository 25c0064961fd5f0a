"""The generated tables, and the comparison of results."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable

from benchmarks.tpc.data import make_tables
from benchmarks.tpc.oracle import Oracle, difference
from benchmarks.tpc.workload import workload

pytestmark = pytest.mark.fast

ROWS = {"region": 5, "nation": 25, "supplier": 20, "part": 400, "partsupp": 1600, "customer": 300, "orders": 3000}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("tpc")


@pytest.fixture(scope="module")
def tables(folder: Path) -> dict[str, Path]:
    return make_tables(folder, "tpch", 0.002)


def listing(folder: Path) -> set[tuple[str, int]]:
    return {(str(file), file.stat().st_mtime_ns) for file in folder.rglob("*")}


def test_every_table_has_its_rows(tables: dict[str, Path]) -> None:
    counted = {name: ds.dataset(DeltaTable(path).file_uris()).count_rows() for name, path in tables.items()}
    assert counted.pop("lineitem") > 10_000
    assert counted == ROWS


def test_large_tables_have_several_files_and_small_ones_one(tables: dict[str, Path]) -> None:
    files = {name: len(DeltaTable(path).file_uris()) for name, path in tables.items()}
    assert files == {**dict.fromkeys(ROWS, 1), "lineitem": 2}


def test_dates_are_dates_and_money_is_decimal(tables: dict[str, Path]) -> None:
    schema = pa.schema(DeltaTable(tables["lineitem"]).schema().to_arrow())
    assert schema.field("l_shipdate").type == pa.date32()
    assert schema.field("l_extendedprice").type == pa.decimal128(15, 2)
    assert schema.field("l_orderkey").type == pa.int64()
    assert {bool(field.metadata) for field in schema} == {False}


def test_the_tables_have_the_default_protocol(tables: dict[str, Path]) -> None:
    protocols = {(p.min_reader_version, p.min_writer_version) for p in _protocols(tables)}
    assert protocols == {(1, 2)}


def _protocols(tables: dict[str, Path]):
    return [DeltaTable(path).protocol() for path in tables.values()]


def test_what_is_there_stays_untouched(folder: Path, tables: dict[str, Path]) -> None:
    before = listing(folder)
    assert make_tables(folder, "tpch", 0.002) == tables
    assert listing(folder) == before


def test_what_a_killed_run_left_is_replaced(tmp_path: Path) -> None:
    left = tmp_path / "tpch-0.001.new" / "lineitem"
    left.mkdir(parents=True)
    (left / "half").touch()
    tables = make_tables(tmp_path, "tpch", 0.001)
    assert not (tables["lineitem"] / "half").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["tpch-0.001"]


def test_a_workload_has_every_table_and_query(folder: Path, tables: dict[str, Path]) -> None:
    made = workload(folder, "tpch", 0.002)
    assert {table.name: table.path for table in made.tables} == {name: str(path) for name, path in tables.items()}
    assert [query.id for query in made.queries] == [f"tpch_q{number:02}" for number in range(1, 23)]


# The oracle


def test_the_oracle_reads_the_tables(tables: dict[str, Path]) -> None:
    oracle = Oracle(tables)
    assert oracle.rows("SELECT count(*), count(DISTINCT r_name) FROM region") == [(5, 5)]


def test_the_oracle_orders_nulls_and_divides_by_zero_as_spark_does(tables: dict[str, Path]) -> None:
    oracle = Oracle(tables)
    values = "FROM (VALUES (1), (NULL)) AS t(a)"
    assert oracle.rows(f"SELECT a {values} ORDER BY a") == [(None,), (1,)]
    assert oracle.rows(f"SELECT a {values} ORDER BY a DESC") == [(1,), (None,)]
    assert oracle.rows("SELECT CAST(0 AS decimal(7, 2)) / CAST(0 AS decimal(7, 2))") == [(None,)]


@pytest.mark.parametrize(
    "actual",
    [
        [("b", 2, None), ("a", 1, 0.5)],
        [("a", 1, Decimal("0.500001")), ("b", 2, None)],
        [("a", 1.0, 0.500001), ("b", Decimal(2), None)],
    ],
)
def test_order_and_rounding_make_no_difference(actual) -> None:
    assert difference([("a", 1, 0.5), ("b", 2, None)], actual) == ""


@pytest.mark.parametrize(
    ("actual", "said"),
    [
        ([("a", 1, 0.5)], "2 rows against 1"),
        ([("a", 1, 0.5), ("a", 1, 0.5)], "1 of 2 rows differ"),
        ([("a", 1, 0.5), ("b", 2, 0)], "1 of 2 rows differ"),
        ([("a", 1, 0.501), ("b", 2, None)], "1 of 2 rows differ"),
        ([("a", 1, 0.5), ("c", 2, None)], "1 of 2 rows differ"),
        ([("a", 1, 0.5, 1), ("b", 2, None, 1)], "2 of 2 rows differ"),
    ],
)
def test_any_other_difference_is_told(actual, said: str) -> None:
    assert said in difference([("a", 1, 0.5), ("b", 2, None)], actual)
