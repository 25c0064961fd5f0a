"""Partitioned tables: skew is told, files are merged and sorted within their partition, and never by its column."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.maintain.propose import layout_proposals
from planopt_assets.maintain.readiness import table_readiness
from planopt_assets.maintain.subject import Subject
from planopt_assets.maintain.table_use import QueryUse
from planopt_assets.model.data_file import DataFile, TableLog
from planopt_tests.maintain.subjects import FILES, facts, subject, use

pytestmark = pytest.mark.fast

MIB = 2**20
DAYS = 4


def partitioned(*uses: QueryUse) -> Subject:
    """Four days of sixteen files each."""
    whole = subject(*uses, facts=facts(partition_columns=("day",)))
    files = [replace(f, partition=(("day", str(place % DAYS)),)) for place, f in enumerate(whole.files)]
    day_of = {f.path: int(f.partition[0][1] or 0) for f in files}
    columns = {**whole.sample.columns, "day": [day_of[path] for path in whole.sample.file]}
    return replace(whole, files=tuple(files), sample=replace(whole.sample, columns=columns))


def test_a_partition_that_is_much_larger_than_the_others_is_told() -> None:
    files = tuple(
        DataFile(f"f{day}", (80 if day == 3 else 6) * MIB, 100, partition=(("day", str(day)),)) for day in range(5)
    )
    found = table_readiness(
        facts(partition_columns=("day",)), TableLog(files, checked=True), uses={}, read_by=["q"], cores=2, now_ms=0
    )
    (skew,) = [f for f in found.findings if f.cause == "partition_skew"]
    assert (skew.severity, skew.command) == ("note", "")
    assert skew.consequence == (
        f"its largest partition has {80 * MIB:,} bytes, the median one {6 * MIB:,}: tasks on it take longest"
    )


def test_small_files_are_merged_within_their_partition() -> None:
    (proposal,) = layout_proposals(partitioned(use("sum_all")))
    assert (proposal.action, proposal.files_before, proposal.columns) == ("compact", FILES, ())
    assert proposal.files_after % DAYS == 0
    assert proposal.files_after < FILES


def test_a_partitioned_table_is_sorted_within_its_partitions_and_never_by_their_column() -> None:
    point, by_day = use("point", "customer = 4711", runs=200), use("by_day", "day = 2", runs=2_000)
    proposal = layout_proposals(partitioned(point, by_day))[0]
    assert (proposal.action, proposal.columns) == ("zorder", ("customer",))
    reads = {e.query_id: (e.files_before, e.files_after) for e in proposal.expected}
    assert reads["point"] == (FILES, DAYS)  # one file of each day
    assert reads["by_day"][0] == FILES // DAYS
