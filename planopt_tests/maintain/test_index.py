"""Bloom filters: proposed for columns looked up by value that ranges cannot serve, accepted only if less is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.maintain.index import index_proposal, index_reads_less
from planopt_assets.maintain.workload_judge import QueryPairs
from planopt_assets.validate.pairs import Pair
from planopt_tests.maintain.subjects import subject, use
from planopt_tests.measured import counters

pytestmark = pytest.mark.fast


def test_a_column_with_many_values_that_is_looked_up_gets_filters() -> None:
    proposal = index_proposal(subject(use("point", "customer = 4711", "status = 'done'")))
    assert proposal is not None
    assert (proposal.action, proposal.columns) == ("bloom", ("customer",))  # few values of status: no filter
    assert proposal.bytes_rewritten == proposal.bytes_before
    assert proposal.break_even_days is not None
    assert proposal.expected[0].saving_cpu_ns == round(0.5 * 5_000_000 * 100)  # a row left out, as everywhere else


@pytest.mark.parametrize(
    "test", ["customer > 4711", "status = 'done'", "upper(status) = 'X'", "customer = 1 OR day = 3"]
)
def test_other_predicates_get_none(test: str) -> None:
    assert index_proposal(subject(use("q", test))) is None


def test_ranges_that_skip_well_need_no_filter() -> None:
    one = subject(use("point", "customer = 4711"))
    apart = tuple(
        replace(f, least={**f.least, "customer": 1000 * i}, greatest={**f.greatest, "customer": 1000 * i + 999})
        for i, f in enumerate(one.files)
    )
    assert index_proposal(replace(one, files=apart)) is None


def test_a_rare_query_does_not_pay_for_the_rewrite() -> None:
    assert index_proposal(subject(use("point", "customer = 4711", runs=1 / 300))) is None


def reads(**after: Any) -> Any:
    pairs = [Pair((counters(input_rows=1000),), (counters(**{"input_rows": 1000, **after}),))] * 3
    return index_reads_less([QueryPairs("q", 24.0, 0.1, pairs)])


def test_filters_that_leave_nothing_out_fail() -> None:
    assert reads().passed is False
    assert reads(input_rows=400).passed is True
    assert reads(scan_bytes=50).passed is True
    assert reads(input_rows=400).note.startswith("input_rows 1,000 -> 400")
