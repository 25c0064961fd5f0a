"""A small workload that is right, and a way to write one that is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planopt_assets.errors import WorkloadError, WorkloadErrors
from planopt_assets.workload import load_workload

RIGHT = """\
version: 1
name: demo
tables:
  orders: data/orders
queries:
  - id: first
    sql: SELECT 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, so that a message names the file just as the user did: `planopt.yaml`."""
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def mistakes_in(folder: Path) -> Callable[[str | bytes], tuple[WorkloadError, ...]]:
    """The mistakes that loading this text reports."""

    def mistakes(text: str | bytes) -> tuple[WorkloadError, ...]:
        (folder / "planopt.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        try:
            load_workload("planopt.yaml")
        except WorkloadErrors as several:
            return several.errors
        except WorkloadError as one:
            return (one,)
        return ()

    return mistakes
