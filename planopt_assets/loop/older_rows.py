"""Rows before schema version 6 know less of their inputs. They are compared by what they know, so nothing is run again.

They do not know the heads of their tables, nor the modules that a Python query imports. What is unknown counts as
unchanged until the query is next observed; from then on it is compared. Of Java they know the version, but their
fingerprint does not have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.loop.spelling import canonical_identity
from planopt_assets.model.inputs import QuerySource, query_fingerprint

if TYPE_CHECKING:
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.model.workload import Query


def seen_by_older_planopt(known: Sequence[PlanArtifact], fingerprint: str, java: str | None) -> bool:
    """Whether these inputs, by the older definition, were observed, and nobody has looked at the query since."""
    seen = [a for a in known if a.input_fingerprint == fingerprint]
    return bool(seen) and not known[-1].heads_known and (None in (java, seen[-1].java) or java == seen[-1].java)


def older_definition(query: Query, source: QuerySource, artifacts: Sequence[PlanArtifact]) -> str | None:
    """The fingerprint that a query with modules of its own was last observed under, if that was without them."""
    if not source.modules or not artifacts or artifacts[-1].heads_known:
        return None
    known = {a.query_fingerprint for a in artifacts}
    older = query_fingerprint(query, QuerySource(source.text))
    return older if older in known and query_fingerprint(query, source) not in known else None


def inherited(
    verdicts: Sequence[Verdict],
    query: Query,
    source: QuerySource,
    artifacts: Sequence[PlanArtifact],
    now: Sequence[PlanArtifact],
) -> Sequence[Verdict]:
    """The verdicts, those of the older definition as of the query that was first observed under the newer one.

    A verdict counts for one identity of a query. That of a Python query has the modules in it now, which is no reason
    to try its policies again. A module that changed since then is one.
    """
    first = next((a for a in artifacts if a.heads_known), None)
    if not source.modules or not now or first is None or first.query_fingerprint != now[0].query_fingerprint:
        return verdicts
    older = query_fingerprint(query, QuerySource(source.text))
    before, identity = canonical_identity([replace(a, query_fingerprint=older) for a in now]), canonical_identity(now)
    return [
        replace(v, canonical_fingerprint=identity)
        if v.canonical_fingerprint == before and v.stamp.recorded_at < first.stamp.recorded_at
        else v
        for v in verdicts
    ]
