"""A Dagster instance of a test's own, as `dg.instance_for_test` makes it, in a fifth of its time.

Most of that time goes into creating the tables of three SQLite files. They are created once, and copied for each test.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg


@contextmanager
def fresh_instance(overrides: dict[str, Any] | None = None) -> Iterator[dg.DagsterInstance]:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("history", "schedules"):
            shutil.copytree(_empty() / name, Path(folder, name))
        with dg.instance_for_test(overrides=overrides, temp_dir=folder) as instance:
            yield instance


@cache
def _empty() -> Path:
    """The storage of an instance that nothing happened in; it stays until the process ends."""
    folder = tempfile.TemporaryDirectory()
    with dg.instance_for_test(temp_dir=folder.name):
        pass
    _KEPT.append(folder)
    return Path(folder.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
