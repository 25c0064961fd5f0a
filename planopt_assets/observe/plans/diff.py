"""The differences between two plans, operator by operator, as readable text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from planopt_assets.model.plan import ROOT, Plan
from planopt_assets.observe.plans.fingerprint import scanned_table, shape

Splits = dict[str, list[int]]

_PUSHED = re.compile(r"PushedFilters: (\[.*?\]), ReadSchema: ")


def plan_diff(before: Plan, after: Plan, splits_before: Splits, splits_after: Splits) -> str:
    """A unified diff of the two operator trees, `-` before and `+` after. Empty if nothing changed.

    >>> plan_diff(Plan("initial", (), "x"), Plan("initial", (), "x"), {"t": [65]}, {"t": [3]})
    '-scan of t in 65 tasks\\n+scan of t in 3 tasks'
    """
    return _diff(outline(before, splits_before), outline(after, splits_after))


def pushed_diff(before: Plan, after: Plan) -> str:
    """Changes in the filters that scans push to their readers. A rewritten predicate changes no operator.

    Worked: `(day = 5 AND f(x)) OR (day = 7 AND g(x))` is not pushed, its added clause is:
    `-scan of sales is handed []` and `+scan of sales is handed [Or(EqualTo(day,5),EqualTo(day,7))]`.
    """
    return _diff(_handed(before), _handed(after))


def _handed(plan: Plan) -> list[str]:
    tables = [(scanned_table(node), _PUSHED.search(node.detail)) for node in plan.nodes]
    return [f"scan of {table} is handed {found[1]}" for table, found in tables if table is not None and found]


def _diff(before: Sequence[str], after: Sequence[str]) -> str:
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    return "\n".join(line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---"))


def outline(plan: Plan, splits: Splits) -> list[str]:
    """The operator tree, one line per operator, indented by depth; then the tasks of each scan."""
    depth = {ROOT: -1}
    lines = []
    for node in plan.nodes:
        depth[node.index] = depth[node.parent] + 1
        lines.append("  " * depth[node.index] + " ".join(shape(node)))
    scans = [f"scan of {table} in {n} tasks" for table, counts in sorted(splits.items()) for n in counts]
    return lines + scans
