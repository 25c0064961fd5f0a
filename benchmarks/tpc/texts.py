"""The query texts as DuckDB ships them, read from its extensions at run time."""

from __future__ import annotations

from importlib import resources
from typing import Literal

import duckdb

Suite = Literal["tpch", "tpcds"]
SUITES: tuple[Suite, ...] = ("tpch", "tpcds")


def texts(suite: Suite) -> dict[str, str]:
    """The original text of every query of a suite, in order, by id: `tpch_q01` … `tpcds_q99`."""
    version = f"v{duckdb.__version__}"
    # Loaded straight from the wheel: `install` would copy the extension into the user's home.
    wheel = resources.files(f"duckdb_extension_{suite}")
    with (
        resources.as_file(wheel / "extensions" / version / f"{suite}.duckdb_extension") as extension,
        duckdb.connect() as connection,
    ):
        connection.load_extension(str(extension))
        rows = connection.execute(f"SELECT query_nr, query FROM {suite}_queries() ORDER BY query_nr").fetchall()
    return {f"{suite}_q{number:02}": text for number, text in rows}
