"""Turns a stage into assets. All five stages share this code."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.dead_runs import note_process
from planopt_assets.defs.one_slot import warn_without_one_slot
from planopt_assets.defs.resources import workspace_of
from planopt_assets.defs.stage_metadata import stage_metadata, summaries
from planopt_assets.defs.stage_steps import stage_step
from planopt_assets.defs.tables import table_observations
from planopt_assets.errors import PlanoptError
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.model.printable import printable

Stage = Callable[[Run, Sequence[str]], list[StageResult]]


def stage_assets(
    location: CodeLocation,
    stage: str,
    work: Stage,
    *,
    deps: Mapping[str, Sequence[dg.AssetKey]],
    descriptions: dict[str, str],
    freshness: dg.FreshnessPolicy | None = None,
) -> dg.AssetsDefinition:
    """One step per stage. It runs all queries of the run, and materializes the stage's Delta tables per query."""
    assets = names.ASSETS[stage]
    called = location.names
    keys = {asset: called.asset_key(asset) for asset in assets}

    @stage_step(location, stage, deps=deps, descriptions=descriptions, freshness=freshness)
    def step(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[Any]]:
        note_process(context)
        workspace = workspace_of(context, called)
        alone = context.job_def.asset_layer.selected_asset_keys == set(keys.values())
        queries = list(context.partition_keys)
        named = queries if len(queries) == 1 else []  # a range is whatever lies in it
        run = workspace.naming(named).run(context.run.run_id, progress_to_log(context), by_hand=alone)
        warn_without_one_slot(context)
        results = run_stage(work, run, queries)
        for result in results:
            for asset in assets:
                metadata = stage_metadata(called, run, stage, asset, result)
                context.add_asset_metadata(metadata, asset_key=keys[asset], partition_key=result.query_id)
        for observation in table_observations(called, run, stage, queries):
            context.log_event(observation)
        for asset in assets:
            yield dg.MaterializeResult(asset_key=keys[asset])
        for summary in summaries(called, run, stage, results):
            context.log_event(summary)

    return step


def run_stage(work: Stage, run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Run a stage. Dagster shows an error of planopt by its facts, not as a stack trace."""
    try:
        return work(run, query_ids)
    except PlanoptError as error:
        # `from None`: else Dagster would log Spark's text, which may contain a marked secret.
        raise dg.Failure(description=printable(str(error)), metadata=error.facts(), allow_retries=False) from None


def progress_to_log(context: dg.AssetExecutionContext | dg.OpExecutionContext) -> Callable[[str, str, str], None]:
    return lambda stage, query, words: context.log.info(printable(f"{stage} {query}: {words}"))
