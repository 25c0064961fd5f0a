"""The identity of a query's inputs. If it is unchanged, there is nothing to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planopt_assets.model.ids import content_id
from planopt_assets.model.workload import EXPLORE, SIMILAR, Query, Table, Workload


@dataclass(frozen=True, slots=True)
class PinnedTable:
    """A registered table at the version that all stages of a run read."""

    name: str
    location: str
    table_id: str
    version: int
    head: str | None = None  # hash of the commit that made this version; None: an older planopt did not record it
    rows_head: str | None = None  # the same of the newest commit that changed rows, not only their layout

    @property
    def ref(self) -> str:
        return f"{self.name}@v{self.version}"

    def same_rows(self, other: PinnedTable) -> bool:
        """Whether both are surely the same rows, in the same files or in others."""
        return self.table_id == other.table_id and self.rows_head is not None and self.rows_head == other.rows_head


@dataclass(frozen=True, slots=True)
class QuerySource:
    """What defines a query: its SQL, or the source of its module with the modules of the workload it imports."""

    text: str
    modules: tuple[tuple[str, str], ...] = ()  # path, hash of the syntax tree; without the query's own module
    not_followed: tuple[str, ...] = ()  # imports that only a run of the module could tell, with their places


def query_fingerprint(query: Query, source: QuerySource) -> str:
    """The hash of a query's definition: its text (or its module's source), the modules it imports, its bindings."""
    bindings = [list(map(list, b)) for b in query.bindings]
    modules = {"modules": [list(m) for m in source.modules]} if source.modules else {}
    return content_id("qry", {"source": query.source, "text": source.text, "bindings": bindings, **modules})


def input_fingerprint(
    workload: Workload,
    query: Query,
    known_as: str,
    tables: tuple[PinnedTable, ...],
    contract: dict[str, str],
    *,
    captured: bool,
    java: str | None,
) -> str:
    """The hash of everything that could change an outcome: query, table versions, settings, budgets, planopt's rules.

    `known_as` is the fingerprint of the query, or that of an earlier spelling of it: then earlier evidence is kept.
    `java` is the release of Java, such as `17`. It is no part of `contract`, which verdicts are remembered by: their
    context has the whole version of Java already. A query that was not `captured` was refused, which no Java changes,
    or it failed and is tried again anyway.

    The head tells diverged copies of a table apart: both have its id, and may have the same version. Where a table is
    does not count. Two copies with the same head hold the same data, and a folder may be moved.

    The mode is left out on purpose: evidence from `advise` may be promoted in `auto`. The list of registered tables
    matters only to a query that was not `captured`: a missing table may be why it was refused.
    """
    content = _content(workload, query, known_as, tables, contract, captured=captured)
    heads = sorted([t.name, t.table_id, t.version, t.head] for t in tables)
    return content_id("inp", content | {"tables": heads, "java": java if captured else None})


def older_input_fingerprint(
    workload: Workload,
    query: Query,
    known_as: str,
    tables: tuple[PinnedTable, ...],
    contract: dict[str, str],
    *,
    captured: bool,
) -> str:
    """The fingerprint of rows before schema version 6: without the heads of the tables, and without Java."""
    return content_id("inp", _content(workload, query, known_as, tables, contract, captured=captured))


def _content(
    workload: Workload,
    query: Query,
    known_as: str,
    tables: tuple[PinnedTable, ...],
    contract: dict[str, str],
    *,
    captured: bool,
) -> dict[str, Any]:
    return {
        "query": known_as,
        "runs_per_day": float(query.runs_per_day),  # 24 and 24.0 are equal, but their texts differ
        "tables": sorted([t.name, t.table_id, t.version] for t in tables),
        "master": workload.master,
        "settings": dict(workload.spark_settings),
        "objective": workload.objective,
        "budgets": [workload.budgets.per_candidate, workload.budgets.per_query, workload.budgets.per_run],
        "knobs": [list(workload.knobs.allow), list(workload.knobs.deny), dict(workload.knobs.pin)],
        "seed": workload.seed,
        "allow_python": workload.allow_python,
        "registered": None if captured else sorted(_registration(workload, t) for t in workload.tables),
        "contract": contract,
        # Left out where it is the default, so that older fingerprints hold.
        **_executor_seconds(workload),
        **({} if workload.similar_within == SIMILAR else {"similar_within": workload.similar_within}),
        **({} if workload.budgets.explore == EXPLORE else {"explore": workload.budgets.explore}),
    }


def _executor_seconds(workload: Workload) -> dict[str, Any]:
    limits = [workload.budgets.executor_seconds_per_query, workload.budgets.executor_seconds_per_run]
    return {} if limits == [None, None] else {"executor_seconds": limits}


def context_hash(
    workload: Workload,
    query: Query,
    tables: tuple[PinnedTable, ...],
    schemas: str,
    contract: dict[str, str],
    *,
    engine: str | None = None,
    layouts: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The hash of what a verdict depends on, besides query text and table sizes. A new context re-opens the query.

    Budgets, seed and the limits of automation are left out: they decide what is tried, not what a trial shows.
    `schemas` is the hash of the tables' contract. Everything that makes a policy expire is included, so evidence from
    before an expiry is not reused after it.
    """
    return content_id(
        "ctx",
        {
            "bindings": [list(map(list, b)) for b in query.bindings],
            "tables": sorted([t.name, t.table_id] for t in tables),
            "schemas": schemas,
            "master": workload.master,
            "settings": dict(workload.spark_settings),
            "pin": dict(workload.knobs.pin),
            "objective": workload.objective,
            "allow_python": workload.allow_python,
            "contract": contract,
            "engine": engine,
            "layouts": {name: dict(layout) for name, layout in (layouts or {}).items()},
        },
    )


def _registration(workload: Workload, table: Table) -> list[str]:
    """A table as named in the workload file. It does not depend on where the folder is."""
    folder = f"{workload.file.parent}/"
    return [table.name, table.catalog or (table.path or "").removeprefix(folder)]
