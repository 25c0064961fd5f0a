"""Replan: does the policy really change the plan?"""

import dagster as dg

from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.replan import replan


def replan_assets(location: CodeLocation) -> dg.AssetsDefinition:
    return stage_assets(
        location,
        "replan",
        replan,
        deps={"candidate_plans": [location.names.asset_key("policy_decisions")]},
        descriptions={
            "candidate_plans": "Every proposed change, planned but not run: its effect, or why it was dropped."
        },
    )
