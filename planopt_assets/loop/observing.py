"""What a captured execution becomes in the store: plans, operators, scans, tables and documents as nouns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import ExplainUnreadable
from planopt_assets.model.observation import PlanTrees
from planopt_assets.model.plan import Misjudged, Plan
from planopt_assets.model.records import ExplainLine, NodeRecord, SharedContent
from planopt_assets.model.redaction import redact_all
from planopt_assets.model.table_ddl import create_statement
from planopt_assets.model.table_layout import table_layout
from planopt_assets.model.table_record import TableRecord
from planopt_assets.observe.bundle import Understood, plain
from planopt_assets.observe.explain.text import explain_rows
from planopt_assets.observe.plans.estimates import actual_bytes, misjudged, operator_ms
from planopt_assets.observe.plans.fingerprint import plan_fingerprint, topology_hash
from planopt_assets.observe.plans.metrics import actual_rows
from planopt_assets.observe.plans.stored_plan import pack, tree_of
from planopt_assets.observe.tables.contract import contract_of
from planopt_assets.observe.tables.schema_provenance import InputSchema, inline_inputs, schema_provenance

if TYPE_CHECKING:
    from planopt_assets.engine.execution.execute import Measured
    from planopt_assets.model.bundle import Planned
    from planopt_assets.model.table_facts import TableFacts

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ENGINE = ("delta", "java", "spark")


def plan_hashes(initial: Plan, final: Plan) -> dict[str, Any]:
    """The identities of a plan before and after execution, as fields of a `PlanArtifact`."""
    return {
        "plan_fingerprint": plan_fingerprint(initial),
        "topology_hash": topology_hash(initial),
        "final_plan_fingerprint": plan_fingerprint(final),
        "final_topology_hash": topology_hash(final),
        "extractor": initial.extractor,
    }


def estimate_quality(final: Plan, misled: Sequence[Misjudged]) -> dict[str, Any]:
    """How good the planner's estimates were: the worst, and those that mattered; fields of a `PlanArtifact`."""
    factors = [found.factor for node in final.nodes if (found := misjudged(node)) is not None]
    sources = {node.estimate.source for node in final.nodes}
    return {
        "statistics_source": next((s for s in ("plan", "delta_log", "explain") if s in sources), "none"),
        "worst_error_factor": max(factors, default=None),
        "misled_joins": tuple(misled),
    }


def engine_of(planned: Planned) -> str:
    return ", ".join(f"{name} {version}" for name, version in planned.environment.environment if name in _ENGINE)


def plan_trees(observation: str, execution: Measured, final: Plan) -> tuple[PlanTrees, str]:
    """The plans, compressed while they are not too large; and as JSON the hash and size of each in any case."""
    initial, planned = execution.initial, execution.planned
    assert initial is not None
    assert planned is not None
    physical, physical_kept = pack(redact_all({"initial": tree_of(initial), "final": tree_of(final)}))
    analyzed, analyzed_kept = pack(redact_all(planned.analyzed))
    optimized, optimized_kept = pack(redact_all(planned.optimized))
    hashes = plain({"physical": physical_kept, "analyzed": analyzed_kept, "optimized": optimized_kept})
    return PlanTrees(observation, physical, analyzed, optimized), hashes


def documents(understood: Understood, tables: Sequence[TableFacts], planned: Planned) -> dict[str, Any]:
    """What the query is and needs: canonical form, lineage, UDFs, schemas, how it was planned; of a `PlanDetails`."""
    inline = inline_inputs(planned.analyzed, {t.name for t in tables})
    provenance = schema_provenance([*(InputSchema.of_table(t) for t in tables), *inline], planned.output)
    return {
        "effective_rules": tuple(planned.planning.effective_rules),
        "canonical_sql": understood.canonical.sql,
        "canonical_reason": understood.canonical.reason or None,
        "udf_rung": understood.udfs.worst,
        "output_schema": plain(provenance),
        "column_lineage": plain(understood.lineage.to_json()),
        "udfs": plain(understood.udfs.to_json() | _workers(understood, planned)),
        "phases": plain(dict(planned.planning.phase_ms)),
    }


def _workers(understood: Understood, planned: Planned) -> dict[str, Any]:
    """How Python workers were set up for a query that has them; stored beside the audit, not hashed with it."""
    return {"workers": dict(planned.environment.workers)} if understood.udfs.in_python else {}


def node_records(query_id: str, observation: str, plans: Iterable[Plan]) -> Iterator[NodeRecord]:
    for plan in plans:
        for node in plan.nodes:
            error = misjudged(node)
            smallest, median, largest = node.partition_bytes or (None, None, None)
            yield NodeRecord(
                query_id,
                observation,
                plan.phase,
                node.index,
                node.parent,
                node.kind,
                node.detail,
                metrics=tuple((name, value) for name, value in node.metrics if value),
                estimated_rows=node.estimate.rows,
                estimated_bytes=node.estimate.bytes,
                statistics_source=node.estimate.source,
                estimated_at_runtime=node.estimate.at_runtime,
                actual_rows=actual_rows(node),
                actual_bytes=actual_bytes(node),
                error_factor=error.factor if error else None,
                error_by=error.by if error else None,
                operator_ms=operator_ms(node),
                smallest_partition_bytes=smallest,
                median_partition_bytes=median,
                largest_partition_bytes=largest,
            )


def table_record(
    query_id: str, observation: str, table: TableFacts, unreadable: tuple[str, ...], unwritable: tuple[str, ...]
) -> TableRecord:
    at = table.committed_at_ms
    return TableRecord(
        query_id,
        observation,
        table.name,
        table.location,
        table.table_id,
        table.version,
        table.protocol,
        contract_of([table]),
        table_layout(table),
        metadata=create_statement(table),
        committed_at=None if at is None else _EPOCH + timedelta(milliseconds=at),
        unknown_reader_features=unreadable,
        unknown_writer_features=unwritable,
        statistics_columns=table.statistics_columns,
        files=table.files,
        bytes=table.bytes,
    )


def explain_lines(query_id: str, observation: str, planned: Planned) -> Iterator[ExplainLine]:
    """EXPLAIN as rows; a text without operator ids is one row a line."""
    for mode, text in planned.explains:
        yield from (ExplainLine(query_id, observation, mode, **line) for line in _lines(mode, text))


def _lines(mode: str, text: str) -> Iterator[dict[str, Any]]:
    """One an operator where the text can be taken apart without doubt, else one a line."""
    try:
        yield from (asdict(row) for row in (explain_rows(text) if mode.startswith("formatted") else []))
    except ExplainUnreadable:
        mode = "as it is"
    if not mode.startswith("formatted"):
        yield from ({"position": i, "text": line} for i, line in enumerate(text.splitlines()))


def shared_content(query_id: str, planned: Planned, known: set[str]) -> Iterator[SharedContent]:
    """The environment and the rulepack, where the store does not have them yet."""
    environment, rulepack = planned.environment, planned.rulepack
    contents: dict[str, tuple[str, Any]] = {
        environment.hash: (
            "planning_env",
            {"settings": dict(environment.settings), "environment": dict(environment.environment)},
        ),
        rulepack.hash: ("rulepack", [[name, list(rules)] for name, rules in rulepack.batches]),
    }
    for content_hash, (kind, content) in contents.items():
        if content_hash not in known:
            known.add(content_hash)
            yield SharedContent(query_id, kind, content_hash, plain(content))
