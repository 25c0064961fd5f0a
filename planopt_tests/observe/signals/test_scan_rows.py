"""What a scan signal says about rows that the reader left out, and about ORs that it never saw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.model.scan import Conjunct, Expression, Funnel, ScanOutcome, Size
from planopt_assets.model.signals import Scan
from planopt_assets.observe.signals.scans import scans
from planopt_tests.observe.signals.plans import tree
from planopt_tests.rows import scan_facts

pytestmark = pytest.mark.fast

ONE = "Scan parquet | table orders | files=4 size=40 rows=100"
READ = Size(4, 40, 100)


def scan(funnel: Funnel, **others: Any) -> Scan:
    facts = scan_facts(table="orders", position=0, funnel=funnel, **others)
    outcome = ScanOutcome("orders", 1, 0, "small", "full_pushdown", "", (), (), None)
    [found] = scans(tree(ONE), {}, [(facts, outcome)])
    return found


def test_the_rows_of_the_files_are_those_delta_counted_when_it_chose_them() -> None:
    assert scan(Funnel(scanned=Size(4, 40, 1000), read=READ)).file_rows == 1000


def test_they_are_not_known_where_fewer_files_were_read_in_the_end() -> None:
    assert scan(Funnel(scanned=Size(9, 90, 2000), read=READ)).file_rows is None


def test_an_or_that_was_not_pushed_comes_with_its_normal_form() -> None:
    plain = Expression("EqualTo", args=(Expression("Column", "a", "long"), Expression("Literal", "1", "long")))
    other = Expression("Upper", args=(Expression("Column", "s", "string"),))
    both = Expression("And", args=(plain, other))
    conjunct = Conjunct("", Expression("Or", args=(both, both)), "data")
    funnel = Funnel(scanned=READ, read=READ)
    assert scan(funnel, conjuncts=(conjunct,), pushed_filters=()).normal_form == (4, 1)
    assert scan(funnel, conjuncts=(replace(conjunct, expression=both),), pushed_filters=()).normal_form is None
