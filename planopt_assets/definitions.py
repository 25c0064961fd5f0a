"""Dagster's entry point: the loop as assets, checks and jobs. Loading it starts no JVM and reads no table."""

from pathlib import Path

import dagster as dg

from planopt_assets.defs.resources import WorkspaceResource, workload_file


@dg.definitions
def defs() -> dg.Definitions:
    found = dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
    # In one process also when assets are picked by hand: the stages of a run share its JVM and its pinned versions.
    shared = dg.Definitions(
        resources={"workspace": WorkspaceResource(workload=workload_file())}, executor=dg.in_process_executor
    )
    return dg.Definitions.merge(found, shared)
