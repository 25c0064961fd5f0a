"""Promote: what is in force? Launched alone, it is a person's promotion and needs an accepted verdict."""

from datetime import timedelta

import dagster as dg

from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.promote import promote

# A nightly sweep that takes some hours longer than the night before is late, one that missed a night is gone.
NIGHTLY = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=50), warn_window=timedelta(hours=30))


def promote_assets(location: CodeLocation) -> dg.AssetsDefinition:
    return stage_assets(
        location,
        "promote",
        promote,
        deps={"active_policies": [location.names.asset_key("verdicts")]},
        descriptions={
            "active_policies": "The policy in force for every query, as a chain of generations. Its freshness tells "
            "whether the sweep still runs: late after 30 hours, gone after 50."
        },
        freshness=NIGHTLY,
    )
