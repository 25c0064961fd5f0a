"""TPC-H and TPC-DS as DuckDB has them: the texts, the schemas, and small data for TPC-H."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchmarks.tpc.texts import Suite, connected, texts

Schemas = dict[str, list[tuple[str, str]]]


@cache
def tpc_queries(benchmark: Suite) -> dict[str, str]:
    """Every text of `tpch` or `tpcds`, called `q01`, `q02`…"""
    return {name.removeprefix(f"{benchmark}_"): text.strip() for name, text in texts(benchmark).items()}


@cache
def tpc_schemas(benchmark: Suite) -> Schemas:
    """Names and types of all columns by table; the types in DuckDB's words, which is enough where none is nested."""
    schemas: Schemas = {}
    columns = (
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY 1, column_index"
    )
    with connected(benchmark) as connection:
        connection.execute({"tpch": "CALL dbgen(sf = 0)", "tpcds": "CALL dsdgen(sf = 0)"}[benchmark])
        rows = connection.execute(columns).fetchall()
    for table, column, kind in rows:
        schemas.setdefault(table, []).append((column, kind.lower()))
    return schemas


def write_tpch_tables(folder: Path) -> dict[str, Path]:
    """TPC-H with 3,000 orders as Delta tables; returns where each of them is."""
    from deltalake import write_deltalake

    paths = {table: folder / table for table in tpc_schemas("tpch")}
    with connected("tpch") as connection:
        connection.execute("CALL dbgen(sf = 0.002)")
        for table, path in paths.items():
            write_deltalake(path, connection.execute(f"SELECT * FROM {table}").to_arrow_table())
    return paths
