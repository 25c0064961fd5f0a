"""Is a query whose text changed still the query it was? Asked without Spark, of the rows stored under its id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from planopt_assets.errors import TableUnreadable
from planopt_assets.model.ids import content_id

if TYPE_CHECKING:
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.workload import Query, Workload


def earlier_spelling(workload: Workload, query: Query, artifacts: Sequence[PlanArtifact], pins: Pins) -> str | None:
    """The fingerprint under which this query was last observed before its text was written in another way.

    None where the text means something else, or where nobody can tell: then the query is observed anew.
    """
    captured = [a for a in artifacts if a.captured and a.from_text]
    if query.sql is None or not captured or not _same_bindings(query, captured[-1].stamp.run_id, captured):
        return None
    last = captured[-1]
    same = _canonical(workload, query.sql, last, pins) == last.canonical_fingerprint
    return last.query_fingerprint if same else None


def canonical_identity(artifacts: Sequence[PlanArtifact]) -> str | None:
    """What makes two observations ones of the same query: the canonical form of all bindings.

    A form that was not made from the text (a DataFrame, or SQL that sqlglot cannot read) does not show the body of a
    Python function, so there the exact text counts too.
    """
    if not artifacts or any(not a.captured or not a.canonical_fingerprint for a in artifacts):
        return None
    forms = sorted({a.canonical_fingerprint or "" for a in artifacts})
    if len(forms) == 1 and all(a.from_text for a in artifacts):
        return forms[0]
    return content_id("cql", {"forms": forms, "text": artifacts[0].query_fingerprint})


def _same_bindings(query: Query, run_id: str, artifacts: Sequence[PlanArtifact]) -> bool:
    """Values as they are now against values as they are stored: a secret one, stored hidden, is never the same."""
    stored = [a.parameters for a in sorted(artifacts, key=lambda a: a.binding) if a.stamp.run_id == run_id]
    return stored == [json.dumps(dict(b), sort_keys=True) for b in query.bindings]


def _canonical(workload: Workload, sql: str, artifact: PlanArtifact, pins: Pins) -> str | None:
    from planopt_assets.observe.bundle import schemas_of
    from planopt_assets.observe.sql.canonical import canonical_form

    declared = {t.name: t.path for t in workload.tables}
    try:
        facts = [pins.facts(t.name, declared.get(t.name) or t.location) for t in artifact.tables]
    except TableUnreadable:
        return None
    form = canonical_form(sql, schemas_of(facts))
    return form.fingerprint if form.form == "sqlglot" else None
