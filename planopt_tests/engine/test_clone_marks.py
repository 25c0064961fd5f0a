"""Marks of clones and runs, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_assets.engine.delta.clones import FOLDER, MARK, Clones

pytestmark = pytest.mark.fast


def test_a_mark_that_is_removed_while_others_are_swept_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    for name in ("gone", "left"):
        (folder / f"{name}{MARK}").write_text("{}")
    clones = Clones(str(tmp_path))
    listed = clones._marked()
    monkeypatch.setattr(Clones, "_marked", lambda self: listed)
    (folder / f"gone{MARK}").unlink()  # as its owner does when it ends
    assert clones.sweep() == ["left"]
    assert not list(folder.iterdir())
