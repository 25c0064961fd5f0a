"""The work of an execution in one number that repeats: rows, files, tasks and bytes, each at its price in CPU.

The judge does not take it for the cost of a query. It asks only whether a candidate does clearly less of it; then the
clocks have to confirm, not to discover. Prices are the judge's own, so that they change with its version.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from planopt_assets.model.counters import Counters
from planopt_assets.model.verdict import Criterion
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.pairs import Pair, nothing_more, unknown

# Nanoseconds of CPU, at the lower end of what was measured with Spark 4.2 on local disk.
PER_QUERY = 100_000_000  # planning and starting it: what no policy saves
PRICES = {
    "input_rows": 1_000,
    "scan_files": 2_000_000,  # opening it and reading its footer
    "tasks": 5_000_000,
    "shuffle_blocks": 200_000,  # paid by the writer, empty or not
    "shuffle_write_rows": 250,
    "shuffle_write_bytes": 2,
    "broadcast_bytes": 10,  # collected on the driver, put into a table, sent to every executor
    "disk_spill_bytes": 2,
}


def work_ns(counters: Counters, unpriced: Collection[str] = ()) -> int:
    """What an execution does, at its prices; what is unknown of it, or of what it is compared with, has none.

    Worked: 765,000 rows, 201 files, 17 tasks, 2,400 blocks: 0.1 + 0.765 + 0.402 + 0.085 + 0.48 = 1.83 s.
    """
    return PER_QUERY + sum(
        price * (getattr(counters, name) or 0) for name, price in PRICES.items() if name not in unpriced
    )


def work_falls(pairs: Sequence[Pair], rules: Rules) -> Criterion:
    """Passed where every run of the candidate does clearly less than any run of the baseline; else it says nothing.

    Worked: 1.83 s in every run of the baseline, 1.36 s with 2 shuffle partitions: 26 % less, beyond the 10 % asked for.
    Where no counter is higher, 3 % are enough: prices then cannot turn a loss into a gain.
    A query against itself does the same work in every run, whatever the clocks say: there it never passes.
    """
    asked = rules.work_gain_nothing_more if nothing_more(pairs) else rules.work_gain
    unpriced = unknown(pairs, PRICES)
    least = min(sum(work_ns(c, unpriced) for c in p.baseline) for p in pairs)
    most = max(sum(work_ns(c, unpriced) for c in p.candidate) for p in pairs)
    return Criterion(
        "work_ns",
        True if most <= (1 - asked) * least else None,
        least,
        most,
        f"at most {1 - asked:g} x baseline, in every run",
        f"{most / least - 1:+.0%}",
    )
