"""The Dagster jobs. Each runs in one process, so all queries of a run share one JVM. None is retried."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
from pydantic import Field

from planopt_assets.defs import names
from planopt_assets.defs.checks import gates_of, log_evaluations
from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.dead_runs import note_process
from planopt_assets.defs.one_slot import warn_without_one_slot
from planopt_assets.defs.resources import workspace_of
from planopt_assets.defs.stage_assets import Stage, progress_to_log, run_stage
from planopt_assets.defs.stage_metadata import stage_metadata, summaries
from planopt_assets.defs.stage_steps import queries_step
from planopt_assets.defs.table_stages import maintain_op, readiness_op
from planopt_assets.defs.tables import table_observations
from planopt_assets.loop.gates import CHECKS
from planopt_assets.loop.stages.decide import decide_queries
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import promote
from planopt_assets.loop.stages.replan import replan
from planopt_assets.loop.stages.revalidate import revalidate
from planopt_assets.loop.stages.validate import validate
from planopt_assets.store.crash_points import reached

NEVER_RETRIED = {"dagster/max_retries": "0"}
"""A gate that failed has answered. On an instance that retries runs, these are left out."""

_STAGES: dict[str, Stage] = {
    "observe": observe,
    "decide": decide_queries,
    "replan": replan,
    "validate": validate,
    "promote": promote,
}


def optimize(location: CodeLocation) -> Any:
    return dg.define_asset_job(
        location.names.named(names.OPTIMIZE_JOB),
        selection=dg.AssetSelection.assets(*location.names.asset_keys),
        executor_def=dg.in_process_executor,
        tags=NEVER_RETRIED,
        description="The loop for one query, a range of queries or all, selected as partitions.",
    )


def observe_only(location: CodeLocation) -> Any:
    observed = [location.names.asset_key(asset) for asset in names.ASSETS["observe"]]
    return dg.define_asset_job(
        location.names.named(names.OBSERVE_ONLY_JOB),
        selection=dg.AssetSelection.assets(*observed),
        executor_def=dg.in_process_executor,
        tags=NEVER_RETRIED,
        description="Run the selected queries as they are: plans, counters, gates. Nothing is tried or changed.",
    )


def optimize_selected(location: CodeLocation) -> dg.JobDefinition:
    words = "The loop for any list of queries (config of `selected_queries`), in one run and one JVM."
    ops = [_stage_op(location, stage, work) for stage, work in _STAGES.items()]
    tables = [readiness_op(location, "readiness_selected"), maintain_op(location, "maintain_selected")]
    return _job(location, names.OPTIMIZE_SELECTED_JOB, [*ops, *tables], words)


def lay_out_selected(location: CodeLocation) -> dg.JobDefinition:
    """Before policies: a policy is then validated on the layout that it will run on."""
    words = "Layouts of the tables that a list of queries reads: observe, readiness, maintain."
    ops = [
        _stage_op(location, "observe", observe, "observe_to_lay_out"),
        readiness_op(location, "readiness_to_lay_out"),
        maintain_op(location, "maintain_to_lay_out"),
    ]
    return _job(location, names.LAY_OUT_SELECTED_JOB, ops, words)


def revalidate_in_force(location: CodeLocation) -> dg.JobDefinition:
    words = (
        "Measure again what is in force, against original on the current data. What is worse by now is reverted, as "
        "watch would do. For the queries in the config of `queries_to_revalidate`, or all."
    )
    ops = [
        _stage_op(location, "observe", observe, "observe_again"),
        _stage_op(location, "validate", revalidate, "revalidate_in_force"),
        _stage_op(location, "promote", promote, "promote_again"),
    ]
    return _job(location, names.REVALIDATE_JOB, ops, words)


def _job(location: CodeLocation, name: str, ops: Sequence[dg.OpDefinition], description: str) -> dg.JobDefinition:
    """Stages over any list of queries, one op after the other."""
    first = selected_queries(location, name)

    @dg.job(
        name=location.names.named(name),
        executor_def=dg.in_process_executor,
        tags=NEVER_RETRIED,
        description=description,
    )
    def job() -> None:
        queries = first()
        for op in ops:
            queries = op(queries)

    return job


def take_back(location: CodeLocation) -> dg.JobDefinition:
    """What watch found due is written, and nothing else is done: it needs no Spark."""
    words = "Takes back policies that got worse in production, or expired. `production_runs` starts it."
    ops = [_stage_op(location, "promote", promote, "promote_due")]
    return _job(location, names.TAKE_BACK_JOB, ops, words)


class SelectedQueries(dg.Config):
    """The queries of a run. None named means all."""

    queries: list[str] = Field(default_factory=list)
    by_person: bool = True  # a person named them: also those run that ended a session before
    budget_s: float | None = None  # in place of the workload's `per_run`


def selected_queries(location: CodeLocation, job: str = names.OPTIMIZE_SELECTED_JOB) -> dg.OpDefinition:
    called = location.names

    @dg.op(name=called.named(names.FIRST_OPS[job]), required_resource_keys={called.workspace})
    def selected(context: dg.OpExecutionContext, config: SelectedQueries) -> list:
        """The queries of this run, registered as Dagster partitions."""
        note_process(context)
        workspace = workspace_of(context, called).naming(config.queries if config.by_person else ())
        run = workspace.within(config.budget_s).run(context.run_id, progress_to_log(context))
        known = [q.id for q in run.workload.queries]
        chosen = config.queries or known
        if unknown := sorted(set(chosen) - set(known)):
            raise dg.Failure(
                f"the workload has no query {', '.join(unknown)}; it has {', '.join(known)}", allow_retries=False
            )
        context.instance.add_dynamic_partitions(called.partitions, chosen)
        return chosen

    return selected


def _stage_op(location: CodeLocation, stage: str, work: Stage, name: str = "") -> dg.OpDefinition:
    """A stage over any list of queries. It records the same materializations and checks as the assets."""
    called = location.names

    @queries_step(location, name or f"{stage}_selected")
    def step(context: dg.OpExecutionContext, queries: list) -> list:
        run = workspace_of(context, called).run(context.run_id, progress_to_log(context))
        warn_without_one_slot(context)
        results = run_stage(work, run, queries)
        for result in results:
            for asset in names.ASSETS[stage]:
                metadata = stage_metadata(called, run, stage, asset, result)
                key = called.asset_key(asset)
                context.log_event(dg.AssetMaterialization(key, partition=result.query_id, metadata=metadata))
        for summary in summaries(called, run, stage, results):
            context.log_event(summary)
        for observation in table_observations(called, run, stage, queries):
            context.log_event(observation)
        reached(f"after_{stage}_event")
        for gate, check in CHECKS.items():
            if check.asset in names.ASSETS[stage]:
                log_evaluations(context, called, check.asset, gate, gates_of(run, gate, queries))
        return queries

    return step
