"""What changed between two plans, operator by operator, as text a person can read."""

from __future__ import annotations

import difflib

from planopt_assets.model.plan import ROOT, Plan
from planopt_assets.observe.fingerprint import shape

Splits = dict[str, list[int]]


def plan_diff(before: Plan, after: Plan, splits_before: Splits, splits_after: Splits) -> str:
    """A unified diff of the two operator trees, `-` before and `+` after; empty when nothing changed.

    >>> plan_diff(Plan("initial", (), "x"), Plan("initial", (), "x"), {"t": [65]}, {"t": [3]})
    '-scan of t in 65 tasks\\n+scan of t in 3 tasks'
    """
    lines = difflib.unified_diff(outline(before, splits_before), outline(after, splits_after), lineterm="", n=0)
    return "\n".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))


def outline(plan: Plan, splits: Splits) -> list[str]:
    """The operator tree, one line each, indented by depth; then how each scan is split."""
    depth = {ROOT: -1}
    lines = []
    for node in plan.nodes:
        depth[node.index] = depth[node.parent] + 1
        lines.append("  " * depth[node.index] + " ".join(shape(node)))
    scans = [f"scan of {table} in {n} tasks" for table, counts in sorted(splits.items()) for n in counts]
    return lines + scans
