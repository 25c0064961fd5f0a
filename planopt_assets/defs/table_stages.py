"""Stages whose subject is a table: one partition per registered table, a check of its own, and one job for all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.defs.checks import log_evaluations, whole_result
from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.dead_runs import note_process
from planopt_assets.defs.one_slot import warn_without_one_slot
from planopt_assets.defs.resources import workspace_of
from planopt_assets.defs.stage_assets import Stage, progress_to_log, run_stage
from planopt_assets.defs.stage_steps import queries_step, stage_step
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.loop.table_gates import DESCRIPTION, TABLE_READY, table_ready
from planopt_assets.loop.table_standing import asked_tables, tables_of
from planopt_assets.model.gate import Gate

WATCHED = "table_readiness"


def table_stage_assets(
    location: CodeLocation,
    stage: str,
    work: Stage,
    *,
    deps: Mapping[str, Sequence[dg.AssetDep]],
    descriptions: dict[str, str],
) -> dg.AssetsDefinition:
    """One step per stage. It runs all tables of the run, and materializes the stage's Delta tables per table."""
    called, assets = location.names, names.TABLE_ASSETS[stage]
    keys = {asset: called.asset_key(asset) for asset in assets}

    @stage_step(location, stage, deps=deps, descriptions=descriptions)
    def step(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[Any]]:
        note_process(context)
        run = workspace_of(context, called).run(context.run.run_id, progress_to_log(context), by_hand=True)
        warn_without_one_slot(context)
        for result in run_stage(work, run, list(context.partition_keys)):
            for asset in assets:
                metadata = table_metadata(run, asset, result)
                context.add_asset_metadata(metadata, asset_key=keys[asset], partition_key=result.query_id)
        for asset in assets:
            yield dg.MaterializeResult(asset_key=keys[asset])

    return step


def table_metadata(run: Run, asset: str, result: StageResult) -> dict[str, Any]:
    """Of one table: what happened in a sentence, details, and numbers, which Dagster plots over time."""
    return {
        "summary": result.summary,
        **result.words,
        "details": dg.MetadataValue.md(result.markdown or result.summary),
        **result.numbers,
        "changed": int(result.changed),
        "dagster/uri": f"{run.workload.store}/{asset}",
        "dagster/table_name": asset,
    }


def readiness_assets(location: CodeLocation) -> dg.AssetsDefinition:
    """Looks at each table without Spark: it reads logs, and a bounded share of the data."""
    called = location.names
    scans = dg.AssetDep(called.asset_key("scan_outcomes"), partition_mapping=dg.AllPartitionMapping())
    return table_stage_assets(
        location,
        "readiness",
        readiness,
        deps={
            "table_readiness": [scans, *(dg.AssetDep(called.table_key(t.name)) for t in location.tables)],
            "layout_proposals": [scans],
        },
        descriptions={
            "table_readiness": "Files, debt, overlap, statistics, growth, log and integrity of every table.",
            "layout_proposals": "Layouts worth a trial, with what each query would read and when the rewrite has paid.",
        },
    )


def maintain_assets(location: CodeLocation) -> dg.AssetsDefinition:
    """Tries proposed layouts on clones, and puts proven ones on tables with `maintain: auto`, in mode `auto`."""
    called = location.names
    return table_stage_assets(
        location,
        "maintain",
        maintain,
        deps={
            "layout_verdicts": [dg.AssetDep(called.asset_key("layout_proposals"))],
            "maintenance_actions": [dg.AssetDep(called.asset_key("layout_verdicts"))],
        },
        descriptions={
            "layout_verdicts": "What a layout does to all queries of its table, measured on a clone, and its charge.",
            "maintenance_actions": "Changes of the user's tables: bytes, files, seconds, versions, how to undo them.",
        },
    )


def table_ready_check(location: CodeLocation) -> dg.AssetChecksDefinition:
    called = location.names

    @dg.asset_check(
        asset=called.asset_key(WATCHED),
        name=TABLE_READY,
        description=DESCRIPTION,
        partitions_def=location.table_partitions,
        required_resource_keys={called.workspace},
    )
    def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        inner = context.op_execution_context
        run = workspace_of(inner, called).run(context.run.run_id, progress_to_log(inner))
        gates = _gates(run, list(context.partition_keys))
        if "dagster/partition" not in context.run.tags:  # of a range Dagster takes one answer, and for no table
            log_evaluations(inner, called, WATCHED, TABLE_READY, gates)
        return whole_result(gates, "tables")

    return check


def readiness_op(location: CodeLocation, name: str) -> dg.OpDefinition:
    """The same for the job that runs any list of queries."""
    return _table_op(location, "readiness", readiness, name, with_gates=True)


def maintain_op(location: CodeLocation, name: str) -> dg.OpDefinition:
    return _table_op(location, "maintain", maintain, name)


def _table_op(
    location: CodeLocation, stage: str, work: Stage, name: str, *, with_gates: bool = False
) -> dg.OpDefinition:
    called = location.names

    @queries_step(location, name)
    def step(context: dg.OpExecutionContext, queries: list) -> list:
        run = workspace_of(context, called).run(context.run_id, progress_to_log(context))
        warn_without_one_slot(context)
        tables = tables_asked(run)
        context.instance.add_dynamic_partitions(called.table_partitions, tables)
        changed = {r.query_id: r for r in run_stage(work, run, tables) if r.changed}
        for result in changed.values():
            for asset in names.TABLE_ASSETS[stage]:
                metadata = table_metadata(run, asset, result)
                key = called.asset_key(asset)
                context.log_event(dg.AssetMaterialization(key, partition=result.query_id, metadata=metadata))
        if with_gates:
            log_evaluations(context, called, WATCHED, TABLE_READY, _gates(run, list(changed)))
        return queries

    return step


def tables_asked(run: Run) -> list[str]:
    """The tables that `planopt plan` lists: all, or those that the queries read which a person named.

    Also those of a named query that has nothing else to do.
    """
    if not run.named:
        return [t.name for t in run.workload.tables]
    return [t.table for t in asked_tables(tables_of(run), run.named, run.named)]


def _gates(run: Run, tables: Sequence[str]) -> dict[str, Gate]:
    standings = tables_of(run)
    return {table: table_ready(standings.get(table)) for table in tables}
