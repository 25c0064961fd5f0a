"""Outcomes as a person reads them, and as rows of the store."""

from __future__ import annotations

import json

import pytest

from planopt_assets.model.scan_record import ScanRecord
from planopt_assets.observe.pushdown.classify import classify
from planopt_assets.observe.pushdown.render import markdown
from planopt_assets.observe.pushdown.thresholds import Thresholds
from planopt_assets.store.codecs.observing import SCANS
from planopt_tests.observe.pushdown.facts import OFFERS, call, column, compare, conjunct, literal, scan

pytestmark = pytest.mark.fast

YEAR = conjunct(call("EqualTo", call("Year", column("ts")), literal(2024)))
FACTS = scan(conjunct(compare("EqualTo", "id", 5)), YEAR, skipping_filters=("id = 5",), read=600, rows=600)
OUTCOME = classify(FACTS, OFFERS, {}, Thresholds({("small partitioned", "range"): 0.3}))


def test_the_table_has_a_row_for_each_predicate_and_the_finding_stands_out() -> None:
    empty = classify(scan(position=1), OFFERS, {}, Thresholds())
    assert markdown([OUTCOME, empty]) == (
        "| scan | predicate | outcome | why | what to do |\n"
        "|---|---|---|---|---|\n"
        "| 0: orders@3, 25% skipped | `id = 5` | partial_pushdown | prunes files by their statistics |  |\n"
        "|  | `year(ts) = 2024` |  | a function of ts is compared, not ts itself "
        "| **write it as a range of ts: ts >= '2024-01-01' AND ts < '2025-01-01'** |\n"
        "| 1: orders@3, 0% skipped |  | no_predicate | no predicate on this table |  |"
    )


def test_without_scans_the_table_says_so_and_pipes_do_not_break_it() -> None:
    assert markdown([]) == "No registered table was scanned."
    piped = conjunct(compare("EqualTo", "code", "a|b"))
    assert "`code = 'a\\|b'`" in markdown([classify(scan(piped), OFFERS, {}, Thresholds())])


def test_a_row_of_the_store_has_the_funnel_and_everything_as_plain_values() -> None:
    row = SCANS.to_row(ScanRecord.of("q", "obs-run-q-b0", 0, FACTS, OUTCOME))
    assert [row[f"{step}_files"] for step in ("total", "partition", "scanned", "read", "matched")] == [8, 8, 6, 6, None]
    assert (row["outcome"], row["families"], row["pruned_share"]) == (
        "partial_pushdown",
        ["equality", "function"],
        0.25,
    )
    assert OUTCOME.finding is not None
    assert row["finding"] == f"{OUTCOME.finding.reason}: {OUTCOME.finding.fix}"
    assert [c["used"] for c in json.loads(row["conjuncts"])] == ["files", "nothing"]
