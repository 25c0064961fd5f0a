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


def regrowth_days(fewer_files: int, files_per_day: float | None, share: float = 1.0) -> float | None:
    """After how many days the table has as many files again; None: it did not lose any, or does not grow.

    `share` is how much of the table was tried, by its files: so much of its growth belongs to the files that went.
    Worked: of 20 of 100 files 19 went, and the table gets 10 files a day. 2 of those belong to the part: 9.5 days.

    >>> regrowth_days(19, 10.0, share=0.2), regrowth_days(95, 10.0), regrowth_days(0, 10.0), regrowth_days(95, None)
    (9.5, 9.5, None, None)
    """
    return fewer_files / (files_per_day * share) if files_per_day and fewer_files > 0 else None


def pays_back(days: float | None, limit: float) -> Criterion:
    """Whether the rewrite has paid for itself in time."""
    note = "never" if days is None else f"after {days:.2g} days"
    return Criterion(PAYS_BACK, days is not None and days <= limit, None, days, f"within {limit:g} days", note)
