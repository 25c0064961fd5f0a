"""Closed-loop plan optimizer for Spark SQL on Delta tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.job.tuned_query import tuned
    from planopt_assets.workload import load_workload

__version__ = "0.1.0"
__all__ = ["Workspace", "load_workload", "tuned"]

_HOMES = {
    "Workspace": "planopt_assets.engine.workspace",
    "load_workload": "planopt_assets.workload",
    "tuned": "planopt_assets.job.tuned_query",
}


def __getattr__(name: str) -> Any:
    """The public names, each loaded when first asked for: most parts of planopt need neither Spark nor the store."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
