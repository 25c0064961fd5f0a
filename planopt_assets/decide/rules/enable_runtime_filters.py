"""Let the filtered input of a shuffled join filter the other one before it is shuffled.

Spark does this only for scans above 10 GB, and only from inputs it estimates below 10 MB. Here both sizes are measured.

Worked (TPC-H q17): 200 parts of one brand, from a scan of 200,000, are joined to 6,000,000 line items; 6,000 rows come
out. A line item without a part can be dropped: at least 6,000,000 - 6,000, because each of the others gives a row.
Saved: 5,994,000 x 300 ns = 1,798 ms. Paid: 6,000,000 probes x 50 ns = 300 ms, and the parts are read once more,
200,000 x 120 ns = 24 ms. The scan has 180 MB: the threshold becomes 128 MiB, the next lower power of two.

Spark pushes the filter below an aggregation by the join's key, so it spares what is grouped. Worked (q17 again, as
planned with a broadcast of the parts): their 6,088 line items are joined to the averages of 200,000 parts, grouped from
6,000,000 rows in 600,000 partial groups. At most 3 % of the groups are asked for. Saved: 97 % of 6,000,000 x 150 ns +
600,000 x 150 ns = 960 ms.

The thresholds hold for the whole query. So all filters that they let in are counted, with what they cost, and the pair
of thresholds that saves most in sum is proposed. Worked (q04): 57,218 orders of a quarter could filter 3,793,296 line
items, or the other way round. Spark would add the second filter, which is of no use, because the orders are the left
input. A scan threshold between the sizes of the tables, 67 and 243 MB, lets in only the first. If most rows find a
match (q21), there is only the cost of probing, and nothing is proposed.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.runtime_filters import SMALLEST_SCAN, Filter, added_within, possible_filters, shuffled_joins
from planopt_assets.decide.setting_in_force import bytes_in_force, switched_on
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.signals import Join

NAME = "enable_runtime_filters"
ENABLED = "spark.sql.optimizer.runtime.bloomFilter.enabled"
CREATION = "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold"
APPLICATION = "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold"


def enable_runtime_filters(evidence: Evidence) -> Answer:
    """Propose the thresholds whose filters save most in sum."""
    creation, application = bytes_in_force(evidence, CREATION), bytes_in_force(evidence, APPLICATION)
    on = switched_on(evidence, ENABLED)
    if creation is None or application is None or on is None:
        return cannot_tell("the thresholds of runtime filters were not recorded with the observation", {})
    joins, filters = [join for _, _, join in shuffled_joins(evidence)], possible_filters(evidence)
    arithmetic = {"shuffled_joins": len(joins), "creation_bytes": creation, "application_bytes": application}
    kept_out = [f for f in filters if not (on and f.is_within(application, creation))]
    worth = [f for f in kept_out if f.is_worth_it]
    if not worth:
        unknown = sum(_is_unknown(j) for j in joins)
        if unknown and not filters:
            return cannot_tell(
                f"rows or estimated_bytes of the inputs are missing for {unknown} shuffled joins", arithmetic
            )
        return no_change("no shuffled join has a small filtered input that drops most rows of a large scan", arithmetic)
    pairs = product(
        {min(application, _power_below(f.scan_bytes)) for f in worth},
        {max(creation, _power_above(f.estimated_bytes)) for f in worth},
    )
    added, new_application, new_creation = max(
        ((added_within(kept_out, *pair), *pair) for pair in pairs),
        key=lambda found: (_saved(found[0]), found[1], -found[2]),  # of equal ones, what lets in least
    )
    saving = _saved(added)
    arithmetic |= {
        "filters_worth_it": len(worth),
        "filters_let_in": len(added),
        "spared_rows": sum(f.spared_rows for f in added),
        "saved_shuffle_cpu_ns": saving,
    }
    if saving <= 0:
        return no_change("the thresholds would also enable filters in other joins that cost more", arithmetic)
    changed = {} if on else {ENABLED: "true"}
    changed |= {APPLICATION: str(new_application)} if new_application != application else {}
    changed |= {CREATION: str(new_creation)} if new_creation != creation else {}
    return propose(
        changed,
        f"{arithmetic['spared_rows']:,} rows are shuffled or grouped and find no match: "
        "a runtime filter can drop them earlier",
        saved_cpu_ns=saving,
        arithmetic=arithmetic,
        nodes=sorted({f.node for f in added}),
    )


def _saved(filters: Iterable[Filter]) -> int:
    return sum(f.saving_ns for f in filters)


def _is_unknown(join: Join) -> bool:
    sides = (join.left, join.right)
    return join.rows is None or any(s.rows is None or s.estimated_bytes is None for s in sides)


def _power_below(size: int) -> int:
    """A power of two, so that the threshold stays the same if the table grows a little.

    >>> _power_below(180_000_000), _power_below(2**20)
    (134217728, 1048576)
    """
    return 1 << (max(size, SMALLEST_SCAN).bit_length() - 1)


def _power_above(size: int) -> int:
    return 1 << max(size - 1, 1).bit_length()
