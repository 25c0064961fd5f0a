"""The query texts as DuckDB ships them, read from its extensions at run time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Literal

import duckdb

Suite = Literal["tpch", "tpcds"]
SUITES: tuple[Suite, ...] = ("tpch", "tpcds")


@contextmanager
def connected(suite: Suite) -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB in memory with a suite's extension.

    Loaded straight from the wheel: `install` would copy the extension into the user's home.
    """
    wheel = resources.files(f"duckdb_extension_{suite}")
    place = wheel / "extensions" / f"v{duckdb.__version__}" / f"{suite}.duckdb_extension"
    with resources.as_file(place) as extension, duckdb.connect() as connection:
        connection.load_extension(str(extension))
        yield connection


def texts(suite: Suite) -> dict[str, str]:
    """The original text of every query of a suite, in order, by id: `tpch_q01` … `tpcds_q99`."""
    with connected(suite) as connection:
        rows = connection.execute(f"SELECT query_nr, query FROM {suite}_queries() ORDER BY query_nr").fetchall()
    return {f"{suite}_q{number:02}": text for number, text in rows}
