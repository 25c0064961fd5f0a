"""Decide: is there a change worth trying?"""

import dagster as dg

from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.decide import decide_queries


def decide_assets(location: CodeLocation) -> dg.AssetsDefinition:
    return stage_assets(
        location,
        "decide",
        decide_queries,
        deps={
            "policy_decisions": [
                location.names.asset_key(a) for a in ("plan_artifacts", "plan_nodes", "runtime_counters")
            ]
        },
        descriptions={"policy_decisions": "What could be changed: one answer per rule and query, with its arithmetic."},
    )
