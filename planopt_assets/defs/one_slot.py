"""Timed trials need the machine for themselves: the pool of all steps must have one slot."""

from __future__ import annotations

import dagster as dg

from planopt_assets.defs import names

WORDS = (
    f"the pool `{names.POOL}` of this Dagster instance does not have exactly one slot: two runs disturb each "
    "other's timed trials. Fix: merge `concurrency` of planopt's dagster.yaml into that of your instance, or run "
    f"`dagster instance concurrency set {names.POOL} 1`"
)


def warn_without_one_slot(context: dg.OpExecutionContext | dg.AssetExecutionContext) -> None:
    """A warning in the log of the run. Not an error: on an instance with one run at a time nothing is wrong."""
    storage = context.instance.event_log_storage
    limited = storage.supports_global_concurrency_limits
    if not limited or storage.get_concurrency_info(names.POOL).slot_count != 1:
        context.log.warning(WORDS)
