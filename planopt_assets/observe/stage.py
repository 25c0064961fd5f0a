"""Observe: run each query once as it is; keep its plans, counters and digest, or why it could not be run."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import orjson
import zstandard

from planopt_assets.errors import PlanoptError, SqlRefused, SqlSyntax
from planopt_assets.model.inputs import PinnedTable, input_fingerprint, query_fingerprint, snapshot_hash
from planopt_assets.model.plan import Plan
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.observe.evidence import digest_json, signals_json
from planopt_assets.observe.fingerprint import plan_fingerprint, topology_hash
from planopt_assets.observe.signals import resizable_exchanges, scans
from planopt_assets.run import Run, StageResult, unchanged

if TYPE_CHECKING:
    from planopt_assets.engine.execute import Execution
    from planopt_assets.model.workload import Query

STAGE = "observe"
LONG_S = 30


def observe(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Observe every query whose inputs are not known yet; one refused or failing query does not stop the others."""
    standings = run.standings()
    rows: dict[str, list[dict[str, Any]]] = {
        t: [] for t in ("plan_nodes", "runtime_counters", "lineage", "plan_artifacts")
    }
    results = []
    for query_id in query_ids:
        if standings[query_id].observed and not standings[query_id].failed:
            results.append(unchanged(query_id, STAGE))
            continue
        query = run.workload.query(query_id)
        run.progress(STAGE, query_id, "planning and running it as it is")
        results.append(_observe_query(run, query, rows))
    run.append(STAGE, rows)
    return results


def _observe_query(run: Run, query: Query, rows: dict[str, list[dict[str, Any]]]) -> StageResult:
    from planopt_assets.decide.knobs import CATALOGUE

    settings = run.workspace.effective_settings(k.name for k in CATALOGUE)
    executions: list[Execution] = []
    status, code, error = "captured", None, None
    try:
        executions = [_execute_warm(run, query, binding) for binding in range(len(query.bindings))]
    except PlanoptError as failure:
        status = "refused" if isinstance(failure, SqlRefused | SqlSyntax) else "failed"
        code, error, executions = failure.code, str(failure), []
    tables = run.workspace.tables_read(query)
    common = {
        **_identity(run, query, tables, captured=bool(executions)),
        "status": status,
        "error_code": code,
        "error": error,
    }
    for binding in range(len(query.bindings) if executions else 1):
        observation = run.event_id("obs", query.id, f"b{binding}")
        row = {
            **common,
            "observation_id": observation,
            "binding": binding,
            "settings": json.dumps(settings, sort_keys=True),
        }
        row["parameters"] = json.dumps(dict(query.bindings[binding]), sort_keys=True)
        if executions:
            row |= _captured(executions[binding])
            rows["plan_nodes"] += _node_rows(query.id, observation, executions[binding])
            rows["runtime_counters"].append(
                {
                    "query_id": query.id,
                    "execution_id": observation,
                    "purpose": STAGE,
                    "policy_id": ORIGINAL.id,
                    "binding": binding,
                    **asdict(executions[binding].counters),
                }
            )
        rows["plan_artifacts"].append(row)
        rows["lineage"] += _edges(query.id, observation, tables)
    if not executions:
        return StageResult(query.id, True, f"{status}: {error}", markdown=f"**{status}**: {error}")
    return _result(query.id, executions, tables)


def _execute_warm(run: Run, query: Query, binding: int) -> Execution:
    """Run it once to warm up and once to measure, unless it takes so long that starting up does not matter.

    The first run of a query in a JVM costs several times its CPU in class loading and compilation.
    """
    timeout = run.workload.budgets.per_query
    first = run.workspace.execute(query, binding, ORIGINAL, timeout_s=timeout, with_plan=True)
    if first.counters.wall_ns > LONG_S * 1e9:
        return first
    return run.workspace.execute(query, binding, ORIGINAL, timeout_s=timeout, with_plan=True)


def _identity(run: Run, query: Query, tables: tuple[PinnedTable, ...], *, captured: bool) -> dict[str, Any]:
    from planopt_assets.engine.callables import source_text
    from planopt_assets.store.contract import contract

    source = source_text(run.workload, query)
    return {
        "query_id": query.id,
        "source": query.source,
        "query_fingerprint": query_fingerprint(query, source),
        "input_fingerprint": input_fingerprint(
            run.workload, query, source, tables, contract(run.workload.master), captured=captured
        ),
        "snapshot_hash": snapshot_hash(tables),
        "policy_id": ORIGINAL.id,
        "tables": json.dumps([asdict(t) for t in tables], sort_keys=True),
        "python_version": platform.python_version(),
    }


def _captured(execution: Execution) -> dict[str, Any]:
    initial, final = execution.initial, execution.final
    assert initial is not None
    return {
        "plan_fingerprint": plan_fingerprint(initial),
        "topology_hash": topology_hash(initial),
        "final_plan_fingerprint": plan_fingerprint(final),
        "final_topology_hash": topology_hash(final),
        "extractor": initial.extractor,
        "signals": signals_json(resizable_exchanges(final), scans(final, execution.splits)),
        "digest": digest_json(execution.digest),
        "plan": zstandard.compress(orjson.dumps({"initial": _tree(initial), "final": _tree(final)})),
    }


def _tree(plan: Plan) -> list[list[Any]]:
    return [[n.parent, n.kind, n.detail] for n in plan.nodes]


def _node_rows(query_id: str, observation: str, execution: Execution) -> list[dict[str, Any]]:
    return [
        {
            "query_id": query_id,
            "observation_id": observation,
            "phase": plan.phase,
            "node": n.index,
            "parent": n.parent,
            "kind": n.kind,
            "detail": n.detail,
            "metrics": json.dumps(dict(n.metrics), sort_keys=True),
        }
        for plan in (execution.initial, execution.final)
        if plan is not None
        for n in plan.nodes
    ]


def _edges(query_id: str, observation: str, tables: tuple[PinnedTable, ...]) -> list[dict[str, Any]]:
    from planopt_assets.store.lineage import edges

    return edges(query_id, STAGE, observation, [t.ref for t in tables])


def _result(query_id: str, executions: list[Execution], tables: tuple[PinnedTable, ...]) -> StageResult:
    counters = [e.counters for e in executions]
    numbers = {
        "wall_s": sum(c.wall_ns for c in counters) / 1e9,
        "cpu_s": sum(c.cpu_ns for c in counters) / 1e9,
        "tasks": sum(c.tasks for c in counters),
        "scan_files": sum(c.scan_files for c in counters),
        "scan_bytes": sum(c.scan_bytes for c in counters),
        "shuffle_write_bytes": sum(c.shuffle_write_bytes for c in counters),
        "result_rows": sum(c.result_rows for c in counters),
    }
    lines = [
        f"| {name} | {value:,.3f} |" if isinstance(value, float) else f"| {name} | {value:,} |"
        for name, value in numbers.items()
    ]
    markdown = "\n".join(["| counter | value |", "|---|---|", *lines, "", "Reads " + ", ".join(t.ref for t in tables)])
    return StageResult(query_id, True, f"{numbers['cpu_s']:.1f} s CPU, {numbers['tasks']} tasks", numbers, markdown)
