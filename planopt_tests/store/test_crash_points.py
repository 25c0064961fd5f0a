"""Crash points: nothing happens unless the environment names one, and then the process is gone at once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from planopt_assets.store.crash_points import EXIT_CODE, POINTS, VARIABLE, reached
from planopt_tests.fresh_python import ROOT

pytestmark = pytest.mark.fast

CODE = """
import atexit
from planopt_assets.store.crash_points import reached
atexit.register(lambda: print("cleaned up"))
try:
    reached("after_promotion_commit")
    print("went on")
finally:
    print("left in order")
"""


def run(point: str | None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)} | ({VARIABLE: point} if point else {})
    return subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False)


def test_the_process_dies_at_the_named_point_without_cleaning_up() -> None:
    done = run("after_promotion_commit")
    assert (done.returncode, done.stdout) == (EXIT_CODE, "")


@pytest.mark.parametrize("point", [None, "", "after_promote_lineage"], ids=["unset", "empty", "another point"])
def test_otherwise_nothing_happens(point: str | None) -> None:
    done = run(point)
    assert (done.returncode, done.stdout) == (0, "went on\nleft in order\ncleaned up\n")


def test_reaching_a_point_costs_nothing_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    for point in POINTS:
        reached(point)
