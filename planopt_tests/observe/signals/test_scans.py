"""Scans: what each read and into how many tasks, with what is known of its predicates."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.model.scan import ConjunctOutcome, Funnel, ScanFacts, ScanOutcome, Size
from planopt_assets.model.signals import Scan
from planopt_assets.observe.plans.metrics import FILE_BYTES, FILES
from planopt_assets.observe.signals.scans import scans
from planopt_assets.observe.signals.tree import Tree
from planopt_tests.observe.captured import captured, plan_of
from planopt_tests.observe.signals.plans import tree
from planopt_tests.observe.signals.test_shuffles import accumulators
from planopt_tests.rows import scan_facts

pytestmark = pytest.mark.fast


def fact(position: int, read: Size, *conjuncts: tuple[str, str], **others: Any) -> tuple[ScanFacts, ScanOutcome]:
    """A scan of `orders` that read so much; conjuncts are families with the causes why they were not used."""
    funnel = Funnel(total=Size(9, 9_000, 900), read=read, matched=Size(rows=position))
    facts = scan_facts(table="orders", position=position, funnel=funnel, **others)
    outcomes = tuple(
        ConjunctOutcome("x", family, "data", "files", "nothing" if cause else "files", "missed", cause)
        for family, cause in conjuncts
    )
    return facts, ScanOutcome("orders", 1, position, "small", "partial_pushdown", "", outcomes, (), None)


def test_the_scans_of_an_executed_plan_have_files_bytes_and_tasks() -> None:
    final = captured("final")
    values = dict(zip(accumulators(final, FILES), (120, 60, 20, 1), strict=True))
    values |= dict(zip(accumulators(final, FILE_BYTES), (12_000, 6_000, 2_000, 100), strict=True))
    splits = {"lineitem": [65], "orders": [33], "customer": [11], "nation": [1]}
    found = scans(Tree(plan_of(final, "final", values)), splits)
    assert [(s.table, s.files, s.bytes, s.splits) for s in found] == [
        ("lineitem", 120, 12_000, 65),
        ("orders", 60, 6_000, 33),
        ("customer", 20, 2_000, 11),
        ("nation", 1, 100, 1),
    ]


TWICE = """
Union
  Scan parquet | table orders | files=1 size=10 rows=100 width=12
  Scan parquet | table nation | files=2 size=20 rows=5
  Scan parquet | table orders | files=3 size=30 rows=300
"""


def test_a_table_scanned_twice_gets_its_tasks_in_plan_order() -> None:
    found = scans(tree(TWICE), {"orders": [10, 30], "nation": [20]})
    assert [(s.table, s.splits) for s in found] == [("orders", 10), ("nation", 20), ("orders", 30)]


def test_reading_the_tasks_leaves_the_given_splits_as_they_were() -> None:
    splits = {"orders": [10]}
    scans(tree(TWICE), splits)
    assert splits == {"orders": [10]}


def test_a_scan_of_which_nothing_is_known_counts_zero() -> None:
    assert scans(tree("Scan parquet | table orders"), {}) == (Scan(0, "orders", files=0, bytes=0, splits=0),)


def test_facts_are_found_again_by_what_was_read_and_not_by_their_place() -> None:
    late = fact(0, Size(3, 30, 300), ("equal", ""))
    early = fact(
        1, Size(1, 10, 100), ("range", "cast"), ("equal", "cast"), native=False, runtime_filters=("dynamicpruning",)
    )
    first, other, second = scans(tree(TWICE), {}, [late, early])
    assert first == Scan(
        1,
        "orders",
        1,
        10,
        0,
        table_bytes=9_000,
        read_rows=100,
        matched_rows=1,
        row_bytes=12,
        native=False,
        families=("equal", "range"),
        causes=("cast",),
        runtime_filters=1,
    )
    assert (second.matched_rows, second.families, second.causes) == (0, ("equal",), ())
    assert other == Scan(2, "nation", 2, 20, 0)


def test_of_scans_that_read_the_same_each_has_facts_of_its_own() -> None:
    outline = "Union\n" + "  Scan parquet | table orders | files=1 size=10 rows=100\n" * 2
    found = scans(tree(outline), {}, [fact(3, Size(1, 10, 100)), fact(7, Size(1, 10, 100))])
    assert [s.matched_rows for s in found] == [3, 7]


def test_facts_of_a_scan_that_never_ran_belong_to_no_scan() -> None:
    (scan,) = scans(tree("Scan parquet | table orders"), {}, [fact(3, Size())])
    assert scan.table_bytes is None
