"""The work of an execution as one repeatable number: rows, files, tasks and bytes, each at a price in CPU time.

This is not a cost model of the query. The judge only asks whether a candidate does clearly less work. If so, the clocks
need to confirm a gain, not to find it. The prices belong to the judge: they change only with its version.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from planopt_assets.model.counters import Counters
from planopt_assets.model.verdict import WORK, Criterion
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.pairs import Pair, nothing_more, unknown

# Nanoseconds of CPU: the low end of what was measured with Spark 4.2 on local disk.
PER_QUERY = 100_000_000  # planning and start, which no policy saves
PRICES = {
    "input_rows": 200,  # through a vectorised scan; what joins and aggregations do with it, they do in both arms
    "scan_files": 2_000_000,  # opening it and reading its footer
    "tasks": 5_000_000,
    "shuffle_blocks": 200_000,  # that hold rows
    "shuffle_write_rows": 400,  # written, fetched, and sorted or hashed: 470 to 1,100 with TPC-H at scale 1
    "shuffle_write_bytes": 2,
    "broadcast_bytes": 10,  # collected on the driver, built into a hash table, sent to every executor
    "disk_spill_bytes": 2,
}
BLOCKS = "shuffle_blocks"
EMPTY_BLOCK = 20_000  # nothing is opened, compressed or read for it


def work_ns(counters: Counters, unpriced: Collection[str] = ()) -> int:
    """The work of one execution, in nanoseconds of CPU at the prices above; counters in `unpriced` are left out.

    Worked: 765,000 rows, 201 files, 17 tasks, 2,400 blocks: 0.1 + 0.153 + 0.402 + 0.085 + 0.48 = 1.22 s. If only 24
    rows are shuffled, at most 24 blocks hold one: 24 x 0.2 ms + 2,376 x 0.02 ms are 0.05 s instead of 0.48 s.
    """
    priced = {name: price for name, price in PRICES.items() if name not in unpriced}
    empty = max(0, (counters.shuffle_blocks or 0) - counters.shuffle_write_rows) if BLOCKS in priced else 0
    spared = empty * (PRICES[BLOCKS] - EMPTY_BLOCK)
    return PER_QUERY + sum(price * (getattr(counters, name) or 0) for name, price in priced.items()) - spared


def work_falls(pairs: Sequence[Pair], rules: Rules) -> Criterion:
    """Passed if every run of the candidate does clearly less work than any run of the baseline. Else undecided (None).

    Worked: 1.22 s in every run of the baseline, 0.74 s with 2 shuffle partitions: 39 % less. 10 % is required.
    3 % is enough where no counter is higher: then wrong prices cannot turn a loss into a gain.
    A query against itself does the same work in every run, whatever the clocks say. So it never passes here.
    """
    asked = rules.work_gain_nothing_more if nothing_more(pairs) else rules.work_gain
    unpriced = unknown(pairs, PRICES)
    least = min(_of_one_side(p.baseline, [(w, b) for w, b, _ in p.parts], unpriced) for p in pairs)
    most = max(_of_one_side(p.candidate, [(w, c) for w, _, c in p.parts], unpriced) for p in pairs)
    return Criterion(
        WORK,
        True if most <= (1 - asked) * least else None,
        least,
        most,
        f"at most {1 - asked:g} x baseline, in every run",
        f"{most / least - 1:+.0%}",
    )


def _of_one_side(
    executions: Sequence[Counters], parts: Sequence[tuple[float, Counters]], unpriced: Collection[str]
) -> float:
    """Of a sum, that of its parts: rows of one query fill no blocks of another.

    Worked: 2,000 blocks of 24 rows beside a query that shuffles 1,000,000 rows. In the sum of both every block could
    hold rows, and a fifth of the blocks would look like 14 % less work. Query by query it is 2 %.
    """
    if not parts:
        return sum(work_ns(c, unpriced) for c in executions)
    return sum(weight * work_ns(counters, unpriced) for weight, counters in parts)
