"""What a user's own Dagster project imports from planopt. `dg` finds the component here."""

from __future__ import annotations

from planopt_assets.defs.component import PlanoptComponent
from planopt_assets.defs.project import planopt_definitions
from planopt_assets.defs.tuned_resource import PlanoptResource

__all__ = ["PlanoptComponent", "PlanoptResource", "planopt_definitions"]
