"""What one night observed of a query, as rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.store_scale.executions import counters_row, digest_json
from benchmarks.store_scale.nights import Night, Row, edges, plain
from benchmarks.store_scale.planning import ENGINE, ENVIRONMENT, RULEPACK, RULES_IN_EFFECT, SETTINGS
from benchmarks.store_scale.plans import Node, Stored, logical, physical
from benchmarks.store_scale.queries import Spec
from benchmarks.store_scale.scans import node_row, scan_row, signals_json, table_row
from planopt_assets.engine.sessions.java import java_release
from planopt_assets.loop.versions import contract
from planopt_assets.model.bundle import bundle_hash
from planopt_assets.model.ids import content_id
from planopt_assets.model.inputs import PinnedTable, QuerySource, context_hash, input_fingerprint, query_fingerprint
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Query, Workload


@dataclass(frozen=True, slots=True)
class Known:
    """What is the same every night: plans and hashes, and the columns that hold them."""

    query: Spec
    declared: Query
    trees: dict[str, list[Node]]
    canonical: str
    contract_hash: str
    plan_fingerprint: str
    topology_hash: str
    columns: Row

    @classmethod
    def of(cls, query: Spec, declared: Query) -> Known:
        trees = {phase: physical(query, phase) for phase in ("initial", "final")}
        plans = {"physical": Stored.of(trees)} | {s: Stored.of(logical(query, s)) for s in ("analyzed", "optimized")}
        fingerprints = {phase: content_id("pln", nodes) for phase, nodes in trees.items()}
        topologies = {phase: content_id("top", [kind for _, kind, _ in nodes]) for phase, nodes in trees.items()}
        canonical = content_id("cql", query.sql)
        columns = {
            "parameters": "{}",
            "source": "sql",
            "status": "captured",
            "policy_id": ORIGINAL.id,
            "plan_fingerprint": fingerprints["initial"],
            "topology_hash": topologies["initial"],
            "final_plan_fingerprint": fingerprints["final"],
            "final_topology_hash": topologies["final"],
            "settings": SETTINGS,
            "plan": plans["physical"].packed,
            "python_version": "3.11.7",
            "capture_tier": "always_on",
            "canonical_fingerprint": canonical,
            "canonical_form": "sqlglot",
            "canonical_sql": query.canonical_sql,
            "edits": [],
            "planning_env_hash": ENVIRONMENT.hash,
            "rulepack_hash": RULEPACK.hash,
            "unstable_parts": [],
            "plan_hashes": plain({name: stored.kept for name, stored in plans.items()}),
            "analyzed_plan": plans["analyzed"].packed,
            "optimized_plan": plans["optimized"].packed,
            "statistics_source": "plan",
            "worst_error_factor": 18_598.3,
            "misled_joins": "[]",
            "output_schema": plain(_schemas(query)),
            "column_lineage": plain(_lineage(query)),
            "udfs": plain({"functions": [], "worst": "builtin"}),
            "udf_rung": "builtin",
            "phases": plain({"analysis": 12, "optimization": 233, "parsing": 2, "planning": 6}),
            "effective_rules": RULES_IN_EFFECT,
            "engine": ENGINE,
            "other_scans": [],
        }
        promised = content_id("ctr", {name: part for s in query.sources for name, part in s.contract.items()})
        return cls(query, declared, trees, canonical, promised, fingerprints["initial"], topologies["initial"], columns)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The identity of what a query read that night."""

    tables: tuple[PinnedTable, ...]
    query_fingerprint: str
    fingerprint: str
    context: str

    @classmethod
    def of(cls, workload: Workload, known: Known, folder: Path, night: Night) -> Inputs:
        query, versions = known.declared, contract(workload.master)
        tables = tuple(s.pinned(folder, workload.seed, night.number) for s in known.query.sources)
        known_as = query_fingerprint(query, QuerySource(query.sql or ""))
        return cls(
            tables,
            known_as,
            input_fingerprint(workload, query, known_as, tables, versions, captured=True, java=java_release()),
            context_hash(
                workload,
                query,
                tables,
                known.contract_hash,
                versions,
                engine=ENGINE,
                layouts={t.name: {} for t in tables},
            ),
        )


def observe_rows(known: Known, inputs: Inputs, night: Night) -> dict[str, list[Row]]:
    """Rows by table; `plan_artifacts` comes last, as the stage writes it."""
    query, observation = known.query, night.observation_id(known.query.id)
    common = {"query_id": query.id, "observation_id": observation}
    read = [t.ref for t in inputs.tables]
    read += [f"{t.ref}.{c}" for t, s in zip(inputs.tables, query.sources, strict=True) for c in query.columns_of(s)]
    return {
        "plan_nodes": [
            {**common, **node_row(query, night, phase, place, node)}
            for phase, nodes in known.trees.items()
            for place, node in enumerate(nodes)
        ],
        "runtime_counters": [counters_row(query, night, observation, "observe", ORIGINAL.id)],
        "scan_outcomes": [
            {**common, **scan_row(query, night, place, source)} for place, source in enumerate(query.sources)
        ],
        "input_tables": [
            {**common, **table_row(source, table, night)}
            for source, table in zip(query.sources, inputs.tables, strict=True)
        ],
        "lineage": edges(query.id, "observe", observation, read),
        "plan_artifacts": [{**common, **_artifact(known, inputs, night)}],
    }


def _artifact(known: Known, inputs: Inputs, night: Night) -> Row:
    snapshot = content_id("snp", [[t.name, t.table_id, t.version] for t in inputs.tables])
    parts = {
        **{
            part: content_id(part[:3], [part, known.query.sql]) for part in ("analyzed", "optimized", "lineage", "udfs")
        },
        "output": content_id("out", list(known.query.groups)),
        "scans": content_id("scn", [t.ref for t in inputs.tables]),
        "contract": known.contract_hash,
        "plan": known.plan_fingerprint,
        "topology": known.topology_hash,
        "planning_env": ENVIRONMENT.hash,
        "query": known.canonical,
        "rulepack": RULEPACK.hash,
        "snapshot": snapshot,
    }
    return {
        **known.columns,
        "binding": 0,
        "query_fingerprint": inputs.query_fingerprint,
        "input_fingerprint": inputs.fingerprint,
        "snapshot_hash": snapshot,
        "extractor": contract(night.workload.master)["extractor"],
        "tables": plain([asdict(t) for t in inputs.tables]),
        "signals": signals_json(known.query, night),
        "digest": digest_json(known.query, night),
        "contract_hash": known.contract_hash,
        "bundle_hash": bundle_hash(tuple(parts.items())),
        "bundle_parts": plain(parts),
    }


def _schemas(query: Spec) -> list[Row]:
    side = {"nullable": False, "side": "input", "source": "table"}
    inputs = [
        {**side, "column": column, "position": place, "relation": source.name, "type": kind}
        for source in query.sources
        for place, (column, kind) in enumerate(source.types)
    ]
    made = {"nullable": True, "relation": "", "side": "output", "source": "query", "type": "string"}
    return [*inputs, *({**made, "column": column, "position": i} for i, column in enumerate(query.groups))]


def _lineage(query: Spec) -> Row:
    required = {s.name: sorted(query.columns_of(s)) for s in query.sources}
    sums = {
        "revenue": ["sales.discount", "sales.price"],
        "units": ["sales.quantity"],
        "average_discount": ["sales.discount"],
    }
    groups = {column: [f"{s.name}.{column}"] for s in query.sources for column in (s.group,)}
    outputs = [{"from": origin, "name": name} for name, origin in {**groups, **sums}.items()]
    return {"outputs": outputs, "required": required}
