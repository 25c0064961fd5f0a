"""`docs/coverage.md` claims only what tests cover: each test file and each test that it names exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from planopt_tests.fresh_python import ROOT

pytestmark = pytest.mark.fast

PAGE = (ROOT / "docs" / "coverage.md").read_text("utf-8")
NAMED = re.compile(r"(the doctest of )?`([\w/]+(?:\.py|/))`(?:: (\w+(?:, \w+)*))?")


def named(page: str) -> Iterator[tuple[bool, str, tuple[str, ...]]]:
    """Whether it is a doctest, the file or folder, and the tests of it; of the last cell of each row."""
    for row in (line for line in page.splitlines() if line.startswith("| ")):
        for doctest, file, tests in NAMED.findall(row.rstrip("| ").rpartition(" | ")[2]):
            told = [name.strip() for name in tests.split(",")] if tests else []
            yield bool(doctest), file, tuple(name for name in told if name and name != "all")


@cache
def names_in(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text("utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test_"))


def missing(page: str) -> list[str]:
    found = []
    for doctest, name, tests in named(page):
        path = ROOT / ("planopt_assets" if doctest else "planopt_tests") / name
        if not path.exists() or (doctest and ">>>" not in path.read_text("utf-8")):
            found.append(name)
        elif path.is_file() and not doctest:
            found += [f"{name}: {test}" for test in tests if f"test_{test}" not in names_in(path)]
    return found


def test_each_test_that_the_page_names_exists() -> None:
    assert missing(PAGE) == []


def test_no_row_names_a_test_file_twice_for_the_same() -> None:
    for row in PAGE.splitlines():
        told = list(named(row))
        assert sorted(told) == sorted(set(told)), row[:60]


def test_a_test_that_is_gone_would_be_found() -> None:
    row = "| A1 | what | `loop/test_steps.py`: gone; `no/test_x.py`: all; the doctest of `model/x.py` |"
    assert missing(row) == ["loop/test_steps.py: gone", "no/test_x.py", "model/x.py"]


def test_most_of_the_page_is_read() -> None:
    assert sum(len(tests) or 1 for _, _, tests in named(PAGE)) > 340
