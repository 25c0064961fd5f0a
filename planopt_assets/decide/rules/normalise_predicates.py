"""Add the pushable clauses of an OR's normal form, if Spark could not push the OR to Parquet.

Spark translates an OR for Parquet as a whole. If one side contains a function, no part of the OR can skip row groups.
But some clauses of its conjunctive normal form (CNF) may be plain comparisons. The rewrite `cnf` adds those to the
text.

Worked: (a = 1 AND f(x)) OR (a = 3 AND g(y)) has 4 predicates, its CNF 2 x 2 clauses of 2: distance 8 - 4 = 4. One
clause, a = 1 OR a = 3, can be pushed. 2,000,000 rows were read, 40,000 matched. At least a quarter of the others is
skipped: 1,960,000 x 0.25 x 1,000 ns = 490 ms, less one more test per row, 2,000,000 x 50 ns = 100 ms.

A CNF can grow exponentially: beyond a distance of 128 nothing is proposed.
"""

from __future__ import annotations

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.prices import CPU_PER_ROW_NS, scan_dearness
from planopt_assets.decide.scan_prices import TEST_ROW_NS
from planopt_assets.decide.setting_in_force import switched_on
from planopt_assets.model.evidence import Evidence

NAME = "normalise_predicates"
REWRITE = "cnf"
PUSHDOWN = "spark.sql.parquet.filterPushdown"

MAX_DISTANCE = 128
WANTED = 0.1  # if more rows matched, there is little to skip
LEFT_OUT = 0.25


def normalise_predicates(evidence: Evidence) -> Answer:
    """Propose the rewrite if an OR was not pushed, a clause of its normal form can be, and few rows match."""
    scans = [s for e in evidence.executions for s in e.scans if s.files and s.normal_form is not None]
    if REWRITE in evidence.policy.rewrites:
        return no_change("the text is rewritten already", {"scans": len(scans)})
    if not scans:
        return no_change("every OR was pushed to Parquet, or there is none", {"scans": 0})
    forms = [s.normal_form for s in scans if s.normal_form is not None]
    arithmetic = {
        "scans": len(scans),
        "distance": min(distance for distance, _ in forms),
        "pushable_clauses": max(clauses for _, clauses in forms),
        "max_distance": MAX_DISTANCE,
    }
    if switched_on(evidence, PUSHDOWN) is not True:
        return no_change("push-down is off: a pushable clause would have no effect", arithmetic)
    helped = [s for s in scans if s.normal_form is not None and s.normal_form[1]]
    if not helped:
        return no_change("no clause of a normal form can be pushed", arithmetic)
    near = [s for s in helped if s.normal_form is not None and s.normal_form[0] <= MAX_DISTANCE]
    if not near:
        return no_change(f"every normal form has more than {MAX_DISTANCE} additional predicates", arithmetic)
    known = [(s, s.read_rows, s.matched_rows) for s in near if s.read_rows is not None and s.matched_rows is not None]
    if not known:
        return cannot_tell(f"read_rows or matched_rows is missing for {len(near)} scans", arithmetic)
    read = sum(rows for _, rows, _ in known)
    unwanted = sum(rows - matched for _, rows, matched in known if matched <= WANTED * rows)
    arithmetic |= {"read_rows": read, "unwanted_rows": unwanted}
    saving = round(scan_dearness(evidence) * (unwanted * LEFT_OUT * CPU_PER_ROW_NS - read * TEST_ROW_NS))
    if saving <= 0:
        return no_change(f"too many of the {read:,} rows read matched", arithmetic)
    return propose(
        {},
        f"an OR was not pushed and {unwanted:,} rows read did not match: part of its normal form can be pushed",
        saved_cpu_ns=saving,
        arithmetic=arithmetic,
        rewrites=(REWRITE,),
        nodes=[s.node for s, _, _ in known],
    )
