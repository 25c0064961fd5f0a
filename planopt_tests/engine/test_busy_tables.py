"""A layout is put on a table while another process appends, updates and deletes: nothing is lost, nothing doubled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.delta.rewriting import rewrite
from planopt_assets.errors import MaintenanceConflict
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_tests.fresh_python import ROOT

pytestmark = pytest.mark.spark


def test_writers_that_go_on_all_through_an_apply_lose_nothing(spark, tmp_path: Path) -> None:
    table, stop = tmp_path / "busy", tmp_path / "stop"
    ids = pa.array(range(100), pa.int64())
    write_deltalake(table, pa.table({"id": ids, "version": pa.array([0] * 100, pa.int64())}))
    pinned = Pins().pin("busy", str(table))
    layout = LayoutProposal("busy", pinned.table_id, pinned.version, "compact", target_file_bytes=1 << 25)
    writer = subprocess.Popen(
        [sys.executable, "-m", "planopt_tests.engine.busy_writer", str(table), str(stop)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    applied = 0
    for number in range(2):
        try:
            change, _ = rewrite(spark, str(table), layout, f"mnt-{number}")
            applied += change is not None
        except MaintenanceConflict:
            pass  # nothing was written
    stop.touch()
    told = json.loads(writer.communicate()[0])
    assert writer.returncode == 0
    found = sorted((r["id"], r["version"]) for r in spark.read.format("delta").load(str(table)).collect())
    assert found == [tuple(row) for row in told["rows"]]
    assert told["done"]["append"] > 0
    # Once nobody writes, the next attempt gets through.
    change, attempts = rewrite(spark, str(table), layout, "mnt-last")
    assert change is not None
    assert attempts == 1
    after = sorted((r["id"], r["version"]) for r in spark.read.format("delta").load(str(table)).collect())
    assert after == found
