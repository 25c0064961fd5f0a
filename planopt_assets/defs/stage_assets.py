"""Turns a stage into assets. All five stages share this code."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.defs.resources import WorkspaceResource
from planopt_assets.errors import PlanoptError
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.model.printable import printable

Stage = Callable[[Run, Sequence[str]], list[StageResult]]

QUERIES = dg.DynamicPartitionsDefinition(name=names.PARTITIONS)
KINDS = {"spark", "deltalake"}


def stage_assets(stage: str, work: Stage, *, deps: Sequence[str], descriptions: dict[str, str]) -> dg.AssetsDefinition:
    """One step per stage. It runs all queries of the run, and materializes the stage's Delta tables per query."""
    assets = names.ASSETS[stage]
    specs = [
        dg.AssetSpec(
            asset,
            group_name=stage,
            deps=deps,
            partitions_def=QUERIES,
            description=descriptions[asset],
            kinds=KINDS,
        )
        for asset in assets
    ]

    @dg.multi_asset(name=stage, specs=specs, pool=names.POOL, backfill_policy=dg.BackfillPolicy.single_run())
    def step(context: dg.AssetExecutionContext, workspace: WorkspaceResource) -> Iterator[dg.MaterializeResult[Any]]:
        alone = context.job_def.asset_layer.selected_asset_keys == {dg.AssetKey(a) for a in assets}
        queries = list(context.partition_keys)
        named = queries if len(queries) == 1 else []  # a range is whatever lies in it
        run = workspace.naming(named).run(context.run.run_id, progress_to_log(context), by_hand=alone)
        for result in run_stage(work, run, queries):
            for asset in assets:
                metadata = stage_metadata(run, asset, result)
                context.add_asset_metadata(metadata, asset_key=asset, partition_key=result.query_id)
        for asset in assets:
            yield dg.MaterializeResult(asset_key=asset)

    return step


def run_stage(work: Stage, run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Run a stage. Dagster shows an error of planopt by its facts, not as a stack trace."""
    try:
        return work(run, query_ids)
    except PlanoptError as error:
        # `from None`: else Dagster would log Spark's text, which may contain a marked secret.
        raise dg.Failure(description=printable(str(error)), metadata=error.facts(), allow_retries=False) from None


def stage_metadata(run: Run, asset: str, result: StageResult) -> dict[str, Any]:
    """Metadata of one query: numbers, which Dagster plots over time, and text."""
    return {
        "summary": result.summary,
        "changed": int(result.changed),
        **result.numbers,
        **result.words,
        "details": dg.MetadataValue.md(result.markdown or result.summary),
        "dagster/uri": f"{run.workload.store}/{asset}",
        "dagster/table_name": asset,
        **column_lineage(result),
    }


def column_lineage(result: StageResult) -> dict[str, Any]:
    """The origins of the result's columns in Dagster's format. Tables have their names from the workload.

    Dagster holds one column per name, so the origins of two columns with the same name are merged.
    """
    origins: dict[str, dict[tuple[str, str], None]] = {}
    for name, made_from in result.columns:
        found = origins.setdefault(name, {})
        found.update(dict.fromkeys((table, column) for table, _, column in (o.partition(".") for o in made_from)))
    if not origins:
        return {}
    deps = {
        name: [dg.TableColumnDep(asset_key=dg.AssetKey(table), column_name=column) for table, column in found]
        for name, found in origins.items()
    }
    return {"dagster/column_lineage": dg.TableColumnLineage(deps_by_column=deps)}


def progress_to_log(context: dg.AssetExecutionContext | dg.OpExecutionContext) -> Callable[[str, str, str], None]:
    return lambda stage, query, words: context.log.info(printable(f"{stage} {query}: {words}"))
