"""The loop as two Dagster jobs. Each runs in one process, so all queries of a run share one JVM."""

from collections.abc import Callable
from typing import Any

import dagster as dg
from pydantic import Field

from planopt_assets.defs import names
from planopt_assets.defs.checks import gates_of, log_evaluations
from planopt_assets.defs.resources import WorkspaceResource
from planopt_assets.defs.stage_assets import Stage, progress_to_log, run_stage, stage_metadata
from planopt_assets.loop.gates import CHECKS
from planopt_assets.loop.stages.decide import decide_queries
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import promote
from planopt_assets.loop.stages.replan import replan
from planopt_assets.loop.stages.validate import validate
from planopt_assets.store.crash_points import reached

optimize = dg.define_asset_job(
    names.OPTIMIZE_JOB,
    selection=dg.AssetSelection.assets(*[asset for assets in names.ASSETS.values() for asset in assets]),
    executor_def=dg.in_process_executor,
    description="The loop for one query, a range of queries or all, selected as partitions.",
)


class SelectedQueries(dg.Config):
    """The queries to optimize. None named means all."""

    queries: list[str] = Field(default_factory=list)


def _stage_op(stage: str, work: Stage) -> dg.OpDefinition:
    """A stage over any list of queries. It records the same materializations and checks as the assets."""

    @dg.op(name=f"{stage}_selected", ins={"queries": dg.In(list)}, out=dg.Out(list), pool=names.POOL)
    def step(context: dg.OpExecutionContext, workspace: WorkspaceResource, queries: list) -> list:
        run = workspace.run(context.run_id, progress_to_log(context))
        for result in run_stage(work, run, queries):
            for asset in names.ASSETS[stage]:
                metadata = stage_metadata(run, asset, result)
                context.log_event(dg.AssetMaterialization(asset, partition=result.query_id, metadata=metadata))
        reached(f"after_{stage}_event")
        for name, check in CHECKS.items():
            if check.asset in names.ASSETS[stage]:
                log_evaluations(context, name, gates_of(run, name, queries))
        return queries

    return step


@dg.op
def selected_queries(context: dg.OpExecutionContext, config: SelectedQueries, workspace: WorkspaceResource) -> list:
    """The queries of this run, registered as Dagster partitions."""
    run = workspace.naming(config.queries).run(context.run_id, progress_to_log(context))
    known = [q.id for q in run.workload.queries]
    chosen = config.queries or known
    if unknown := sorted(set(chosen) - set(known)):
        raise dg.Failure(
            f"the workload has no query {', '.join(unknown)}; it has {', '.join(known)}", allow_retries=False
        )
    context.instance.add_dynamic_partitions(names.PARTITIONS, chosen)
    return chosen


_STAGES: dict[str, Callable[..., Any]] = {
    "observe": observe,
    "decide": decide_queries,
    "replan": replan,
    "validate": validate,
    "promote": promote,
}
_OPS = {stage: _stage_op(stage, work) for stage, work in _STAGES.items()}


@dg.job(
    name=names.OPTIMIZE_SELECTED_JOB,
    executor_def=dg.in_process_executor,
    description="The loop for any list of queries (config of `selected_queries`), in one run and one JVM.",
)
def optimize_selected() -> None:
    queries = selected_queries()
    for op in _OPS.values():
        queries = op(queries)
