"""Regression gates as asset checks. There is one evaluation per query, also in a run of many partitions."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.names import Names
from planopt_assets.defs.resources import workspace_of
from planopt_assets.defs.stage_assets import progress_to_log
from planopt_assets.loop.gates import CHECKS, evaluate
from planopt_assets.loop.run import Run
from planopt_assets.model.gate import Gate

_SHOWN = 100  # queries by name


def gates_of(run: Run, name: str, query_ids: list[str]) -> dict[str, Gate]:
    return evaluate(query_ids, run.snapshot, run.standings(), [name])[name]


def log_evaluations(
    context: dg.OpExecutionContext, names: Names, asset: str, name: str, gates: Mapping[str, Gate]
) -> None:
    """Log one evaluation per query or table. The worst comes last: the page shows the newest."""
    for subject, gate in sorted(gates.items(), key=lambda one: _badness(one[1])):
        evaluation = dg.AssetCheckEvaluation(
            asset_key=names.asset_key(asset),
            check_name=name,
            passed=gate.passed,
            metadata=check_metadata(gate),
            severity=check_severity(gate),
            description=gate.words,
            partition=subject,
        )
        context.log_event(evaluation)  # type: ignore[arg-type]  # it works, but is missing in the signature


def whole_result(gates: Mapping[str, Gate], subjects: str = "queries") -> dg.AssetCheckResult:
    """The answer for all queries or tables of a run: that of the worst, and how many there are like it."""
    subject, worst = max(gates.items(), key=lambda one: _badness(one[1]))
    failed = [q for q, g in gates.items() if not g.passed]
    counted = f"{len(failed)} of {len(gates)} {subjects} did not pass. " if len(gates) > 1 else ""
    return dg.AssetCheckResult(
        passed=not failed,
        severity=check_severity(worst),
        description=f"{counted}{subject}: {worst.words}" if failed and counted else worst.words,
        metadata={**check_metadata(worst), subjects: len(gates), "not passed": ", ".join(failed[:_SHOWN]) or "none"},
    )


def _badness(gate: Gate) -> tuple[bool, bool, bool]:
    return gate.severe, not gate.passed, gate.observed


def check_metadata(gate: Gate) -> dict[str, Any]:
    """Words first, then both values and the threshold, then what is plotted, and the run that the answer comes from."""
    compared = gate.compared
    values = (
        {"expected": compared.expected, "found": compared.found, "threshold": compared.threshold} if compared else {}
    )
    details = {"details": dg.MetadataValue.md(gate.details)} if gate.details else {}
    run = {"run": dg.MetadataValue.dagster_run(gate.run_id)} if gate.run_id else {}
    words = {"words": dg.MetadataValue.text(gate.words), "observed": dg.MetadataValue.bool(gate.observed)}
    return {**words, **values, **gate.numbers, **details, **run}


def check_severity(gate: Gate) -> dg.AssetCheckSeverity:
    return dg.AssetCheckSeverity.ERROR if gate.severe else dg.AssetCheckSeverity.WARN


def _check(location: CodeLocation, name: str) -> dg.AssetChecksDefinition:
    spec, names = CHECKS[name], location.names

    @dg.asset_check(
        asset=names.asset_key(spec.asset),
        name=name,
        description=spec.description,
        blocking=spec.blocking,
        partitions_def=location.queries,
        required_resource_keys={names.workspace},
    )
    def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        workspace = workspace_of(context.op_execution_context, names)
        run = workspace.run(context.run.run_id, progress_to_log(context.op_execution_context))
        gates = gates_of(run, name, list(context.partition_keys))
        if "dagster/partition" not in context.run.tags:  # of a range Dagster takes one answer, and for no query
            log_evaluations(context.op_execution_context, names, spec.asset, name, gates)
        return whole_result(gates)

    return check


def checks(location: CodeLocation) -> list[dg.AssetChecksDefinition]:
    return [_check(location, name) for name in CHECKS]
