"""Asset checks as regression gates: one evaluation per query, whether the run has one partition or many."""

from collections.abc import Callable, Sequence

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.defs.resources import WorkspaceResource
from planopt_assets.defs.stage_assets import QUERIES, progress_to_log
from planopt_assets.run import Run
from planopt_assets.validate.gates import Gate, not_regressed, results_equal

GateOf = Callable[[Run, Sequence[str]], dict[str, Gate]]


def results_equal_gates(run: Run, query_ids: Sequence[str]) -> dict[str, Gate]:
    standings = run.standings()
    return {q: results_equal(standings[q]) for q in query_ids}


def not_regressed_gates(run: Run, query_ids: Sequence[str]) -> dict[str, Gate]:
    standings = run.standings()
    return {q: not_regressed(standings[q]) for q in query_ids}


CHECKS: dict[str, tuple[str, GateOf, str]] = {
    names.RESULTS_EQUAL: ("verdicts", results_equal_gates, "Every candidate returned exactly what the query returns."),
    names.NOT_REGRESSED: (
        "active_policies",
        not_regressed_gates,
        "The policy in force is proven and no newer trial found it worse.",
    ),
}


def log_evaluations(context: dg.OpExecutionContext, asset: str, name: str, gates: dict[str, Gate]) -> None:
    """One evaluation per query, for runs whose check answers for several partitions at once."""
    for query, gate in gates.items():
        evaluation = dg.AssetCheckEvaluation(
            asset_key=dg.AssetKey(asset),
            check_name=name,
            passed=gate.passed,
            metadata={"words": dg.MetadataValue.text(gate.words)},
            severity=_severity(gate),
            description=gate.words,
            partition=query,
        )
        context.log_event(evaluation)  # type: ignore[arg-type]  # works, though its signature does not name it


def _severity(gate: Gate) -> dg.AssetCheckSeverity:
    return dg.AssetCheckSeverity.ERROR if gate.severe else dg.AssetCheckSeverity.WARN


def _check(name: str) -> dg.AssetChecksDefinition:
    asset, gates_of, description = CHECKS[name]

    @dg.asset_check(asset=asset, name=name, description=description, blocking=True, partitions_def=QUERIES)
    def check(context: dg.AssetCheckExecutionContext, workspace: WorkspaceResource) -> dg.AssetCheckResult:
        run = workspace.run(context.run.run_id, progress_to_log(context.op_execution_context))
        gates = gates_of(run, list(context.partition_keys))
        if len(gates) > 1:
            log_evaluations(context.op_execution_context, asset, name, gates)
        worst = min(gates.values(), key=lambda g: (not g.severe, g.passed))
        failed = [q for q, g in gates.items() if not g.passed]
        return dg.AssetCheckResult(
            passed=not failed,
            severity=_severity(worst),
            description=worst.words,
            metadata={"queries": len(gates), "failed": ", ".join(failed) or "none"},
        )

    return check


results_equal_check = _check(names.RESULTS_EQUAL)
not_regressed_check = _check(names.NOT_REGRESSED)
