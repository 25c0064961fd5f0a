"""What two planned sides say about a release, without Spark."""

from __future__ import annotations

import pytest

from planopt_assets.loop.release.findings import compared
from planopt_assets.loop.release.side import Side
from planopt_assets.model.plan import Plan
from planopt_assets.model.scan import ConjunctOutcome, Funnel, Level, ScanFacts, ScanOutcome, Size

pytestmark = pytest.mark.fast

NO_PLAN = Plan("initial", (), "jvm")


def side(*output: tuple[str, str], used: Level | None = None, files: int = 8, read: int = 800) -> Side:
    """A result with these columns, from one scan of `sales` with one predicate."""
    if used is None:
        return Side(NO_PLAN, (), (), output)
    funnel = Funnel(Size(files, 800), scanned=Size(files, read))
    scan = ScanFacts("sales", 1, 0, "delta", True, ("id",), (), (), (), (), (), "", funnel)
    predicate = ConjunctOutcome("abs(id) < 5", "range", "data", used, used, "pushed", reason="a function hides it")
    outcome = ScanOutcome("sales", 1, 0, "plain", "full_pushdown", "", (predicate,), (), None)
    return Side(NO_PLAN, (scan,), (outcome,), output)


def said(before: Side, after: Side) -> list[tuple[str, str, str]]:
    return [(f.severity, f.kind, f.words) for f in compared(before, after) if f.kind in ("contract", "pushdown")]


A, B = ("a", "int"), ("b", "int")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((A, B), (A,), [("error", "contract", "column b is gone from the result")]),
        ((A, A), (A,), [("error", "contract", "column a was there 2 times and is 1 times")]),
        ((A, A), (A, ("a", "string")), [("error", "contract", "column a was int, int and is int, string")]),
        ((A,), (A, A), [("note", "contract", "new in the result: a")]),
        ((A, B), (B, A), [("warning", "contract", "the columns of the result are in another order")]),
        ((A, B), (A, B), []),
    ],
)
def test_columns_are_kept_by_name_and_type_also_where_a_name_stands_twice(
    before: tuple[tuple[str, str], ...], after: tuple[tuple[str, str], ...], expected: list[tuple[str, str, str]]
) -> None:
    assert said(side(*before), side(*after)) == expected


WHY = "abs(id) < 5: a function hides it"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            side(used="files", read=100),
            side(used="nothing"),
            [("error", "pushdown", f"sales: 800 bytes are read instead of 100. {WHY}")],
        ),
        (
            side(used="files", files=1),
            side(used="nothing", files=1),
            [("error", "pushdown", f"sales: a predicate no longer chooses files. {WHY}")],
        ),
        (
            side(used="files"),
            side(used="nothing"),
            [("warning", "pushdown", f"sales: a predicate no longer chooses files. {WHY}")],
        ),
        (
            side(used="files", read=100),
            side(used="files"),
            [("warning", "pushdown", "sales: 800 bytes are read instead of 100")],
        ),
        (side(used="nothing"), side(used="files", read=100), []),
    ],
    ids=["more is read", "one file cannot tell", "nothing more is read", "another predicate", "gained"],
)
def test_a_lost_pushdown_is_an_error_where_it_costs_or_where_the_table_cannot_tell(
    before: Side, after: Side, expected: list[tuple[str, str, str]]
) -> None:
    assert said(before, after) == expected
