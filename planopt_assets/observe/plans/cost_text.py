"""Estimates from the text of EXPLAIN COST, used if a plan has no other estimates."""

from __future__ import annotations

import re

from planopt_assets.model.plan import Estimate

_STATISTICS = re.compile(r"Statistics\(sizeInBytes=([\d.E+-]+) ?(\w+)(?:, rowCount=([\d.E+-]+))?")
_UNITS = {unit: 1024**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"))}


def cost_estimate(text: str) -> Estimate:
    """The planner's estimate of the query's output. The text rounds, so it is not exact.

    >>> cost_estimate("Aggregate [n#1], Statistics(sizeInBytes=1.5 KiB, rowCount=3)")
    Estimate(rows=3, bytes=1536, source='explain', at_runtime=False)
    >>> cost_estimate("no statistics").source
    'none'
    """
    found = _STATISTICS.search(text)
    if found is None or found[2] not in _UNITS:
        return Estimate()
    rows = int(float(found[3])) if found[3] else None
    return Estimate(rows, min(int(float(found[1]) * _UNITS[found[2]]), 2**63 - 1), "explain")
