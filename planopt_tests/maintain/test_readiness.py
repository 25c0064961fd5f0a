"""Readiness of tables written by hand: debt, overlap, growth, statistics, retention, and what follows."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.maintain.readiness import table_readiness, unreadable
from planopt_assets.model.data_file import Commit, Damage, DataFile, TableLog
from planopt_assets.model.table_facts import Column, Protocol, TableFacts
from planopt_assets.model.table_readiness import TableReadiness

pytestmark = pytest.mark.fast

HOUR, MIB = 3_600_000, 2**20
USES = {"id": ("q1", "q2")}


def facts(**changes: Any) -> TableFacts:
    known: dict[str, Any] = {"head": "commit a", **changes}
    return TableFacts("t", "/t", "x", 5, Protocol(1, 2), (Column("id", "long"), Column("day", "date")), **known)


def file(place: int, size: int = MIB, **changes: Any) -> DataFile:
    known: dict[str, Any] = {"rows": 100, "least": {"id": place * 10}, "greatest": {"id": place * 10 + 9}, **changes}
    return DataFile(f"f{place}", size, **known)


def ready(log: TableLog, **changes: Any) -> TableReadiness:
    known: dict[str, Any] = {
        "facts": facts(),
        "uses": USES,
        "read_by": ["q2", "q1"],
        "cores": 2,
        "now_ms": 0,
        **changes,
    }
    return table_readiness(known.pop("facts"), log, **known)


def causes(found: TableReadiness) -> set[str]:
    return {f.cause for f in found.findings}


def test_a_table_of_few_whole_files_is_ready_and_says_nothing() -> None:
    found = ready(TableLog(tuple(file(n, 6 * MIB) for n in range(4)), checked=True))
    assert (found.files, found.debt, found.integrity, found.findings, found.ready) == (4, 0, "verified", (), True)
    assert found.read_by == ("q1", "q2")


def test_small_files_are_a_debt_with_its_price_and_the_command() -> None:
    found = ready(TableLog(tuple(file(n, MIB // 4) for n in range(120)), checked=True))
    assert (found.small_files, found.compacted_files, found.debt) == (120, 4, 116)
    (finding,) = found.findings
    assert (finding.cause, finding.severity, finding.command) == ("small_files", "warning", "planopt maintain t")
    assert finding.consequence == (
        "120 of 120 files are smaller than 4 MiB; a full scan opens 116 files too many, about 0.23 s CPU"
    )
    assert found.ready  # a debt is no reason not to read it


def test_small_files_of_different_partitions_cannot_be_merged() -> None:
    files = tuple(file(n, 1000, partition=(("day", f"2026-01-{n + 1:02d}"),)) for n in range(20))
    found = ready(TableLog(files, checked=True), facts=facts(partition_columns=("day",)))
    assert (found.debt, found.partitions, found.largest_partition_bytes) == (0, 20, 1000)


def test_overlap_tells_sorted_from_shuffled_files() -> None:
    apart = ready(TableLog(tuple(file(n, 6 * MIB) for n in range(4))))
    same = ready(TableLog(tuple(file(n, 6 * MIB, least={"id": 0}, greatest={"id": 99}) for n in range(4))))
    assert [c.depth for c in (*apart.columns, *same.columns)] == [1.0, 4.0]
    assert apart.columns[0].used_by == ("q1", "q2")


def test_a_table_clustered_in_name_only_is_told_so() -> None:
    files = tuple(file(n, 6 * MIB, least={"id": 0}, greatest={"id": 99}) for n in range(4))
    found = ready(TableLog(files, checked=True), facts=facts(clustering_columns=("id",)))
    assert causes(found) == {"not_clustered"}


def test_a_filter_column_without_statistics_is_found() -> None:
    files = (file(0, 6 * MIB), file(1, 6 * MIB, least={}, greatest={}))
    (finding,) = ready(TableLog(files, checked=True)).findings
    assert finding.cause == "no_statistics"
    assert finding.consequence == "1 of 2 files have no range of id, which q1, q2 use: they are never skipped by it"


def test_many_deleted_rows_are_a_debt_too() -> None:
    found = ready(TableLog((file(0, 6 * MIB, deleted_rows=40), file(1, 6 * MIB)), checked=True))
    assert (found.rows, found.deleted_rows, found.deletion_vector_files) == (160, 40, 1)
    assert causes(found) == {"deletion_vectors"}


def test_growth_is_measured_over_the_commits_and_unknown_below_an_hour() -> None:
    hourly = tuple(Commit(v, v * HOUR, "WRITE", 2, 10) for v in range(13))
    found = ready(TableLog((file(0),), commits=hourly), now_ms=12 * HOUR)
    assert (found.growth_days, found.commits_per_day, found.files_per_day, found.bytes_per_day) == (0.5, 24, 48, 240)
    assert ready(TableLog((file(0),), commits=hourly[:1])).files_per_day is None


def test_a_table_that_was_loaded_long_ago_and_left_alone_does_not_grow() -> None:
    """266 appends in 90 minutes are 4,240 files a day while they last, and less than one a day a year later."""
    load = tuple(Commit(v, v * 90 * 60_000 // 265, "WRITE", 1, 10) for v in range(266))
    log = TableLog((file(0),), commits=load)
    assert ready(log, now_ms=load[-1].at_ms).files_per_day == pytest.approx(4240)
    assert ready(log, now_ms=365 * 24 * HOUR).files_per_day == pytest.approx(265 / 365)
    assert ready(log, now_ms=0).files_per_day == pytest.approx(4240)  # the writer's clock is ahead


def test_a_long_tail_of_the_log_is_found() -> None:
    assert "long_log" in causes(ready(TableLog((file(0),), commits_since_checkpoint=50)))
    assert "long_log" not in causes(ready(TableLog((file(0),), commits_since_checkpoint=15)))


DAY = 24 * HOUR
MERGED = (Commit(4, 0, "WRITE", 1), Commit(5, DAY, "OPTIMIZE", 1, 1, 4, data_change=False))
APPENDED = (Commit(4, 0, "WRITE", 1), Commit(5, DAY, "WRITE", 1))


def hazard(commits: tuple[Commit, ...], now_ms: int, **properties: str) -> tuple[str, str] | None:
    """The severity and the end of what is said of version 4, if anything is."""
    kept = facts(properties=tuple((f"delta.{name}", value) for name, value in properties.items()))
    log = TableLog((file(0, 6 * MIB),), commits=commits, checked=True)
    found = ready(log, facts=kept, pinned=[4, 5], now_ms=now_ms).findings
    assert {f.cause for f in found} <= {"pinned_version"}
    return next(((f.severity, f.consequence.partition("version 4; ")[2]) for f in found), None)


def test_a_version_that_evidence_rests_on_may_break_and_when_is_said() -> None:
    words = "4 of its files were replaced since, and VACUUM may delete them from 1970-01-{} 00:00 UTC on"
    assert hazard(MERGED, DAY) == ("warning", words.format("09"))
    monthly = {"deletedFileRetentionDuration": "interval 20 days"}
    assert hazard(MERGED, 13 * DAY, **monthly) == ("note", words.format("22"))  # 8 days ahead
    assert hazard(MERGED, 14 * DAY, **monthly) == ("warning", words.format("22"))  # 7 days ahead
    assert hazard(MERGED, 99 * DAY, **monthly) == ("warning", words.format("22"))


def test_clean_up_of_the_log_ends_a_version_too() -> None:
    words = "later ones follow, and clean-up of the log may delete its commit from 1970-01-31 00:00 UTC on"
    assert hazard(APPENDED, DAY) == ("note", words)
    assert hazard(APPENDED, 23 * DAY) == ("warning", words)
    assert hazard(APPENDED, 23 * DAY, enableExpiredLogCleanup="false") is None
    assert hazard(APPENDED, 23 * DAY, logRetentionDuration="interval 400000 days") is None
    short = hazard(MERGED, DAY, logRetentionDuration="interval 2 days")  # what comes first is said
    assert short == ("warning", words.replace("01-31", "01-03"))


def test_a_commit_that_is_no_longer_listed_is_older_than_those_that_are() -> None:
    later = (Commit(9, 2 * DAY, "WRITE", 1), Commit(10, 3 * DAY, "WRITE", 1))
    assert (hazard(later, 3 * DAY) or ("", ""))[1].endswith("from 1970-02-02 00:00 UTC on")


def test_the_newest_version_does_not_break() -> None:
    assert hazard((Commit(4, 0, "WRITE", 1),), 99 * DAY) is None


def test_a_short_retention_is_a_hazard() -> None:
    short = facts(properties=(("delta.deletedFileRetentionDuration", "interval 1 hours"),))
    found = ready(TableLog((file(0, 6 * MIB),), checked=True), facts=short)
    assert (found.deleted_file_retention_hours, causes(found)) == (1.0, {"short_retention"})


def test_damage_makes_a_table_not_ready_and_comes_first() -> None:
    found = ready(TableLog(tuple(file(n, 10) for n in range(20)), damages=(Damage("a data file is gone", "f3"),)))
    assert (found.integrity, found.ready, found.findings[0].cause) == ("damaged", False, "damaged")
    assert found.findings[0].consequence == "a data file is gone (f3)"


def test_a_log_that_went_back_lost_commits() -> None:
    before = ready(TableLog((file(0),), checked=True))
    later = ready(TableLog((file(0),), checked=True), facts=facts(), before=before)
    assert not causes(later) & {"went_back", "rewritten", "replaced"}
    lost = ready(
        TableLog((file(0),), checked=True), facts=TableFacts("t", "/t", "x", 3, Protocol(1, 2), ()), before=before
    )
    assert (lost.findings[0].cause, lost.ready) == ("went_back", False)
    rewritten = ready(TableLog((file(0),), checked=True), facts=facts(head="commit b"), before=before)
    assert (rewritten.findings[0].cause, rewritten.ready) == ("rewritten", False)
    other = TableFacts("t", "/t", "y", 0, Protocol(1, 2), ())
    assert "replaced" in causes(ready(TableLog((file(0),), checked=True), facts=other, before=before))


def test_unknown_features_are_findings_of_their_own() -> None:
    found = ready(TableLog(()), unknown_reader_features=("aether",), unknown_writer_features=("aether", "ether"))
    assert [(f.cause, f.severity) for f in found.findings if f.cause.startswith("unknown")] == [
        ("unknown_reader_feature", "error"),
        ("unknown_writer_feature", "warning"),
    ]


def test_an_empty_table_is_ready() -> None:
    found = ready(TableLog((), checked=True))
    assert (found.files, found.bytes, found.debt, found.ready, found.findings) == (0, 0, 0, True, ())


def test_a_table_that_cannot_be_read_keeps_what_was_known() -> None:
    before = ready(TableLog((file(0),)))
    found = unreadable("t", "/t", "commit 3 in its log is empty", "restore it", ["q1"], before)
    assert (found.table_id, found.version, found.ready, found.integrity) == ("x", 5, False, "damaged")
    assert found.files is None
