"""TPC-H and TPC-DS tables as Delta, generated in seconds and without a JVM."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from benchmarks.tpc.texts import Suite

# The smallest at which most queries find rows; below 0.01 TPC-DS hardly shrinks any further.
TINY = 0.01
_ROWS_PER_FILE = 10_000
_MOST_FILES = 4
# Like tables after months of hourly loads, where that is wanted.
TPCDS_APPENDS = {
    "store_sales": 120,
    "catalog_sales": 60,
    "inventory": 60,
    "web_sales": 40,
    "store_returns": 20,
    "catalog_returns": 20,
    "web_returns": 20,
    "customer": 20,
    "customer_address": 20,
    "customer_demographics": 4,
    "item": 4,
    **dict.fromkeys(("call_center", "catalog_page", "date_dim", "household_demographics", "income_band"), 1),
    **dict.fromkeys(("promotion", "reason", "ship_mode", "store", "time_dim", "warehouse", "web_page", "web_site"), 1),
}
_NOT_A_TABLE = "dbgen_version"  # what the generator says about itself; no query reads it


def make_tables(
    folder: Path, suite: Suite, scale: float = TINY, appends: Mapping[str, int] | None = None
) -> dict[str, Path]:
    """Write the tables of a suite unless this scale is there already; returns where each one is.

    Each table has as many appends as are named. Without any, large tables get up to four.
    """
    data = folder / f"{suite}-{scale:g}"
    if not data.is_dir():
        # Swapped in whole, so that a killed run leaves no half table.
        fresh = data.with_name(f"{data.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f"{suite}-") as raw:
            _generate(suite, scale, Path(raw))
            for file in sorted(Path(raw).glob("*.parquet")):
                if file.stem != _NOT_A_TABLE:
                    rows = pq.read_table(file)
                    files = 1 + rows.num_rows // _ROWS_PER_FILE
                    _write(rows, appends[file.stem] if appends else min(_MOST_FILES, files), fresh / file.stem)
        fresh.rename(data)
    return {table.name: table for table in sorted(data.iterdir())}


def _generate(suite: Suite, scale: float, target: Path) -> None:
    tool = Path(sys.executable).with_name("tpcgen-cli")
    subprocess.run(
        [tool, suite, "parquet", "--quiet", f"--scale-factor={scale:g}", f"--output-dir={target}"], check=True
    )


def _write(rows: pa.Table, files: int, target: Path) -> None:
    """One append per file."""
    step = max(1, -(-rows.num_rows // files))
    # Without the generator's field ids, which no usual writer of Delta leaves in the schema.
    rows = rows.cast(pa.schema([field.remove_metadata() for field in rows.schema]))
    for start in range(0, rows.num_rows, step):
        write_deltalake(target, rows.slice(start, step), mode="append")
