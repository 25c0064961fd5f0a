"""Give an OR that Spark could not hand to Parquet a companion in normal form that it can.

Spark translates an OR for Parquet as a whole. One function in one of its sides, and row groups are skipped by none of
it. Of its conjunctive normal form some clauses may be plain comparisons: the rewrite `cnf` adds those to the text.

Worked: (a = 1 AND f(x)) OR (a = 3 AND g(y)) has 4 predicates, its normal form 2 x 2 clauses of 2: distance 8 - 4 = 4.
One clause, a = 1 OR a = 3, can be pushed. 2,000,000 rows were read, 40,000 matched: a quarter of the others is left
out at least, 1,960,000 x 0.25 x 1,000 ns = 490 ms, less one more test of each row, 2,000,000 x 50 ns = 100 ms.

Normal forms grow exponentially: beyond a distance of 128 nothing is proposed.
"""

from __future__ import annotations

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.scan_prices import READ_ROW_NS, TEST_ROW_NS
from planopt_assets.decide.setting_in_force import switched_on
from planopt_assets.model.evidence import Evidence

NAME = "normalise_predicates"
REWRITE = "cnf"
PUSHDOWN = "spark.sql.parquet.filterPushdown"

MAX_DISTANCE = 128
WANTED = 0.1  # a scan of which more rows matched has little to leave out
LEFT_OUT = 0.25


def normalise_predicates(evidence: Evidence) -> Answer:
    """Propose the rewrite where an OR was not pushed, part of its normal form can be, and most rows are not wanted."""
    scans = [s for e in evidence.executions for s in e.scans if s.files and s.normal_form is not None]
    if REWRITE in evidence.policy.rewrites:
        return no_change("the text is rewritten already", {"scans": len(scans)})
    if not scans:
        return no_change("no OR was kept from Parquet", {"scans": 0})
    forms = [s.normal_form for s in scans if s.normal_form is not None]
    arithmetic = {
        "scans": len(scans),
        "distance": min(distance for distance, _ in forms),
        "pushable_clauses": max(clauses for _, clauses in forms),
        "max_distance": MAX_DISTANCE,
    }
    if switched_on(evidence, PUSHDOWN) is not True:
        return no_change("push-down is off: a pushable clause would be of no use", arithmetic)
    helped = [s for s in scans if s.normal_form is not None and s.normal_form[1]]
    if not helped:
        return no_change("no clause of a normal form is made of plain comparisons", arithmetic)
    near = [s for s in helped if s.normal_form is not None and s.normal_form[0] <= MAX_DISTANCE]
    if not near:
        return no_change(f"every normal form is more than {MAX_DISTANCE} predicates away", arithmetic)
    known = [(s, s.read_rows, s.matched_rows) for s in near if s.read_rows is not None and s.matched_rows is not None]
    if not known:
        return cannot_tell(f"read_rows or matched_rows of {len(near)} scans is missing", arithmetic)
    read = sum(rows for _, rows, _ in known)
    unwanted = sum(rows - matched for _, rows, matched in known if matched <= WANTED * rows)
    arithmetic |= {"read_rows": read, "unwanted_rows": unwanted}
    saving = round(unwanted * LEFT_OUT * READ_ROW_NS) - read * TEST_ROW_NS
    if saving <= 0:
        return no_change(f"of {read:,} rows read too many were wanted", arithmetic)
    return propose(
        {},
        f"an OR was kept from Parquet and {unwanted:,} rows were read in vain: part of its normal form can be pushed",
        saved_cpu_ns=saving,
        arithmetic=arithmetic,
        rewrites=(REWRITE,),
        nodes=[s.node for s, _, _ in known],
    )
