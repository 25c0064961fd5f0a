"""Decide: is there a change worth trying?"""

from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.decide import decide_queries

decide_assets = stage_assets(
    "decide",
    decide_queries,
    deps=["plan_artifacts", "plan_nodes", "runtime_counters"],
    descriptions={"policy_decisions": "One decision per rule and query, with its arithmetic, also for no change."},
)
