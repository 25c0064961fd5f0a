"""Validate: are the results equal, and is the candidate surely better?"""

from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.validate import validate

validate_assets = stage_assets(
    "validate",
    validate,
    deps=["candidate_plans"],
    descriptions={
        "trials": "Every execution of every experiment, in the order they ran, with the digest of the result.",
        "verdicts": "Accept, reject or inconclusive, with every criterion and both values.",
    },
)
