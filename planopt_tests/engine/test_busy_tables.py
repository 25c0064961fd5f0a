"""A layout is put on a table, or taken back, while another process writes to it: nothing is lost, nothing doubled."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.engine.delta import failures
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.delta.rewriting import rewrite
from planopt_assets.engine.delta.undoing import restore
from planopt_assets.errors import MaintenanceConflict, UndoRefused
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_tests.fresh_python import ROOT

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def two_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers that never rest are in the way of each attempt, and a second one is as good as four."""
    monkeypatch.setattr(failures, "ATTEMPTS", 2)


def busy(folder: Path) -> tuple[Path, PinnedTable]:
    table = folder / "busy"
    ids = pa.array(range(100), pa.int64())
    write_deltalake(table, pa.table({"id": ids, "version": pa.array([0] * 100, pa.int64())}))
    return table, Pins().pin("busy", str(table))


@contextmanager
def writing(table: Path, told: dict[str, Any], *, commits: int = 0, only: str = "") -> Iterator[None]:
    """Another process appends, updates and deletes while the block runs, or does `only` one of it.

    `told` is then what must be there. The block begins when there are so many commits.
    """
    stop = table.parent / "stop"
    command = [sys.executable, "-m", "planopt_tests.engine.busy_writer", str(table), str(stop), only]
    writer = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        while LogFiles("busy", str(table)).newest() < commits:
            assert writer.poll() is None
            time.sleep(0.1)
        yield
    finally:
        stop.touch()
        told |= json.loads(writer.communicate()[0])
    assert writer.returncode == 0
    assert told["done"]["append"] > 0
    assert bool(only) == (told["done"]["delete"] + told["done"]["update"] == 0)


def rows(spark: Any, table: Path) -> list[list[int]]:
    return sorted([r["id"], r["version"]] for r in spark.read.format("delta").load(str(table)).collect())


def test_an_apply_commits_between_appends_and_neither_waits_for_the_other(spark, tmp_path: Path) -> None:
    table, pinned = busy(tmp_path)
    layout = LayoutProposal("busy", pinned.table_id, pinned.version, "compact", target_file_bytes=1 << 25)
    told: dict[str, Any] = {}
    with writing(table, told, commits=4, only="append"):
        change, attempts = rewrite(spark, str(table), layout, "mnt-beside")
    assert told["done"]["append"] > 4  # those before the block began; the writer went on beside the rewrite
    assert change is not None
    assert attempts == 1
    assert rows(spark, table) == told["rows"]


def test_writers_that_go_on_all_through_an_apply_lose_nothing(spark, tmp_path: Path) -> None:
    table, pinned = busy(tmp_path)
    layout = LayoutProposal("busy", pinned.table_id, pinned.version, "compact", target_file_bytes=1 << 25)
    told: dict[str, Any] = {}
    with writing(table, told, commits=4), suppress(MaintenanceConflict):  # then nothing was written
        rewrite(spark, str(table), layout, "mnt-first")
    assert rows(spark, table) == told["rows"]
    # Once nobody writes, the next attempt gets through.
    change, attempts = rewrite(spark, str(table), layout, "mnt-last")
    assert change is not None
    assert attempts == 1
    assert rows(spark, table) == told["rows"]


def test_an_action_of_several_commits_is_taken_back_under_writers_without_loss(spark, tmp_path: Path) -> None:
    table, pinned = busy(tmp_path)
    wish = (("delta.dataSkippingStatsColumns", "id"),)
    layout = LayoutProposal("busy", pinned.table_id, pinned.version, "statistics", columns=("id",), properties=wish)
    rewrite(spark, str(table), layout, "mnt-before")  # nobody writes yet: the first undo has a chance
    told: dict[str, Any] = {}
    with writing(table, told):
        to = pinned.version
        for number in range(2):  # of the version that writers found, and of one that they wrote
            with suppress(UndoRefused):
                restore(spark, "busy", str(table), to=to, action_id=f"mnt-undo-{number}")
            to = LogFiles("busy", str(table)).newest()
            with suppress(MaintenanceConflict):
                rewrite(spark, str(table), replace(layout, action="zorder"), f"mnt-{number}")
    assert rows(spark, table) == told["rows"]
