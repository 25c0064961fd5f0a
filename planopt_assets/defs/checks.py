"""Regression gates as asset checks. There is one evaluation per query, also in a run of many partitions."""

from typing import Any

import dagster as dg

from planopt_assets.defs.resources import WorkspaceResource
from planopt_assets.defs.stage_assets import QUERIES, progress_to_log
from planopt_assets.loop.gates import CHECKS, evaluate
from planopt_assets.loop.run import Run
from planopt_assets.model.gate import Gate


def gates_of(run: Run, name: str, query_ids: list[str]) -> dict[str, Gate]:
    return evaluate(query_ids, run.snapshot, run.standings(), [name])[name]


def log_evaluations(context: dg.OpExecutionContext, name: str, gates: dict[str, Gate]) -> None:
    """Log one evaluation per query, for a check that covers several partitions."""
    for query, gate in gates.items():
        evaluation = dg.AssetCheckEvaluation(
            asset_key=dg.AssetKey(CHECKS[name].asset),
            check_name=name,
            passed=gate.passed,
            metadata=_metadata(gate),
            severity=_severity(gate),
            description=gate.words,
            partition=query,
        )
        context.log_event(evaluation)  # type: ignore[arg-type]  # it works, but is missing in the signature


def _metadata(gate: Gate) -> dict[str, Any]:
    details = {"details": dg.MetadataValue.md(gate.details)} if gate.details else {}
    words = {"words": dg.MetadataValue.text(gate.words), "observed": dg.MetadataValue.bool(gate.observed)}
    return {**words, **gate.numbers, **details}


def _severity(gate: Gate) -> dg.AssetCheckSeverity:
    return dg.AssetCheckSeverity.ERROR if gate.severe else dg.AssetCheckSeverity.WARN


def _check(name: str) -> dg.AssetChecksDefinition:
    spec = CHECKS[name]

    @dg.asset_check(
        asset=spec.asset, name=name, description=spec.description, blocking=spec.blocking, partitions_def=QUERIES
    )
    def check(context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource) -> dg.AssetCheckResult:
        run = workspace.run(context.run.run_id, progress_to_log(context.op_execution_context))
        gates = gates_of(run, name, list(context.partition_keys))
        worst = min(gates.values(), key=lambda g: (not g.severe, g.passed, not g.observed))
        failed = [q for q, g in gates.items() if not g.passed]
        if len(gates) > 1:
            log_evaluations(context.op_execution_context, name, gates)
        return dg.AssetCheckResult(
            passed=not failed,
            severity=_severity(worst),
            description=worst.words,
            metadata={**_metadata(worst), "queries": len(gates), "failed": ", ".join(failed) or "none"},
        )

    return check


checks = [_check(name) for name in CHECKS]
