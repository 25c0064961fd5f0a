"""Dagster's entry point: the loop as assets, checks and jobs. Loading it starts no JVM and reads no table."""

from pathlib import Path

import dagster as dg

from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.project import definitions_of, planopt_definitions
from planopt_assets.defs.resources import workload_file


@dg.definitions
def defs() -> dg.Definitions:
    file = workload_file()
    # Without a workload file there are no tables to show, and every run says which file it misses.
    found = planopt_definitions(file) if Path(file).is_file() else definitions_of(CodeLocation(file))
    # In one process also when assets are picked by hand: the stages of a run share its JVM and its pinned versions.
    return dg.Definitions.merge(found, dg.Definitions(executor=dg.in_process_executor))
