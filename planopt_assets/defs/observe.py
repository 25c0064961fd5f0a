"""Observe: what did the planner do, and what did it cost?"""

from planopt_assets.defs.stage_assets import stage_assets
from planopt_assets.loop.stages.observe import observe

observe_assets = stage_assets(
    "observe",
    observe,
    deps=[],
    descriptions={
        "plan_artifacts": "Plans, fingerprints, inputs and result digest of every observation.",
        "plan_nodes": "Every operator of the initial and the final plan, with estimates, metrics and error factor.",
        "runtime_counters": "What every execution cost: observations, trials and production runs.",
        "scan_outcomes": "What every scan could skip, what it skipped, and why it did not skip more.",
        "input_tables": "The tables of every observation: version, protocol, schema, constraints.",
    },
)
