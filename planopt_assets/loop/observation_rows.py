"""An observation as rows of the store. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import ExplainUnreadable
from planopt_assets.model.bundle import Parts, bundle_hash
from planopt_assets.model.plan import Plan
from planopt_assets.model.redaction import redact_all
from planopt_assets.model.table_ddl import create_statement
from planopt_assets.observe.bundle import Understood, plain
from planopt_assets.observe.evidence import digest_json, signals_json
from planopt_assets.observe.explain.text import explain_rows
from planopt_assets.observe.plans.estimates import (
    Misjudged,
    actual_bytes,
    misjudged,
    operator_ms,
)
from planopt_assets.observe.plans.fingerprint import plan_fingerprint, topology_hash
from planopt_assets.observe.plans.metrics import actual_rows
from planopt_assets.observe.plans.stored_plan import pack, tree_of
from planopt_assets.observe.pushdown.rows import outcome_row
from planopt_assets.observe.tables.contract import contract_hash, contract_of
from planopt_assets.observe.tables.schema_provenance import InputSchema, inline_inputs, schema_provenance

if TYPE_CHECKING:
    from planopt_assets.engine.execution.execute import Execution
    from planopt_assets.model.bundle import Planned
    from planopt_assets.model.scan import ScanFacts, ScanOutcome
    from planopt_assets.model.signals import Signals
    from planopt_assets.model.table_facts import TableFacts

Row = dict[str, Any]


def plan_columns(execution: Execution, final: Plan, signals: Signals) -> Row:
    """The physical plans: hashes, signals for rules, and the trees themselves."""
    initial, digest = execution.initial, execution.digest
    assert initial is not None
    assert digest is not None
    trees = {"initial": tree_of(initial), "final": tree_of(final)}
    packed, kept = pack(redact_all(trees))
    return {
        "plan_fingerprint": plan_fingerprint(initial),
        "topology_hash": topology_hash(initial),
        "final_plan_fingerprint": plan_fingerprint(final),
        "final_topology_hash": topology_hash(final),
        "extractor": initial.extractor,
        "signals": signals_json(signals),
        "digest": digest_json(digest),
        "plan": packed,
        **_logical_columns(execution.planned, kept),
    }


def _logical_columns(planned: Planned | None, physical: Row) -> Row:
    assert planned is not None
    analyzed, analyzed_kept = pack(redact_all(planned.analyzed))
    optimized, optimized_kept = pack(redact_all(planned.optimized))
    return {
        "analyzed_plan": analyzed,
        "optimized_plan": optimized,
        "plan_hashes": plain({"physical": physical, "analyzed": analyzed_kept, "optimized": optimized_kept}),
    }


def estimate_columns(final: Plan, misled: Sequence[Misjudged]) -> Row:
    """How good the planner's estimates were, in one number and in those that mattered."""
    factors = [found.factor for node in final.nodes if (found := misjudged(node)) is not None]
    sources = {node.estimate.source for node in final.nodes}
    return {
        "statistics_source": next((s for s in ("plan", "delta_log", "explain") if s in sources), "none"),
        "worst_error_factor": max(factors, default=None),
        "misled_joins": plain([asdict(m) for m in misled]),
    }


def understood_columns(understood: Understood, tables: Sequence[TableFacts], planned: Planned) -> Row:
    """What the query is and needs: canonical form, lineage, UDFs, schemas, how it was planned."""
    inline = inline_inputs(planned.analyzed, {t.name for t in tables})
    provenance = schema_provenance([*(InputSchema.of_table(t) for t in tables), *inline], planned.output)
    return {
        "canonical_fingerprint": understood.canonical.fingerprint,
        "canonical_form": understood.canonical.form,
        "canonical_sql": understood.canonical.sql,
        "canonical_reason": understood.canonical.reason or None,
        "column_lineage": plain(understood.lineage.to_json()),
        "udfs": plain(understood.udfs.to_json() | _workers(understood, planned)),
        "udf_rung": understood.udfs.worst,
        "output_schema": plain(provenance),
        "phases": plain(dict(planned.planning.phase_ms)),
        "effective_rules": list(planned.planning.effective_rules),
        "engine": ", ".join(f"{k} {v}" for k, v in planned.environment.environment if k in ("delta", "java", "spark")),
    }


def _workers(understood: Understood, planned: Planned) -> Row:
    """How Python workers were set up for a query that has them; stored beside the audit, not hashed with it."""
    return {"workers": dict(planned.environment.workers)} if understood.udfs.in_python else {}


def bundle_columns(parts: Parts, unstable: Sequence[str], planned: Planned, contract: str) -> Row:
    return {
        "bundle_hash": bundle_hash(parts),
        "bundle_parts": plain(dict(parts)),
        "unstable_parts": list(unstable),
        "planning_env_hash": planned.environment.hash,
        "rulepack_hash": planned.rulepack.hash,
        "contract_hash": contract,
    }


def node_rows(query_id: str, observation: str, plans: Iterable[Plan]) -> Iterator[Row]:
    for plan in plans:
        for node in plan.nodes:
            error = misjudged(node)
            smallest, median, largest = node.partition_bytes or (None, None, None)
            yield {
                "query_id": query_id,
                "observation_id": observation,
                "phase": plan.phase,
                "node": node.index,
                "parent": node.parent,
                "kind": node.kind,
                "detail": node.detail,
                "metrics": plain({name: value for name, value in node.metrics if value}),
                "estimated_rows": node.estimate.rows,
                "estimated_bytes": node.estimate.bytes,
                "statistics_source": node.estimate.source,
                "estimated_at_runtime": node.estimate.at_runtime,
                "actual_rows": actual_rows(node),
                "actual_bytes": actual_bytes(node),
                "error_factor": error.factor if error else None,
                "error_by": error.by if error else None,
                "operator_ms": operator_ms(node),
                "smallest_partition_bytes": smallest,
                "median_partition_bytes": median,
                "largest_partition_bytes": largest,
            }


def table_rows(
    query_id: str,
    observation: str,
    tables: Iterable[TableFacts],
    unreadable: dict[str, tuple[str, ...]],
    unwritable: dict[str, tuple[str, ...]],
) -> Iterator[Row]:
    for table in tables:
        at = table.committed_at_ms
        yield {
            "query_id": query_id,
            "observation_id": observation,
            "table": table.name,
            "location": table.location,
            "table_id": table.table_id,
            "version": table.version,
            "committed_at": at * 1000 if at is not None else None,  # microseconds
            "min_reader": table.protocol.min_reader,
            "min_writer": table.protocol.min_writer,
            "reader_features": list(table.protocol.reader_features),
            "writer_features": list(table.protocol.writer_features),
            "unknown_reader_features": list(unreadable.get(table.name, ())),
            "unknown_writer_features": list(unwritable.get(table.name, ())),
            "contract": plain(contract_of([table])),
            "metadata": create_statement(table),
            "statistics_columns": list(table.statistics_columns),
            "files": table.files,
            "bytes": table.bytes,
        }


def contract_id(tables: Sequence[TableFacts]) -> str:
    return contract_hash(contract_of(tables))


def explain_table_rows(query_id: str, observation: str, planned: Planned) -> Iterator[Row]:
    """EXPLAIN as rows; a text without operator ids is one row a line."""
    for mode, text in planned.explains:
        common = {"query_id": query_id, "observation_id": observation, "mode": mode}
        yield from ({**common, **row} for row in _explain_lines(mode, text))


def _explain_lines(mode: str, text: str) -> Iterator[Row]:
    """One row an operator where the text can be taken apart without doubt, else one a line."""
    try:
        yield from (asdict(row) for row in (explain_rows(text) if mode.startswith("formatted") else []))
    except ExplainUnreadable:
        mode = "as it is"
    if not mode.startswith("formatted"):
        yield from ({"position": i, "text": line} for i, line in enumerate(text.splitlines()))


def provenance_rows(query_id: str, planned: Planned, known: set[str]) -> Iterator[Row]:
    """The environment and the rulepack, where the store does not have them yet."""
    contents = {
        planned.environment.hash: (
            "planning_env",
            {"settings": dict(planned.environment.settings), "environment": dict(planned.environment.environment)},
        ),
        planned.rulepack.hash: ("rulepack", [[name, list(rules)] for name, rules in planned.rulepack.batches]),
    }
    for content_hash, (kind, content) in contents.items():
        if content_hash not in known:
            known.add(content_hash)
            yield {"query_id": query_id, "kind": kind, "hash": content_hash, "content": plain(content)}


def scan_row(query_id: str, observation: str, binding: int, scan: ScanFacts, outcome: ScanOutcome) -> Row:
    return {"query_id": query_id, "observation_id": observation, "binding": binding, **outcome_row(scan, outcome)}
