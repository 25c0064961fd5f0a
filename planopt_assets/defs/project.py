"""`planopt_definitions`: the loop of one workload file as Dagster definitions, for planopt's project and for yours."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import dagster as dg

from planopt_assets.defs import jobs
from planopt_assets.defs.checks import checks
from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.decide import decide_assets
from planopt_assets.defs.names import Names
from planopt_assets.defs.observe import observe_assets
from planopt_assets.defs.production_runs import production_runs
from planopt_assets.defs.promote import promote_assets
from planopt_assets.defs.regressions import regressions
from planopt_assets.defs.replan import replan_assets
from planopt_assets.defs.resources import WorkspaceResource
from planopt_assets.defs.schedules import nightly_sweep, weekly_upkeep
from planopt_assets.defs.table_changes import table_changes
from planopt_assets.defs.table_stages import maintain_assets, readiness_assets, table_ready_check
from planopt_assets.defs.tables import table_assets
from planopt_assets.defs.upkeep import upkeep
from planopt_assets.defs.validate import validate_assets
from planopt_assets.defs.workload_changes import workload_changes
from planopt_assets.errors import WrongValue
from planopt_assets.workload import load_workload

STAGES = (
    *(observe_assets, decide_assets, replan_assets, validate_assets, promote_assets),
    *(readiness_assets, maintain_assets),
)
JOBS = (
    jobs.optimize,
    jobs.observe_only,
    jobs.optimize_selected,
    jobs.lay_out_selected,
    jobs.revalidate_in_force,
    jobs.take_back,
    upkeep,
)
# One function per file in this folder, each from the code location to one definition.
SENSORS: tuple[Callable[[CodeLocation], dg.SensorDefinition], ...] = (
    workload_changes,
    table_changes,
    production_runs,
    regressions,
)
SCHEDULES: tuple[Callable[[CodeLocation], dg.ScheduleDefinition], ...] = (nightly_sweep, weekly_upkeep)


def planopt_definitions(
    workload: str | Path = "planopt.yaml",
    *,
    key_prefix: Sequence[str] = (),
    groups: Mapping[str, str] | None = None,
    owners: Sequence[str] = (),
    tables: Mapping[str, dg.CoercibleToAssetKey] | None = None,
) -> dg.Definitions:
    """The loop of a workload file. Reads the file; reads no table and starts no JVM.

    `key_prefix` comes before the keys of all its assets and the names of its jobs. `groups` renames groups, by stage:
    `{"observe": "query_plans"}`. `owners` are e-mail addresses, or teams as `team:data`, beside those of the file.
    `tables` says which tables are assets of your project already, by their names in the file: `{"sales": "raw/sales"}`.
    The others become external assets.
    """
    file = Path(workload)
    loaded = load_workload(file)
    own = {name: dg.AssetKey.from_coercible(key) for name, key in (tables or {}).items()}
    if strange := sorted(own.keys() - {table.name for table in loaded.tables}):
        raise WrongValue(
            f"`tables` of planopt_definitions names {', '.join(strange)}, which the workload file does not have",
            file=str(file),
            fix=f"use the names of the file: {', '.join(table.name for table in loaded.tables)}",
        )
    return definitions_of(
        CodeLocation(
            str(file),
            Names(tuple(key_prefix), groups or {}, own),
            tables=loaded.tables,
            query_owners=tuple(owner for query in loaded.queries for owner in query.owners),
            owners=tuple(dict.fromkeys([*owners, *loaded.owners])),
            docs_url=loaded.docs_url,
            automation=loaded.automation,
        )
    )


def definitions_of(location: CodeLocation) -> dg.Definitions:
    with warnings.catch_warnings():
        # Checks per partition and one run per backfill are what planopt rests on; its users can do nothing about it.
        for kind in (dg.PreviewWarning, dg.BetaWarning):
            warnings.simplefilter("ignore", kind)
        return dg.Definitions(
            assets=[*table_assets(location), *(make(location) for make in STAGES)],
            asset_checks=[*checks(location), table_ready_check(location)],
            jobs=[make(location) for make in JOBS],
            sensors=[make(location) for make in SENSORS],
            schedules=[make(location) for make in SCHEDULES],
            resources={location.names.workspace: WorkspaceResource(workload=location.file)},
        )
