"""Validate: is it equal, and better beyond doubt?"""

from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.validate import validate

validate_assets = stage_assets(
    "validate",
    validate,
    deps=["candidate_plans"],
    descriptions={
        "trials": "Every execution of every experiment, in the order it ran, with the digest of its result.",
        "verdicts": "Accept, reject or inconclusive, with every criterion and both values.",
    },
)
