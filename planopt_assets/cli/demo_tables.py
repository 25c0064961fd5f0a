"""The demo workload: TPC-H tables made of many small appends, and ten queries over them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from planopt_assets.errors import ToolMissing
from planopt_assets.store.writable import check_writable

# One small file per append, no clustering: like a table after months of hourly loads.
APPENDS = {
    "lineitem": 120,
    "orders": 60,
    "partsupp": 40,
    "customer": 20,
    "part": 20,
    "supplier": 4,
    "nation": 1,
    "region": 1,
}

DEMO_MASTER = "local[*]"
_PACKAGE = Path(__file__).parent.parent


def prepare(folder: Path, scale: float, say: Callable[[str], None], master: str = DEMO_MASTER) -> Path:
    """Write workload, queries and data into `folder`. Data that is already there at this scale stays."""
    shipped = next(p for p in (_PACKAGE / "examples" / "tpch", _PACKAGE.parent / "examples" / "tpch") if p.is_dir())
    check_writable(folder, "the demo")
    folder.mkdir(parents=True, exist_ok=True)
    for source in (shipped / "planopt.yaml", *sorted((shipped / "queries").iterdir())):
        target = folder / source.relative_to(shipped)
        if not source.is_file():
            continue
        content = source.read_bytes()
        if master != DEMO_MASTER and source.suffix == ".yaml":
            content = content.replace(f"master: {DEMO_MASTER}\n".encode(), f"master: {json.dumps(master)}\n".encode())
        if not (target.exists() and target.read_bytes() == content):
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(content)
    marker = folder / "data" / ".scale"
    if not (marker.exists() and marker.read_text() == str(scale)):
        say(f"writing TPC-H tables at scale {scale:g} as Delta, {sum(APPENDS.values())} appends")
        _write_tables(folder / "data", scale)
        marker.write_text(str(scale))
    return folder / "planopt.yaml"


def _write_tables(data: Path, scale: float) -> None:
    """Write new data beside the old data, then swap. So a killed run leaves no half-written table."""
    import pyarrow.parquet as pq
    from deltalake import DeltaTable, write_deltalake

    fresh = data.with_name("data.new")
    shutil.rmtree(fresh, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="planopt-tpch-") as raw:
        _generate(Path(raw), scale)
        for name, appends in APPENDS.items():
            table = pq.read_table(f"{raw}/{name}.parquet")
            step = max(1, -(-table.num_rows // appends))
            write_deltalake(fresh / name, table.slice(0, step))
            known = DeltaTable(fresh / name)  # by its path, each append would read the whole log first
            for start in range(step, table.num_rows, step):
                write_deltalake(known, table.slice(start, step), mode="append")
    shutil.rmtree(data, ignore_errors=True)
    fresh.rename(data)


def _generate(target: Path, scale: float) -> None:
    tool = shutil.which("tpcgen-cli", path=str(Path(sys.executable).parent)) or shutil.which("tpcgen-cli")
    if tool is None:
        raise ToolMissing(
            "the data generator tpcgen-cli is not installed", where="planopt demo", fix="pip install 'planopt[demo]'"
        )
    command = [tool, "tpch", "parquet", "--scale-factor", str(scale), "--output-dir", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise ToolMissing(
            f"tpcgen-cli failed: {words}", where="planopt demo", fix="check --scale and the free disk space"
        )
