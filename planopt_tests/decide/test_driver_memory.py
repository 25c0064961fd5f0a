"""What the driver may hold of broadcasts: what a threshold lets in, beside what hints ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.decide.driver_memory import has_room_below, room_for_broadcasts
from planopt_assets.model.evidence import Evidence
from planopt_tests.decide.cases import evidence_of
from planopt_tests.measured import MIB

pytestmark = pytest.mark.fast

LARGE = {"rows": 9_000_000, "bytes": 900 * MIB, "estimated_bytes": 900 * MIB}


def joins(*small: dict[str, Any], **facts: Any) -> Evidence:
    """Shuffled joins of a large input with these; the planner estimates them rightly."""
    found = [{"left": LARGE, "right": {"rows": 1000, "estimated_bytes": one["bytes"], **one}} for one in small]
    return evidence_of({"executions": [{"joins": found}], **facts})


HINTED, NAMED = {"bytes": 40 * MIB, "target": "join0.right items"}, ("join0.right items",)


def let_in(size: int) -> dict[str, Any]:
    return {"bytes": size * MIB, "target": "join1.right shops"}


def test_each_fits_by_itself_and_both_together_do_not() -> None:
    evidence = joins(HINTED, let_in(30))
    assert room_for_broadcasts(evidence) == 64 * MIB
    assert has_room_below(evidence, 32 * MIB)
    assert not has_room_below(evidence, 32 * MIB, NAMED)


def test_both_together_fit_to_the_byte() -> None:
    assert has_room_below(joins(HINTED, let_in(24)), 32 * MIB, NAMED)
    assert not has_room_below(joins(HINTED, let_in(25)), 32 * MIB, NAMED)


def test_what_a_hint_names_and_the_threshold_lets_in_counts_once() -> None:
    assert has_room_below(joins(HINTED, let_in(20)), 48 * MIB, NAMED)


def test_a_hinted_input_of_unknown_size_is_too_large() -> None:
    unknown = {**HINTED, "bytes": None, "estimated_bytes": 900 * MIB}
    assert not has_room_below(joins(unknown, let_in(1)), 32 * MIB, NAMED)


def test_executions_are_not_added_up() -> None:
    """Bindings run one after the other: each has the driver for itself."""
    executions = (*joins(HINTED).executions, *joins(let_in(30)).executions)
    assert has_room_below(replace(joins(HINTED), executions=executions), 32 * MIB, NAMED)
