"""The declared schema of every table planopt keeps, in one place.

A new column goes at the end of its table, is nullable, and raises `SCHEMA_VERSION`.
"""

from __future__ import annotations

import pyarrow as pa

from planopt_assets.model.counters import Counters

SCHEMA_VERSION = 1

_TEXT, _LONG, _REAL, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_TEXTS = pa.list_(pa.string())

_COMMON: dict[str, pa.DataType] = {
    "schema_version": pa.int32(),
    "workload": _TEXT,
    "query_id": _TEXT,
    "run_id": _TEXT,
    "recorded_at": pa.timestamp("us", tz="UTC"),
}


def _table(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind) for name, kind in {**_COMMON, **columns}.items()])


TABLES: dict[str, pa.Schema] = {
    # observe
    "plan_artifacts": _table(
        observation_id=_TEXT,
        binding=_LONG,
        parameters=_TEXT,
        source=_TEXT,  # sql | dataframe
        status=_TEXT,  # captured | refused | failed
        error_code=_TEXT,
        error=_TEXT,
        query_fingerprint=_TEXT,
        input_fingerprint=_TEXT,
        snapshot_hash=_TEXT,
        policy_id=_TEXT,
        plan_fingerprint=_TEXT,
        topology_hash=_TEXT,
        final_plan_fingerprint=_TEXT,
        final_topology_hash=_TEXT,
        extractor=_TEXT,
        tables=_TEXT,  # JSON: name, location, table_id, version of every table read
        settings=_TEXT,  # JSON: effective values of the catalogue's knobs, and cores
        signals=_TEXT,  # JSON: resizable exchanges and scans
        digest=_TEXT,  # JSON: digest of the whole result
        plan=pa.binary(),  # zstd JSON: initial and final plan
        python_version=_TEXT,
    ),
    "plan_nodes": _table(
        observation_id=_TEXT,
        phase=_TEXT,
        node=_LONG,
        parent=_LONG,
        kind=_TEXT,
        detail=_TEXT,
        metrics=_TEXT,  # JSON
    ),
    "runtime_counters": _table(
        execution_id=_TEXT,  # an observation or a trial
        purpose=_TEXT,  # observe | trial
        policy_id=_TEXT,
        binding=_LONG,
        **dict.fromkeys(Counters.names(), _LONG),
    ),
    # decide
    "policy_decisions": _table(
        decision_id=_TEXT,
        kind=_TEXT,  # proposal | no_change | cannot_tell
        rule=_TEXT,
        policy_before=_TEXT,
        policy_after=_TEXT,
        policy_before_id=_TEXT,
        policy_after_id=_TEXT,
        reason=_TEXT,
        expected_gain_cpu_ns=_LONG,
        arithmetic=_TEXT,  # JSON, in the order it was computed
        evidence_ids=_TEXTS,
        input_fingerprint=_TEXT,
        plan_fingerprint=_TEXT,
        catalogue_version=_TEXT,
    ),
    # replan
    "candidate_plans": _table(
        candidate_id=_TEXT,
        policy_id=_TEXT,
        policy=_TEXT,
        decision_ids=_TEXTS,
        kept=_FLAG,
        reason=_TEXT,
        diff=_TEXT,
        plan_fingerprint=_TEXT,
        topology_hash=_TEXT,
        input_fingerprint=_TEXT,
    ),
    # validate
    "trials": _table(
        trial_id=_TEXT,
        policy_id=_TEXT,
        seed=_LONG,
        round=_LONG,
        position=_LONG,
        binding=_LONG,
        warm_up=_FLAG,
        status=_TEXT,  # ok | timed_out | failed
        error=_TEXT,
        digest=_TEXT,  # JSON
        input_fingerprint=_TEXT,
    ),
    "verdicts": _table(
        verdict_id=_TEXT,
        candidate_id=_TEXT,
        policy_id=_TEXT,
        policy=_TEXT,
        outcome=_TEXT,  # accept | reject | inconclusive
        reason=_TEXT,
        results_equal=_FLAG,
        criteria=_TEXT,  # JSON: every criterion with its threshold and both values
        gain_metric=_TEXT,
        gain_ratio=_REAL,
        gain_low=_REAL,
        gain_high=_REAL,
        pairs=_LONG,
        seed=_LONG,
        judge_version=_TEXT,
        trial_ids=_TEXTS,
        input_fingerprint=_TEXT,
    ),
    # promote
    "active_policies": _table(
        promotion_id=_TEXT,
        generation=_LONG,
        policy_id=_TEXT,
        policy=_TEXT,
        state=_TEXT,  # accepted | fixed | expired | reverted
        reason=_TEXT,
        verdict_id=_TEXT,
        candidate_id=_TEXT,
        input_fingerprint=_TEXT,
        previous_hash=_TEXT,
        chain_hash=_TEXT,
    ),
    # edges: a row -> the rows it was made from, and -> source tables at a version
    "lineage": _table(
        child_kind=_TEXT,
        child_id=_TEXT,
        parent_kind=_TEXT,
        parent_id=_TEXT,
        stage=_TEXT,
    ),
}
