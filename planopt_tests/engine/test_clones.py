"""Marks of clones and runs: what ended processes left is swept, and nothing else."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.engine.delta import clones as module
from planopt_assets.engine.delta.clones import Clones
from planopt_assets.model.inputs import PinnedTable

pytestmark = pytest.mark.fast


def test_the_sweep_takes_what_ended_processes_left_and_nothing_else(tmp_path: Path) -> None:
    clones = tmp_path / "_clones"
    for name in ("left", "someones"):
        (clones / name / "_delta_log").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (clones / "linked").symlink_to(outside)
    for name in ("left", "linked", "cut"):
        (clones / f"{name}.planopt").write_text('{"/data/sales": 3}' if name != "cut" else "")
    assert [m.needs for m in Clones(str(tmp_path)).marks()] == [None, {"/data/sales": 3}, {"/data/sales": 3}]
    assert Clones(str(tmp_path)).sweep() == ["cut", "left", "linked"]
    assert [f.name for f in clones.iterdir()] == ["someones"]
    assert (outside / "kept").exists()
    assert Clones(str(tmp_path)).sweep() == []


def test_a_mark_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[list[str]] = []
    lock = fcntl.flock

    def overtaken(held: Any, how: int) -> None:
        if how == fcntl.LOCK_EX and not swept:  # the owner, for the first time
            swept.append([])
            swept[0] = Clones(str(tmp_path)).sweep()
        lock(held, how)

    monkeypatch.setattr(module.fcntl, "flock", overtaken)
    with Clones(str(tmp_path)).holding([PinnedTable("sales", "/data/sales", "t-1", 3)], "run-1") as mark:
        assert swept == [["run-1"]]
        assert Clones(str(tmp_path)).sweep() == []
        assert [(m.id, m.needs) for m in Clones(str(tmp_path)).marks()] == [("run-1", {"/data/sales": 3})]
    assert not mark.exists()


def test_a_clone_that_cannot_be_removed_keeps_its_mark_for_the_next_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(folder: Path) -> None:
        raise OSError(30, "Read-only file system", str(folder))

    def clone(spark: Any, table: PinnedTable, folder: Path) -> PinnedTable:
        (folder / "_delta_log").mkdir(parents=True)
        return table

    clones, spark = Clones(str(tmp_path)), None
    monkeypatch.setattr(module, "_clone", clone)
    with monkeypatch.context() as patch:
        patch.setattr(module.shutil, "rmtree", refused)
        with clones.cloned(spark, PinnedTable("sales", "/data/sales", "t-1", 3), "lay-1"):  # type: ignore[arg-type]
            pass  # no error: what the trial showed is not lost
        assert clones.sweep() == []
    assert sorted(f.name for f in (tmp_path / "_clones").iterdir()) == ["lay-1", "lay-1.planopt"]
    assert clones.sweep() == ["lay-1"]
    assert not list((tmp_path / "_clones").iterdir())
