"""How the queries of a workload use one table, from their stored scans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planopt_assets.maintain.predicates import AllOf, Test, named_columns, range_test, renamed
from planopt_assets.model.scan_record import ScanRecord
from planopt_assets.model.table_facts import TableFacts

_NOT_NULL = re.compile(r"IsNotNull\(([^()]+)\)")


@dataclass(frozen=True, slots=True)
class ScanUse:
    """One scan: the test that decides which files it keeps, and what it read when it was observed."""

    test: Test
    version: int
    read_files: int | None
    read_bytes: int | None
    total_files: int | None


@dataclass(frozen=True, slots=True)
class QueryUse:
    """All scans of a table by one query, over all its bindings."""

    query_id: str
    runs_per_day: float
    observation_id: str
    scans: tuple[ScanUse, ...]


def table_use(facts: TableFacts, scans: Iterable[ScanRecord], rates: Mapping[str, float]) -> tuple[QueryUse, ...]:
    """One entry per query, by its id; `scans` are those of each query's newest observation."""
    names = {c.name.casefold(): c.name for c in facts.columns}
    found: dict[str, list[ScanRecord]] = {}
    for scan in scans:
        if scan.table == facts.name and scan.query_id in rates:
            found.setdefault(scan.query_id, []).append(scan)
    return tuple(
        QueryUse(query, rates[query], records[0].observation_id, tuple(_scan(r, names) for r in records))
        for query, records in sorted(found.items())
    )


def used_columns(facts: TableFacts, scans: Sequence[ScanRecord]) -> dict[str, tuple[str, ...]]:
    """Columns that queries filter or join on, with these queries.

    Join keys show in what Spark hands to the scan: it adds `IsNotNull` for each key of an inner join.
    """
    names = {c.name.casefold(): c.name for c in facts.columns}
    found: dict[str, set[str]] = {}
    for scan in scans:
        if scan.table != facts.name:
            continue
        filtered = [c for conjunct in scan.conjuncts for c in named_columns(conjunct.text)]
        joined = [c.strip("`") for text in scan.pushed_filters for c in _NOT_NULL.findall(text)]
        for column in (*filtered, *joined):
            if (name := names.get(column.casefold())) is not None:
                found.setdefault(name, set()).add(scan.query_id)
    return {column: tuple(sorted(queries)) for column, queries in sorted(found.items())}


def _scan(record: ScanRecord, names: Mapping[str, str]) -> ScanUse:
    usable = [c for c in record.conjuncts if c.place != "join"]
    test = AllOf(tuple(renamed(range_test(c.text), names) for c in usable))
    read = record.funnel.read if record.funnel.read.files is not None else record.funnel.scanned
    return ScanUse(test, record.table_version, read.files, read.bytes, record.funnel.total.files)
