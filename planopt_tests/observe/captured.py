"""Plans that Spark 4.2 really made, as `SparkPlanInfo`, and ways to change one of them.

`fixtures/initial.json` and `fixtures/final.json` are one run of the demo's `revenue_by_nation_month`, before and after
adaptive execution; table folders were renamed to `/data/<table>` and metrics nobody reads left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from planopt_assets.model.plan import Plan
from planopt_assets.observe.plans.normalise import normalise

FIXTURES = Path(__file__).parent / "fixtures"
TABLES = {f"/data/{name}": name for name in ("lineitem", "orders", "customer", "nation")}
Info = dict[str, Any]


def captured(phase: str) -> Info:
    return json.loads((FIXTURES / f"{phase}.json").read_text(encoding="utf-8"))


def plan_of(info: Info, phase: str = "initial", metric_values: Mapping[int, int] | None = None) -> Plan:
    return normalise(info, phase=phase, tables=TABLES, metric_values=metric_values)


def node(name: str, text: str = "", *children: Info, metrics: tuple[tuple[str, int], ...] = ()) -> Info:
    """One node as Spark would dump it; `metrics` are names with accumulator ids."""
    return {
        "nodeName": name,
        "simpleString": text or name,
        "children": list(children),
        "metrics": [{"name": m, "accumulatorId": i, "metricType": "sum"} for m, i in metrics],
    }


def everywhere(change: Callable[[Info], Info], info: Info) -> Info:
    """The tree with `change` applied to every node, from the leaves up."""
    return change({**info, "children": [everywhere(change, child) for child in info["children"]]})


def rewritten(info: Info, rewrite: Callable[[str], str]) -> Info:
    """The tree with the text of every node rewritten."""
    return everywhere(lambda n: {**n, "simpleString": rewrite(n["simpleString"])}, info)


def replaced(info: Info, old: str, new: str, *, times: int = 1) -> Info:
    """The tree with `old` replaced in the first `times` nodes, from the leaves up, that have it; there must be one."""
    left = [times]

    def change(n: Info) -> Info:
        texts = n["nodeName"], n["simpleString"]
        if left[0] and any(old in text for text in texts):
            left[0] -= 1
            name, text = (t.replace(old, new) for t in texts)
            return {**n, "nodeName": name, "simpleString": text}
        return n

    changed = everywhere(change, info)
    assert left[0] < times, f"{old!r} is nowhere in the plan"
    return changed


def outline(plan: Plan) -> str:
    """A plan as text, two spaces per level."""
    depth = {-1: -1}
    lines = []
    for n in plan.nodes:
        depth[n.index] = depth[n.parent] + 1
        lines.append(f"{'  ' * depth[n.index]}{n.kind} | {n.detail}")
    return "\n".join(lines) + "\n"
