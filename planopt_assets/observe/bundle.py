"""The bundle of an observation: its parts that must repeat, and what they say about the query. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import ExplainUnreadable
from planopt_assets.model.bundle import Parts, Planned
from planopt_assets.model.canonical import Canonical
from planopt_assets.model.ids import content_id
from planopt_assets.model.plan import Plan
from planopt_assets.model.scan import ScanFacts
from planopt_assets.observe.explain.text import parse_formatted
from planopt_assets.observe.plans.agreement import disagreements
from planopt_assets.observe.plans.column_lineage import column_lineage
from planopt_assets.observe.plans.fingerprint import plan_fingerprint, scanned_table, topology_hash
from planopt_assets.observe.plans.plan_dependent import plan_dependent
from planopt_assets.observe.plans.udfs import udf_audit
from planopt_assets.observe.sql.canonical import canonical_form, canonical_from_analyzed

if TYPE_CHECKING:
    from planopt_assets.model.column_lineage import ColumnLineage
    from planopt_assets.model.table_facts import TableFacts
    from planopt_assets.model.udf import UdfAudit

# Scans that read no table, so they need no native scan.
_NO_TABLE = ("Scan OneRowRelation", "Scan ExistingRDD")
_SCANS = ("Scan", "BatchScan", "InMemoryTableScan", "FileScan", "HiveTableScan")


@dataclass(frozen=True, slots=True)
class Understood:
    """What is known about a query beyond its plan. Except for literals, it is the same for all bindings."""

    canonical: Canonical
    lineage: ColumnLineage
    udfs: UdfAudit
    plan_dependent: tuple[str, ...] = ()


def understand(
    sql: str | None, planned: Planned, tables: Sequence[TableFacts], first_id: int, source: str = ""
) -> Understood:
    """Canonical form, column lineage and functions of an analysed query. `source` is the owner of its UDFs."""
    found = canonical_form(sql, schemas_of(tables)) if sql is not None else None
    if found is None or found.form == "analyzed_plan":
        reason = found.reason if found else "a DataFrame query has no SQL text"
        found = canonical_from_analyzed(planned.analyzed_text, reason, first_id)
    named = {t.name: t.name for t in tables}
    return Understood(
        found,
        column_lineage(planned.analyzed, named),
        udf_audit(planned.analyzed, source),
        plan_dependent(planned.analyzed),
    )


def schemas_of(tables: Sequence[TableFacts]) -> dict[str, list[tuple[str, str]]]:
    return {t.name: [(c.name, c.type) for c in t.columns] for t in tables}


def planned_parts(planned: Planned, initial: Plan, scans: Sequence[ScanFacts]) -> Parts:
    """The parts that a second planning of the query must give again."""
    return (
        ("analyzed", content_id("ana", planned.analyzed)),
        ("optimized", content_id("opt", planned.optimized)),
        ("plan", plan_fingerprint(initial)),
        ("topology", topology_hash(initial)),
        ("scans", content_id("scn", [_planned_scan(s) for s in scans])),
        ("planning_env", planned.environment.hash),
        ("rulepack", planned.rulepack.hash),
        ("output", content_id("out", [list(c) for c in planned.output])),
    )


def _planned_scan(scan: ScanFacts) -> dict[str, Any]:
    """A scan as planned. What the run read is in no hash."""
    facts = asdict(scan)
    funnel = facts.pop("funnel")
    return {**facts, "funnel": {stage: funnel[stage] for stage in ("total", "partition", "scanned")}}


def other_scans(initial: Plan, scans: Sequence[ScanFacts]) -> list[str]:
    """Kinds of scans in the plan that are not among these native scans, each once."""
    known = {s.table for s in scans}
    found = [
        node.kind
        for node in initial.nodes
        if node.kind.startswith(_SCANS)
        and not node.kind.startswith(_NO_TABLE)
        and (scanned_table(node) not in known or not node.kind.startswith("Scan parquet"))
    ]
    return sorted(set(found))


def extractors_disagree(
    initial: Plan, final: Plan, planned: Planned, tables: Mapping[str, str], first_id: int
) -> list[str] | None:
    """The differences between the two readers of the plan. None: the text was not captured."""
    texts = dict(planned.explains)
    found = []
    for plan, mode in ((initial, "formatted"), (final, "formatted_final")):
        if mode not in texts:
            return None
        try:
            read = parse_formatted(texts[mode], phase=plan.phase, tables=tables, first_id=first_id)
        except ExplainUnreadable as error:
            found.append(f"{plan.phase}: {error.what}")
            continue
        found += [f"{plan.phase}: {words}" for words in disagreements(plan, read)]
    return found


def sampled(share: float, *key: str) -> bool:
    """Whether this key is in the sample. The same key always gives the same answer.

    >>> sampled(0.0, "q"), sampled(1.0, "q")
    (False, True)
    """
    return int(content_id("smp", list(key)).removeprefix("smp_"), 16) < share * 2**64


def plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
