"""Validate: are the results equal, and is the candidate surely better?"""

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.validate import validate


def validate_assets(location: CodeLocation) -> dg.AssetsDefinition:
    return stage_assets(
        location,
        "validate",
        validate,
        deps={asset: [location.names.asset_key("candidate_plans")] for asset in names.ASSETS["validate"]},
        descriptions={
            "trials": "Every execution in which a change was tried against the baseline, in order.",
            "verdicts": "Is the change better, with equal results? Accept, reject or inconclusive; every criterion.",
        },
    )
