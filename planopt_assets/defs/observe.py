"""Observe: what did the planner do, and what did it cost?"""

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.observe import observe


def observe_assets(location: CodeLocation) -> dg.AssetsDefinition:
    called = location.names
    # Source tables lead to `input_tables` alone, and that to the others: a graph of 24 tables stays readable.
    deps = {asset: [called.asset_key("input_tables")] for asset in names.ASSETS["observe"]}
    deps["input_tables"] = [called.table_key(table.name) for table in location.tables]
    return stage_assets(
        location,
        "observe",
        observe,
        deps=deps,
        descriptions={
            "plan_artifacts": "Each query observed without a policy: plans, what they depend on, digest of the result.",
            "plan_nodes": "Every operator of Spark's plans: estimated and actual rows, and how wrong the estimate was.",
            "runtime_counters": "What every execution cost in time, bytes, tasks: looks, trials, your own jobs.",
            "scan_outcomes": "What every scan of a table could skip, what it skipped, and why not more.",
            "input_tables": "Which version of which table each query read, with its schema, constraints and features.",
        },
    )
