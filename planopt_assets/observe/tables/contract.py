"""The contract of tables with the queries that read them, and what changed in it since the last run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planopt_assets.model.ids import content_id
from planopt_assets.model.table_ddl import sql_type
from planopt_assets.model.table_facts import TableFacts

Contract = dict[str, dict[str, Any]]  # plain data, as it is stored: JSON

BREAKING = "breaking"  # a query may fail, or see values that the contract excluded
COMPATIBLE = "compatible"  # queries that name their columns are not affected

# In each list, a later type can hold every value of the earlier ones.
_WIDER = (
    ("byte", "short", "integer", "long"),
    ("byte", "short", "integer", "double"),
    ("float", "double"),
    ("date", "timestamp_ntz"),
)


@dataclass(frozen=True, slots=True)
class Drift:
    """One change of a contract. `before` and `after` are empty if there is nothing to show."""

    table: str
    kind: str
    subject: str
    severity: str
    words: str
    before: str = ""
    after: str = ""


def contract_of(tables: Iterable[TableFacts]) -> Contract:
    """Schema and constraints of each table, as plain data. Comments, layout and files are not part of it."""
    return {
        t.name: {
            "columns": [{"name": c.name, "type": c.type, "nullable": c.nullable} for c in t.columns],
            "defaults": {c.name: c.default for c in t.columns if c.default is not None},
            # Top-level NOT NULL is a column's `nullable`, nested NOT NULL is in its type.
            "constraints": [[c.kind, c.subject, c.expression] for c in sorted(t.constraints) if c.kind != "not_null"],
            "partitioned_by": list(t.partition_columns),
        }
        for t in sorted(tables, key=lambda t: t.name)
    }


def contract_hash(contract: Contract) -> str:
    return content_id("ctr", contract)


def contract_drift(before: Contract, after: Contract) -> tuple[Drift, ...]:
    """Everything that changed between two contracts: tables by name, columns in order, then the rest.

    >>> old = {"t": {"columns": [{"name": "a", "type": "integer", "nullable": True}],
    ...        "defaults": {}, "constraints": [], "partitioned_by": []}}
    >>> new = {"t": {**old["t"], "columns": [{"name": "a", "type": "long", "nullable": True}]}}
    >>> [(d.kind, d.severity, d.words) for d in contract_drift(old, new)]
    [('type_changed', 'compatible', 'column a of t was INT and is BIGINT, which holds every value of it')]
    """
    return tuple(drift for name in sorted({*before, *after}) for drift in _table(name, before, after))


def _table(name: str, before: Contract, after: Contract) -> Iterator[Drift]:
    if name not in after:
        yield Drift(name, "table_removed", name, BREAKING, f"{name} is not read any more")
    elif name not in before:
        yield Drift(name, "table_added", name, COMPATIBLE, f"{name} is read now")
    else:
        old, new = before[name], after[name]
        yield from _columns(name, old["columns"], new["columns"])
        yield from _constraints(name, old["constraints"], new["constraints"])
        yield from _defaults(name, old["defaults"], new["defaults"])
        was, now = ", ".join(old["partitioned_by"]), ", ".join(new["partitioned_by"])
        if old["partitioned_by"] != new["partitioned_by"]:
            words = f"{name} was partitioned by {was or 'nothing'} and is by {now or 'nothing'}"
            yield Drift(name, "partitioning_changed", name, COMPATIBLE, words, was, now)


# Columns


def _columns(table: str, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Iterator[Drift]:
    """As in Spark, names that differ only in case are the same column."""
    old = {c["name"].lower(): c for c in before}
    new = {c["name"].lower(): c for c in after}
    for key, column in old.items():
        if key not in new:
            gone = f"column {column['name']} of {table} is gone"
            yield Drift(table, "column_removed", column["name"], BREAKING, gone, _shown(column))
        else:
            yield from _column(table, column, new[key])
    for key, column in new.items():
        if key not in old:
            words = f"{table} has a new column {column['name']}; only `SELECT *` shows it"
            yield Drift(table, "column_added", column["name"], COMPATIBLE, words, "", _shown(column))
    was, now = [key for key in old if key in new], [key for key in new if key in old]
    if was != now:
        words = f"the columns of {table} stand in another order; only `SELECT *` and positions show it"
        yield Drift(table, "columns_reordered", table, COMPATIBLE, words, ", ".join(was), ", ".join(now))


def _column(table: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[Drift]:
    name = new["name"]
    if old["name"] != name:
        words = f"column {old['name']} of {table} is written {name} now, which Spark does not tell apart"
        yield Drift(table, "column_recased", name, COMPATIBLE, words, old["name"], name)
    if old["type"] != new["type"]:
        was, now = sql_type(old["type"]), sql_type(new["type"])
        wider = _holds(_parsed(old["type"]), _parsed(new["type"]))
        words = f"column {name} of {table} was {was} and is {now}" + (
            ", which holds every value of it" if wider else ""
        )
        yield Drift(table, "type_changed", name, COMPATIBLE if wider else BREAKING, words, was, now)
    if old["nullable"] and not new["nullable"]:
        words = f"column {name} of {table} is NOT NULL now"
        yield Drift(table, "nullability_changed", name, COMPATIBLE, words, "NULL", "NOT NULL")
    if new["nullable"] and not old["nullable"]:
        words = f"column {name} of {table} was NOT NULL and may hold NULL now"
        yield Drift(table, "nullability_changed", name, BREAKING, words, "NOT NULL", "NULL")


def _shown(column: dict[str, Any]) -> str:
    return sql_type(column["type"]) + ("" if column["nullable"] else " NOT NULL")


def _parsed(type_text: str) -> Any:
    return json.loads(type_text) if type_text.startswith("{") else type_text


def _holds(old: Any, new: Any) -> bool:
    """Whether the new type holds every value of the old, and allows NULL nowhere inside where the old did not."""
    if old == new:
        return True
    if isinstance(old, str) or isinstance(new, str):
        return isinstance(old, str) and isinstance(new, str) and _is_wider(old, new)
    if old["type"] != new["type"]:
        return False
    if old["type"] == "array":
        return _holds(old["elementType"], new["elementType"]) and new["containsNull"] <= old["containsNull"]
    if old["type"] == "map":
        kept = _holds(old["keyType"], new["keyType"]) and _holds(old["valueType"], new["valueType"])
        return kept and new["valueContainsNull"] <= old["valueContainsNull"]
    if old["type"] == "struct":
        fields = {f["name"].lower(): f for f in new["fields"]}
        return all(
            (now := fields.get(f["name"].lower())) is not None
            and _holds(f["type"], now["type"])
            and now["nullable"] <= f["nullable"]
            for f in old["fields"]
        )
    return False


def _is_wider(old: str, new: str) -> bool:
    """Whether a plain type holds all values of another.

    >>> _is_wider("decimal(10,2)", "decimal(12,4)"), _is_wider("decimal(10,2)", "decimal(11,4)")
    (True, False)
    """
    pattern = r"decimal\((\d+),\s*(-?\d+)\)"
    if (was := re.fullmatch(pattern, old)) and (now := re.fullmatch(pattern, new)):
        whole, scale = int(was[1]) - int(was[2]), int(was[2])
        return int(now[1]) - int(now[2]) >= whole and int(now[2]) >= scale
    return any(old in line and new in line[line.index(old) :] for line in _WIDER)


# Constraints and defaults


def _constraints(table: str, before: list[list[str]], after: list[list[str]]) -> Iterator[Drift]:
    """A removed or changed constraint is breaking for queries that rely on it. A new one breaks no reader."""
    old = {(kind, subject): expression for kind, subject, expression in before}
    new = {(kind, subject): expression for kind, subject, expression in after}
    for key in sorted({*old, *new}):
        was, now = old.get(key), new.get(key)
        kind, subject = key
        what = f"the {kind} constraint on {subject} of {table}"
        if was is None:
            words = f"{what} is new: {now}"
            yield Drift(table, "constraint_added", f"{kind} {subject}", COMPATIBLE, words, "", str(now))
        elif now is None:
            words = f"{what} is gone: {was}"
            yield Drift(table, "constraint_removed", f"{kind} {subject}", BREAKING, words, was)
        elif was != now:
            changed = "generation_changed" if kind == "generated" else "constraint_changed"
            words = f"{what} was {was} and is {now}"
            yield Drift(table, changed, f"{kind} {subject}", BREAKING, words, was, now)


def _defaults(table: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Drift]:
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        if was != now:
            words = f"the default of {name} of {table} was {was or 'none'} and is {now or 'none'}; rows keep theirs"
            yield Drift(table, "default_changed", name, COMPATIBLE, words, was or "", now or "")
