"""Old text against new text in turns, with scripted executions: what counts, and whom a time limit speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from planopt_assets.engine.execution.execute import Measured
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import QueryTimedOut
from planopt_assets.loop.release.findings import Finding
from planopt_assets.loop.release.paired import MOST_PAIRS, measured
from planopt_assets.model.plan import Plan
from planopt_assets.model.trial import Digest
from planopt_assets.model.workload import Query, Workload
from planopt_assets.validate.judge_rules import Rules
from planopt_tests.measured import counters

pytestmark = pytest.mark.fast

QUERY = Query("q", sql="SELECT 1")


class Scripted:
    """A workspace whose executions take the next of these seconds; a negative one was disturbed."""

    workload = Workload("w", Path("w"), "s", (), (QUERY,))
    baseline = None

    def __init__(self, seconds: Iterable[float], result: str = "same") -> None:
        self._seconds: Iterator[float] = iter(seconds)
        self._result = result

    def execute(self, query: Query, binding: int, arm: Any, *, timeout_s: float) -> Measured:
        seconds = next(self._seconds)
        if abs(seconds) > timeout_s:
            raise QueryTimedOut("it takes too long", fix="-")
        said = "by another process" if seconds < 0 else ""
        return Measured(
            counters(abs(seconds)), Digest(1, self._result, self._result), Plan("final", (), "x"), disturbed=said
        )


def said(before: Iterable[float], after: Iterable[float], result: str = "same") -> list[Finding]:
    sides = [(cast(Workspace, Scripted(s, r)), QUERY) for s, r in ((before, "same"), (after, result))]
    return measured(sides[0], sides[1], 0, Rules())[0]


def one(*arguments: Any) -> tuple[str, str]:
    (found,) = said(*arguments)
    return found.severity, found.words


STEADY = (3.0, 3.01, 2.99) * 9


def test_slower_is_an_error_and_as_fast_is_a_note() -> None:
    assert one(STEADY, [2 * s for s in STEADY])[0] == "error"
    assert one(STEADY, STEADY)[0] == "note"


def test_slower_with_another_result_is_a_warning() -> None:
    found = said(STEADY, [2 * s for s in STEADY], "other")
    assert [f.severity for f in found] == ["warning", "warning"]


def test_a_time_limit_speaks_of_the_branch_and_not_of_a_baseline_that_hung_once() -> None:
    assert one(STEADY, [3.0, 60.0])[0] == "error"
    severity, words = one((3.0, 60.0, *STEADY), STEADY)
    assert severity in ("note", "warning"), words


def test_a_pair_that_was_disturbed_does_not_count() -> None:
    slow_for_once = (3.0, -9.0, -9.0, *STEADY)
    assert one(STEADY, slow_for_once)[0] == "note"
    severity, words = one(STEADY, [3.0] + [-9.0] * MOST_PAIRS)
    assert (severity, words) == ("warning", "nothing was measured: 9 of 9 pairs were disturbed from outside")
