"""TPC-H and TPC-DS as DuckDB has them: the texts, the schemas, and small data for TPC-H."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Schemas = dict[str, list[tuple[str, str]]]


def _connection(benchmark: str) -> DuckDBPyConnection:
    import duckdb
    from duckdb_extensions import import_extension

    import_extension(benchmark)
    connection = duckdb.connect()
    connection.execute(f"LOAD {benchmark}")
    return connection


@cache
def tpc_queries(benchmark: str) -> dict[str, str]:
    """Every text of `tpch` or `tpcds`, called `q01`, `q02`…"""
    rows = _connection(benchmark).execute(f"SELECT query_nr, query FROM {benchmark}_queries() ORDER BY 1").fetchall()
    return {f"q{number:02}": text.strip() for number, text in rows}


@cache
def tpc_schemas(benchmark: str) -> Schemas:
    """Names and types of all columns by table; the types in DuckDB's words, which is enough where none is nested."""
    connection = _connection(benchmark)
    connection.execute({"tpch": "CALL dbgen(sf = 0)", "tpcds": "CALL dsdgen(sf = 0)"}[benchmark])
    schemas: Schemas = {}
    columns = (
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY 1, column_index"
    )
    for table, column, kind in connection.execute(columns).fetchall():
        schemas.setdefault(table, []).append((column, kind.lower()))
    return schemas


def write_tpch_tables(folder: Path) -> dict[str, Path]:
    """TPC-H with 3,000 orders as Delta tables; returns where each of them is."""
    from deltalake import write_deltalake

    connection = _connection("tpch")
    connection.execute("CALL dbgen(sf = 0.002)")
    paths = {table: folder / table for table in tpc_schemas("tpch")}
    for table, path in paths.items():
        write_deltalake(path, connection.execute(f"SELECT * FROM {table}").to_arrow_table())
    return paths
