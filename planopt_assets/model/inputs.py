"""The identity of what a query reads and how: unchanged identity means nothing to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planopt_assets.model.ids import content_id
from planopt_assets.model.workload import Query, Table, Workload


@dataclass(frozen=True, slots=True)
class PinnedTable:
    """A registered table at the version every stage of a run reads."""

    name: str
    location: str
    table_id: str
    version: int

    @property
    def ref(self) -> str:
        return f"{self.name}@v{self.version}"


def query_fingerprint(query: Query, source_text: str) -> str:
    """The definition of a query: its text (or its module's source), and its bindings."""
    return content_id(
        "qry", {"source": query.source, "text": source_text, "bindings": [list(map(list, b)) for b in query.bindings]}
    )


def input_fingerprint(
    workload: Workload,
    query: Query,
    source_text: str,
    tables: tuple[PinnedTable, ...],
    contract: dict[str, str],
    *,
    captured: bool,
    known_as: str | None = None,
) -> str:
    """Everything that could change an outcome: query, table versions, settings, budgets, and planopt's own rules.

    `known_as` is the fingerprint of an earlier spelling of the same query, whose evidence then stands.

    The mode is left out on purpose: evidence gathered in `advise` may be promoted in `auto`. Which tables are
    registered matters only to a query that was not `captured`: one of them may be the one it was refused for.
    """
    return content_id(
        "inp",
        {
            "query": known_as or query_fingerprint(query, source_text),
            "runs_per_day": float(query.runs_per_day),  # 24 and 24.0 are the same, but not as text
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
        },
    )


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
    """What a verdict depends on besides the query's text and the size of its tables; another context re-opens it.

    Budgets, seed and the limits for automation are left out: they decide what is tried, not what a trial shows.
    `schemas` is the hash of the tables' contract. Whatever makes a policy expire is in it, so that what was proven
    before does not speak for what came after.
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
    """A table as the workload file names it: the same wherever the folder stands."""
    folder = f"{workload.file.parent}/"
    return [table.name, table.catalog or (table.path or "").removeprefix(folder)]
