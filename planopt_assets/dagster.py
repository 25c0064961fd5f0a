"""What a user's own Dagster project imports from planopt."""

from __future__ import annotations

from planopt_assets.defs.tuned_resource import PlanoptResource

__all__ = ["PlanoptResource"]
