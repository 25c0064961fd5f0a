"""Expiry: does what a policy was proven on still exist? Pure: two observations in, the reason or nothing out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

_PROPERTY = re.compile(r"'((?:[^'\\]|\\.)*)' = '((?:[^'\\]|\\.)*)'")
# Properties that move no file and change no scan.
_NO_LAYOUT = re.compile(
    r"delta\.(feature\..*|constraints\..*|columnMapping\.maxColumnId|appendOnly|enableChangeDataFeed"
    r"|.*[Rr]etention.*|.*[Cc]heckpoint.*|in[Cc]ommitTimestamp.*|enableInCommitTimestamps.*)"
)


def expired(
    before: Sequence[Row], after: Sequence[Row], tables_before: Sequence[Row] = (), tables_after: Sequence[Row] = ()
) -> str:
    """Why evidence gathered on `before` says nothing about `after`; empty where it still does.

    The rows are those of `plan_artifacts` (one per binding) and `input_tables`. A column that is null on either side
    was not recorded and cannot tell. New rows in a table, comments and another formatting of the query expire nothing.
    """
    then, now = before[0], after[0]
    if _differ(then, now, "canonical_fingerprint"):
        return "the query means something else"
    if _calls(before) != _calls(after):
        return "the query is called with other parameters"
    if words := _engine(then["engine"], now["engine"]):
        return words
    if words := _layout(tables_before, tables_after):
        return words
    if _differ(then, now, "contract_hash"):
        return "schema or constraints of its tables changed"
    return ""


def _differ(then: Row, now: Row, column: str) -> bool:
    return None not in (then[column], now[column]) and then[column] != now[column]


def _calls(rows: Sequence[Row]) -> list[str]:
    return sorted(r["parameters"] or "{}" for r in rows)


def _engine(then: str | None, now: str | None) -> str:
    """
    >>> _engine("delta 4.4.0, java 17.0.9, spark 4.2.0", "delta 4.4.0, java 21.0.1, spark 4.2.0")
    'the engine changed: java 17.0.9 is java 21.0.1 now'
    """
    if then is None or now is None or then == now:
        return ""
    before, after = then.split(", "), now.split(", ")
    gone, new = [p for p in before if p not in after], [p for p in after if p not in before]
    return f"the engine changed: {', '.join(gone)} is {', '.join(new)} now"


def _layout(then: Sequence[Row], now: Sequence[Row]) -> str:
    before = {r["table"]: layout_of(r["metadata"]) for r in then if r["metadata"]}
    after = {r["table"]: layout_of(r["metadata"]) for r in now if r["metadata"]}
    for table in sorted(before.keys() & after.keys()):
        for part in sorted({*before[table], *after[table]}):
            was, new = before[table].get(part, "not set"), after[table].get(part, "not set")
            if was != new:
                return f"the layout of {table} changed: {part} was {was} and is {new}"
    return ""


def layout_of(metadata: str) -> dict[str, str]:
    """Partitioning, clustering and the properties that shape files or scans, from a table's stored metadata.

    >>> layout_of("CREATE TABLE `t` (\\n  `d` DATE\\n)\\nUSING delta\\nPARTITIONED BY (`d`)\\n"
    ...           "TBLPROPERTIES ('delta.targetFileSize' = '32mb', 'delta.logRetentionDuration' = '1 day');")
    {'partitioned by': '`d`', 'delta.targetFileSize': '32mb'}
    """
    found: dict[str, str] = {}
    for line in metadata.removesuffix(";").splitlines():
        text = line.removesuffix(";")
        for clause, part in (("PARTITIONED BY (", "partitioned by"), ("CLUSTER BY (", "clustered by")):
            if text.startswith(clause):
                found[part] = text.removeprefix(clause).removesuffix(")")
        if text.startswith("TBLPROPERTIES ("):
            found |= {name: value for name, value in _PROPERTY.findall(text) if not _NO_LAYOUT.fullmatch(name)}
    return found
