"""Promote: what is in force? Launched alone, it is a person's promotion and needs an accepted verdict."""

from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.promote import promote

promote_assets = stage_assets(
    "promote",
    promote,
    deps=["verdicts"],
    descriptions={"active_policies": "The policy in force for every query, as a chain of generations."},
)
