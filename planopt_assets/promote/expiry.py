"""Expiry: does the evidence of a policy still apply? Pure: two observations in, a reason or nothing out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from planopt_assets.model.observation import PlanArtifact
from planopt_assets.model.table_layout import Layout
from planopt_assets.model.table_properties import SET_BY_PLANOPT

Layouts = Mapping[str, Layout]
"""Layout by table name. A table without a recorded layout is left out."""
CLUSTERED = "clustered by"


def expired(
    before: Sequence[PlanArtifact],
    after: Sequence[PlanArtifact],
    layouts_before: Layouts | None = None,
    layouts_after: Layouts | None = None,
    clustered: Collection[str] = (),
) -> str:
    """Why evidence from `before` no longer applies to `after`. Empty if it does.

    There is one artifact per binding. A fact that is missing on one side is not compared. New rows in a table, comments
    and other formatting of the query expire nothing; nor does what planopt's own layouts set. `clustered` are tables
    whose clustering columns it has changed.
    """
    then, now = before[0], after[0]
    if _differ(then.canonical_fingerprint, now.canonical_fingerprint):
        return "the meaning of the query changed"
    if _calls(before) != _calls(after):
        return "the parameters of the query changed"
    if words := _engine(then.engine, now.engine):
        return words
    if words := _layout(layouts_before or {}, layouts_after or {}, clustered):
        return words
    if _differ(then.contract_hash, now.contract_hash):
        return "the schema or constraints of its tables changed"
    return ""


def _differ(then: str | None, now: str | None) -> bool:
    return None not in (then, now) and then != now


def _calls(artifacts: Sequence[PlanArtifact]) -> list[str]:
    return sorted(a.parameters or "{}" for a in artifacts)


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


def _layout(before: Layouts, after: Layouts, clustered: Collection[str]) -> str:
    for table in sorted(before.keys() & after.keys()):
        own = {*SET_BY_PLANOPT, CLUSTERED} if table in clustered else SET_BY_PLANOPT
        for part in sorted({*before[table], *after[table]} - own):
            was, new = before[table].get(part, "not set"), after[table].get(part, "not set")
            if was != new:
                return f"the layout of {table} changed: {part} was {was} and is {new}"
    return ""
