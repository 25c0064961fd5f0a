"""Bloom filters in a table's files, opt-in: which columns are worth them, and whether a trial showed that they help.

A filter tells that a value is not in a row group. It helps where queries look for single values of a column with many
different ones, and no range can rule files out. Sorting by the column helps more; so it is proposed only where the
table is not sorted anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from planopt_assets.decide.materiality import HORIZON_DAYS
from planopt_assets.maintain.layouts import Layout, layout_of_bins, scales_of
from planopt_assets.maintain.predicates import AllOf, Compare, Test
from planopt_assets.maintain.prices import MERGE_ROW_NS, SKIPPED_ROW_NS
from planopt_assets.maintain.propose import filter_columns
from planopt_assets.maintain.subject import Subject
from planopt_assets.maintain.table_use import ScanUse
from planopt_assets.maintain.workload_judge import QueryPairs, workload_pairs
from planopt_assets.model.layout_proposal import ExpectedRead, LayoutProposal
from planopt_assets.model.verdict import Criterion
from planopt_assets.validate.pairs import unknown

DISTINCT = 0.5  # different values among the rows of a sample: below it a value is in most row groups anyway
OVERLAPPING = 0.5  # share of files that ranges keep: below it they skip well already
SKIPPED = 0.5  # of the rows, assumed: a filter errs, and row groups with the value are read
READS_LESS = "reads_less"


def index_proposal(subject: Subject) -> LayoutProposal | None:
    """Filters for the columns that are looked up by value, if half of the rows left out pays for the rewrite.

    Worked: 96 runs a day look one of 5 M different keys up, in 40 files whose ranges all hold it. Half of 5 M rows are
    0.25 s a run, 24 s a day. Writing 5 M rows again costs 20 s: paid after 0.8 days.
    """
    if not subject.files or not subject.uses or not subject.sample.rows:
        return None
    scales = scales_of(subject.facts, filter_columns(subject.uses), subject.files, subject.sample)
    now = layout_of_bins([[f] for f in subject.files], scales)
    columns = tuple(dict.fromkeys(c for use in subject.uses for s in use.scans for c in _columns(subject, now, s)))
    if not columns:
        return None
    expected = tuple(
        ExpectedRead(use.query_id, use.runs_per_day, files, size, files, size, round(SKIPPED * rows * SKIPPED_ROW_NS))
        for use in subject.uses
        for files, size, rows in [_read(subject, now, use.scans)]
        if rows
    )
    saving, cost = sum(e.saving_cpu_ns * e.runs_per_day for e in expected), subject.rows * MERGE_ROW_NS
    if saving * HORIZON_DAYS <= 2 * cost:  # once on the clone, once on the table
        return None
    facts = subject.facts
    return LayoutProposal(
        *(facts.name, facts.table_id, facts.version, "bloom"),
        columns=columns,
        files_before=len(subject.files),
        files_after=len(subject.files),
        bytes_before=subject.bytes,
        bytes_rewritten=subject.bytes,
        expected=expected,
        rewrite_cpu_ns=cost,
        break_even_days=cost / saving,
        writers="files that are appended later have no filters, until the next rewrite",
        reason=f"{', '.join(columns)}: looked up by value, with many different ones, and the ranges of files overlap",
        arithmetic=(("rows", subject.rows), ("saving_ns_per_day", round(saving)), ("rewrite_cpu_ns", cost)),
        evidence_ids=(facts.ref, *(use.observation_id for use in subject.uses)),
    )


def _columns(subject: Subject, now: Layout, scan: ScanUse) -> Iterator[str]:
    for test in _equalities(scan.test):
        values = [v for v in subject.sample.columns.get(test.column, ()) if v is not None]
        many = values and len(set(values)) >= DISTINCT * len(values)
        kept = now.ranges.kept(test).sum() if many else 0
        if kept >= max(1, OVERLAPPING * len(subject.files)) and test.column not in subject.facts.partition_columns:
            yield test.column


def _equalities(test: Test) -> Iterator[Compare]:
    """Those that every row must fulfil."""
    if isinstance(test, Compare) and test.op in ("=", "in"):
        yield test
    if isinstance(test, AllOf):
        for part in test.parts:
            yield from _equalities(part)


def _read(subject: Subject, now: Layout, scans: Sequence[ScanUse]) -> tuple[int, int, float]:
    """Files, bytes and rows that these scans read and that a filter could leave out."""
    files = size = 0.0
    for scan in scans:
        if any(True for _ in _columns(subject, now, scan)):
            kept = now.ranges.kept(scan.test)
            files, size = files + float(kept.sum()), size + float(now.bytes[kept].sum())
    return round(files), round(size), size / subject.row_bytes


def index_reads_less(queries: Sequence[QueryPairs]) -> Criterion:
    """Whether fewer rows or bytes are read with the filters. A filter that skips no row group is only larger files.

    Spark does not count row groups; the rows that scans hand out do: a row group that is skipped hands out none.
    """
    pairs = workload_pairs(queries)
    told = [name for name in ("input_rows", "scan_bytes") if pairs and not unknown(pairs, (name,))]
    sides = [[p.totals(name) for p in pairs] for name in told]
    read = [(median(b for b, _ in values), median(c for _, c in values)) for values in sides]
    before, after = read[0] if read else (None, None)
    note = ", ".join(f"{name} {b:,.0f} -> {c:,.0f}" for name, (b, c) in zip(told, read, strict=True))
    passed = any(c < b for b, c in read) if read else None
    return Criterion(READS_LESS, passed, before, after, "fewer rows or bytes read", note)
