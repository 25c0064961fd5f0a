"""Properties that keep a layout: proposed where the log speaks for them, and else with the reason why not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.maintain.growth import Growth
from planopt_assets.maintain.keep_properties import set_instead
from planopt_assets.maintain.permission import may_not_set, protocol_with
from planopt_assets.maintain.propose import layout_proposals
from planopt_assets.maintain.subject import Subject
from planopt_assets.maintain.writes import Writes, writes
from planopt_assets.model.data_file import Commit, RowChange
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.table_facts import Protocol
from planopt_assets.model.table_properties import AUTO_COMPACT, DELETION_VECTORS, OPTIMIZE_WRITE
from planopt_assets.model.workload import Table
from planopt_tests.maintain.subjects import facts, subject, use

pytestmark = pytest.mark.fast

MANY_FILES = Growth(files_per_append=60.0)
COPIES = Writes(row_changes=6, changed_rows=60, copied_rows=5_000_000, copied_bytes=200_000_000)
VECTORS = ((DELETION_VECTORS, "true"),)


def written(*, properties: Any = (), protocol: Protocol | None = None, **changes: Any) -> Subject:
    """64 small files of 121.6 MB, which are worth merging."""
    found = facts(properties=tuple(properties))
    return subject(use("sum_all"), facts=replace(found, protocol=protocol or found.protocol), **changes)


def proposed(table: Subject) -> dict[str, LayoutProposal]:
    """The proposals of properties, by property."""
    return {p.properties[0][0]: p for p in layout_proposals(table) if p.action == "properties"}


def why_not(table: Subject, name: str) -> str:
    assert name not in proposed(table)
    return str(dict(layout_proposals(table)[0].arithmetic)[name])


def appends(*small_files: int) -> Writes:
    return writes([Commit(v, v, "WRITE", n, 10 * n, small_files=n) for v, n in enumerate(small_files)])


# All of them


def test_properties_keep_a_layout_that_is_there_and_are_not_proposed_without_one() -> None:
    large = written(grown=MANY_FILES, writes=COPIES)
    large = replace(large, files=tuple(replace(f, bytes=40_000_000, rows=1_600_000) for f in large.files[:4]))
    assert layout_proposals(large) == ()
    assert list(proposed(replace(large, laid_out=True))) == [OPTIMIZE_WRITE, DELETION_VECTORS]


@pytest.mark.parametrize("name", [OPTIMIZE_WRITE, AUTO_COMPACT, DELETION_VECTORS])
@pytest.mark.parametrize("value", ["true", "false"])
def test_what_somebody_has_set_stays_as_it_is(name: str, value: str) -> None:
    table = written(properties=[(name, value)], grown=MANY_FILES, writes=replace(COPIES, appends=2, compactable=2))
    assert why_not(table, name) == f"not proposed: it is set to {value}"


def test_a_table_that_only_has_its_layout_says_nothing_where_nothing_is_proposed() -> None:
    still = replace(written(), laid_out=True)
    still = replace(still, files=tuple(replace(f, bytes=190_000_000, rows=8_000_000) for f in still.files[:4]))
    assert layout_proposals(still) == ()


def test_each_property_is_a_proposal_of_its_own() -> None:
    found = proposed(written(grown=MANY_FILES, writes=replace(COPIES, appends=2, compactable=2)))
    assert list(found) == [OPTIMIZE_WRITE, AUTO_COMPACT, DELETION_VECTORS]
    assert len({p.id for p in found.values()}) == 3
    assert {name for name, p in found.items() if p.locks_out} == {DELETION_VECTORS}
    assert all(p.writers and not p.needs_proof and not p.rewrites for p in found.values())


# Optimized writes


def test_writers_that_leave_many_files_at_once_are_told_what_merging_costs_them() -> None:
    kept = proposed(written(grown=Growth(files_per_append=49.0)))[OPTIMIZE_WRITE]
    assert "shuffles its rows once more" in kept.writers
    assert "about 1 file instead of 49" in kept.writers


def test_writers_that_leave_few_files_have_nothing_to_merge() -> None:
    assert "an append leaves 2.0 files" in why_not(written(grown=Growth(files_per_append=2.0)), OPTIMIZE_WRITE)
    assert "no append" in why_not(written(), OPTIMIZE_WRITE)


# Auto compaction


def test_auto_compaction_is_proposed_where_appends_leave_as_many_files_as_it_needs() -> None:
    kept = proposed(written(grown=MANY_FILES, writes=appends(60, 60, 12)))[AUTO_COMPACT]
    assert kept.reason.startswith("2 of 3 appends leave at least 50 small files in a partition")
    assert "followed by a second job, for which it waits" in kept.writers


def test_auto_compaction_is_not_proposed_where_it_is_not_sure_to_act() -> None:
    """Appends of 49 files: whether 50 are ever counted together depends on processes, which the log does not tell."""
    words = why_not(written(grown=Growth(files_per_append=49.0), writes=appends(*[49] * 40)), AUTO_COMPACT)
    assert words == (
        "not proposed: it is not sure to act: after the first write of a process it needs 50 small files in a "
        "partition, and 0 of 40 appends leave so many, none more than 49"
    )
    assert "1 of 3 appends" in why_not(written(writes=appends(60, 2, 2)), AUTO_COMPACT)
    assert "no append" in why_not(written(), AUTO_COMPACT)


def test_of_optimized_writes_and_auto_compaction_one_is_enough() -> None:
    evidence = {"grown": MANY_FILES, "writes": appends(60, 60)}
    optimized = written(properties=[(OPTIMIZE_WRITE, "true")], **evidence)
    assert f"{OPTIMIZE_WRITE} is on" in why_not(optimized, AUTO_COMPACT)
    both = proposed(written(**evidence))
    assert set_instead(both[AUTO_COMPACT], list(both.values())) == OPTIMIZE_WRITE
    assert set_instead(both[OPTIMIZE_WRITE], list(both.values())) == ""
    declined = proposed(written(properties=[(OPTIMIZE_WRITE, "false")], **evidence))
    assert list(declined) == [AUTO_COMPACT]
    assert set_instead(declined[AUTO_COMPACT], list(declined.values())) == ""


# Deletion vectors


def test_deletion_vectors_are_proposed_where_few_rows_cost_a_copy_of_many() -> None:
    kept = proposed(written(writes=COPIES))[DELETION_VECTORS]
    assert kept.reason.startswith(
        "6 commits that deleted or updated 60 rows wrote 5,000,000 others again, 200.0 MB; the table has 121.6 MB"
    )
    assert "about 33.3 MB less each" in kept.writers
    assert "Readers pay" in kept.writers
    assert "APPLY (PURGE)" in kept.writers
    assert (
        kept.locks_out == "software without the table feature `deletionVectors` could no longer read it or write to it"
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Writes(), "the log tells of 0 commits that delete or update rows, 3 are needed"),
        (replace(COPIES, row_changes=2), "the log tells of 2 commits"),
        (replace(COPIES, changed_rows=1_000_000), "fewer than 10 for each"),
        (replace(COPIES, copied_bytes=100_000_000), "100.0 MB: less than the table has, 121.6 MB"),
    ],
    ids=["none", "few", "many rows", "few bytes"],
)
def test_deletion_vectors_are_not_proposed_where_copies_are_few(found: Writes, words: str) -> None:
    assert words in why_not(written(writes=found), DELETION_VECTORS)


def test_a_table_that_iceberg_reads_gets_no_deletion_vectors() -> None:
    iceberg = Protocol.of(2, 7, (), ("columnMapping", "icebergCompatV2"))
    assert "icebergCompatV2 forbids them" in why_not(written(protocol=iceberg, writes=COPIES), DELETION_VECTORS)


def test_a_table_that_has_the_feature_locks_nobody_out() -> None:
    has = Protocol.of(3, 7, ["deletionVectors"], ["deletionVectors"])
    assert proposed(written(protocol=has, writes=COPIES))[DELETION_VECTORS].locks_out == ""
    assert protocol_with(has, VECTORS) == has


def test_the_protocol_is_raised_only_where_the_workload_file_allows_exactly_that() -> None:
    before = Protocol.of(2, 5)
    why, fix = may_not_set(Table("orders", "/orders", features=("clustering",)), before, VECTORS)
    assert "`deletionVectors` could no longer read it" in why
    assert fix.endswith("write `features: [deletionVectors]` below `orders:`")
    assert may_not_set(Table("orders", "/orders", features=("deletionVectors",)), before, VECTORS) == ("", "")
    assert may_not_set(Table("orders", "/orders"), before, [(DELETION_VECTORS, "false")]) == ("", "")


def test_commits_that_only_insert_or_only_move_rows_change_none() -> None:
    inserted = Commit(0, 0, "MERGE", 1, 10, row_change=RowChange(0, 0, 0))
    moved = Commit(1, 0, "OPTIMIZE", 60, 10, 9, data_change=False, small_files=60)
    assert writes([inserted, moved]) == Writes(appends=1)
