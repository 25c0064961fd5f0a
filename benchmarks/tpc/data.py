"""TPC-H and TPC-DS tables as Delta, generated in seconds and without a JVM."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake

from benchmarks.tpc.texts import Suite

# The smallest at which most queries find rows; below 0.01 TPC-DS hardly shrinks any further.
TINY = 0.01
_ROWS_PER_FILE = 10_000
_MOST_FILES = 4
_NOT_A_TABLE = "dbgen_version"  # what the generator says about itself; no query reads it


def make_tables(folder: Path, suite: Suite, scale: float = TINY) -> dict[str, Path]:
    """Write the tables of a suite unless this scale is there already; returns where each one is."""
    data = folder / f"{suite}-{scale:g}"
    if not data.is_dir():
        # Swapped in whole, so that a killed run leaves no half table.
        fresh = data.with_name(f"{data.name}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f"{suite}-") as raw:
            _generate(suite, scale, Path(raw))
            for file in sorted(Path(raw).glob("*.parquet")):
                if file.stem != _NOT_A_TABLE:
                    _write(pq.read_table(file), fresh / file.stem)
        fresh.rename(data)
    return {table.name: table for table in sorted(data.iterdir())}


def _generate(suite: Suite, scale: float, target: Path) -> None:
    tool = Path(sys.executable).with_name("tpcgen-cli")
    subprocess.run(
        [tool, suite, "parquet", "--quiet", f"--scale-factor={scale:g}", f"--output-dir={target}"], check=True
    )


def _write(rows: pa.Table, target: Path) -> None:
    """One append per file: small tables get one, large ones up to four."""
    files = min(_MOST_FILES, 1 + rows.num_rows // _ROWS_PER_FILE)
    step = -(-rows.num_rows // files)
    # Without the generator's field ids, which no usual writer of Delta leaves in the schema.
    rows = rows.cast(pa.schema([field.remove_metadata() for field in rows.schema]))
    for start in range(0, rows.num_rows, step):
        write_deltalake(target, rows.slice(start, step), mode="append")
