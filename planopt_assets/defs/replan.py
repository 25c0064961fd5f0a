"""Replan: does the policy really change the plan?"""

from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.replan import replan

replan_assets = stage_assets(
    "replan",
    replan,
    deps=["policy_decisions"],
    descriptions={"candidate_plans": "Every proposal, planned but not run, with its plan diff by operator."},
)
