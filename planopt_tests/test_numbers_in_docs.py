"""Numbers that the pages name are those of the code."""

from __future__ import annotations

import re

import pytest

from planopt_assets.model.counters import Counters
from planopt_tests.fresh_python import ROOT

pytestmark = pytest.mark.fast

COUNTERS = {"observe.md": r"^(\d+) per execution, in nanoseconds", "coverage.md": r"\b(\d+) counters per execution"}


@pytest.mark.parametrize("page", COUNTERS)
def test_a_page_names_as_many_counters_as_an_execution_has(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert re.findall(COUNTERS[page], text, re.MULTILINE) == [str(len(Counters.names()))]
