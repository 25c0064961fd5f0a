"""Tables from a decision to a policy in force."""

from __future__ import annotations

import pyarrow as pa

from planopt_assets.store.schemas.columns import FLAG, LONG, REAL, TEXT, TEXTS, table

DECIDING: dict[str, pa.Schema] = {
    # decide
    "policy_decisions": table(
        decision_id=TEXT,
        kind=TEXT,  # proposal | no_change | cannot_tell
        rule=TEXT,
        policy_before=TEXT,
        policy_after=TEXT,
        policy_before_id=TEXT,
        policy_after_id=TEXT,
        reason=TEXT,
        expected_gain_cpu_ns=LONG,
        arithmetic=TEXT,  # JSON, in the order it was computed
        evidence_ids=TEXTS,
        input_fingerprint=TEXT,
        plan_fingerprint=TEXT,
        catalogue_version=TEXT,
    ),
    # replan
    "candidate_plans": table(
        candidate_id=TEXT,
        policy_id=TEXT,
        policy=TEXT,
        decision_ids=TEXTS,
        kept=FLAG,
        reason=TEXT,
        diff=TEXT,
        plan_fingerprint=TEXT,
        topology_hash=TEXT,
        input_fingerprint=TEXT,
        took_effect=TEXTS,  # parts of the policy that change the plan
    ),
    # validate
    "trials": table(
        trial_id=TEXT,
        policy_id=TEXT,
        seed=LONG,
        round=LONG,
        position=LONG,
        binding=LONG,
        warm_up=FLAG,
        status=TEXT,  # ok | timed_out | failed | tainted
        error=TEXT,
        digest=TEXT,  # JSON
        input_fingerprint=TEXT,
        topology_hash=TEXT,  # since version 3: of the final plan
        signals=TEXT,  # since version 8, JSON: what rules look at, of the first run of a candidate
    ),
    "verdicts": table(
        verdict_id=TEXT,
        candidate_id=TEXT,
        policy_id=TEXT,
        policy=TEXT,
        outcome=TEXT,  # accept | reject | inconclusive
        reason=TEXT,
        results_equal=FLAG,
        criteria=TEXT,  # JSON: every criterion with its threshold and both values
        gain_metric=TEXT,
        gain_ratio=REAL,
        gain_low=REAL,
        gain_high=REAL,
        pairs=LONG,
        seed=LONG,
        judge_version=TEXT,
        trial_ids=TEXTS,
        input_fingerprint=TEXT,
        canonical_fingerprint=TEXT,  # with the two below: on which later inputs this verdict still counts
        context_hash=TEXT,
        input_bytes=LONG,  # all of the tables read
        executions=LONG,  # since version 3: its trials, and the executions for row-by-row comparisons
        gain_confidence=REAL,  # since version 3: of the interval from gain_low to gain_high
        error_available=REAL,  # since version 7: of the query's error budget, for this trial
        error_spent=REAL,  # since version 7: by its looks at clocks
        purpose=TEXT,  # since version 7: try | confirm | leave_out; since version 8 also add
        conditions=TEXT,  # since version 7, JSON: what it was given under, and what each part depends on
    ),
    # promote
    "active_policies": table(
        promotion_id=TEXT,
        generation=LONG,
        policy_id=TEXT,
        policy=TEXT,
        state=TEXT,  # accepted | fixed | expired | reverted
        reason=TEXT,
        verdict_id=TEXT,
        candidate_id=TEXT,
        input_fingerprint=TEXT,
        previous_hash=TEXT,
        chain_hash=TEXT,
        restores=LONG,  # the generation whose policy is in force again; 0 is original
        who=TEXT,  # the person who chose it; null: automation
        evidence_ids=TEXTS,  # the rows that made it expire or revert
        conditions=TEXT,  # since version 7, JSON: those of its verdict
    ),
}
