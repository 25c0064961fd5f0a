"""What a branch changes in a workload against a baseline, query by query. Starts no Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from planopt_assets.model.workload import Query, Table, Workload
from planopt_assets.observe.sql.binder import Schemas
from planopt_assets.observe.sql.edits import edit_list
from planopt_assets.observe.sql.named_tables import named_tables
from planopt_assets.observe.sql.same_query import why_different

Kind = Literal["same", "spelling", "changed", "added", "removed"]
Fingerprint = Callable[[Workload, Query], str]


@dataclass(frozen=True, slots=True)
class QueryChange:
    """One query of the baseline, of the branch, or of both."""

    query_id: str
    kind: Kind
    words: str
    before: Query | None = None
    after: Query | None = None

    @property
    def comparable(self) -> bool:
        """Whether both sides have to be planned."""
        return self.kind == "changed"


def changes(before: Workload, after: Workload, schemas: Schemas, fingerprint: Fingerprint) -> list[QueryChange]:
    """All queries of both workloads, in the order of the branch; removed ones come last.

    A query counts as changed if its meaning did, if its parameters did, if a table it names is in another place, or if
    Spark's settings are others. Formatting, comments, aliases and `runs_per_day` change nothing.
    """
    shared = settings_changed(before, after)
    moved = moved_tables(before, after)
    old = {q.id: q for q in before.queries}
    found = []
    for query in after.queries:
        was = old.pop(query.id, None)
        if was is None:
            found.append(QueryChange(query.id, "added", "the baseline does not have it", after=query))
            continue
        kind, words = _compare(was, query, schemas, fingerprint(before, was) == fingerprint(after, query))
        for why in (*shared, *(f"table {name} is in another place" for name in moved if _names(query, name))):
            kind, words = "changed", why if kind != "changed" else f"{words}; {why}"
        found.append(QueryChange(query.id, kind, words, was, query))
    return found + [QueryChange(q.id, "removed", "the branch does not have it", before=q) for q in old.values()]


def settings_changed(before: Workload, after: Workload) -> list[str]:
    """Settings of Spark that both sides do not share, in words.

    >>> from pathlib import Path
    >>> one = Workload("w", Path("w"), "s", (), (), spark_settings=(("spark.sql.shuffle.partitions", "8"),))
    >>> settings_changed(one, Workload("w", Path("w"), "s", (), ()))
    ['spark.sql.shuffle.partitions was 8 and is not set']
    """
    was, new = before.session_settings, after.session_settings
    names = sorted(name for name in was.keys() | new.keys() if was.get(name) != new.get(name))
    return [f"{name} was {was.get(name, 'not set')} and is {new.get(name, 'not set')}" for name in names]


def moved_tables(before: Workload, after: Workload) -> list[str]:
    """Names that stand for another table than before."""
    was: Mapping[str, Table] = {t.name: t for t in before.tables}
    return [t.name for t in after.tables if t.name in was and _place(was[t.name]) != _place(t)]


def _place(table: Table) -> tuple[str | None, str | None]:
    return table.path, table.catalog


def _compare(before: Query, after: Query, schemas: Schemas, same_source: bool) -> tuple[Kind, str]:
    if same_source:
        return "same", "nothing changed"
    if before.bindings != after.bindings:
        return "changed", "its parameters changed"
    if before.sql is None or after.sql is None:
        return "changed", "the source of its Python changed"
    if not why_different(after.sql, before.sql, schemas):
        return "spelling", "only its spelling changed"
    edits = edit_list(before.sql, after.sql, schemas)
    return "changed", "; ".join(str(edit) for edit in edits) or "its text changed"


def _names(query: Query, table: str) -> bool:
    """A Python query may read any table."""
    return query.sql is None or table.lower() in named_tables(query.sql)
