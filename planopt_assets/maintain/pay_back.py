"""What a rewrite costs against what it saves: days until it has paid for itself."""

from __future__ import annotations

import math

from planopt_assets.model.verdict import Criterion

PAYS_BACK = "pays_back"


def break_even_days(cost_ns: float, saving_ns_per_day: float, regrowth_days: float | None = None) -> float | None:
    """Days until the saving has covered the cost; None: never.

    A table that gets small files every day is as it was after `regrowth_days`, and the saving shrinks evenly until
    then. Worked: 60 s to rewrite, 20 s saved a day: 3 days. If the files are back after 10 days, 20 x (d - d^2 / 20)
    reaches 60 after 3.7 days; if they are back after 5 days, at most 20 x 5 / 2 = 50 s are ever saved: never.

    >>> break_even_days(60, 20), round(break_even_days(60, 20, 10) or 0, 1), break_even_days(60, 20, 5)
    (3.0, 3.7, None)
    """
    if saving_ns_per_day <= 0:
        return None
    plain = cost_ns / saving_ns_per_day
    if regrowth_days is None or math.isinf(regrowth_days):
        return plain
    left = 1 - 2 * plain / regrowth_days
    return None if left < 0 else regrowth_days * (1 - math.sqrt(left))


def pays_back(days: float | None, limit: float) -> Criterion:
    """Whether the rewrite has paid for itself in time."""
    note = "never" if days is None else f"after {days:.2g} days"
    return Criterion(PAYS_BACK, days is not None and days <= limit, None, days, f"within {limit:g} days", note)
