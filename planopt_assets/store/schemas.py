"""The schema of every table that planopt stores.

A new column goes at the end of its table, is nullable, and raises `SCHEMA_VERSION`. Reading needs no migration: columns
that an older row lacks are null. Writing adds the columns (the writer merges schemas), so the first append of a newer
planopt upgrades the store.
"""

from __future__ import annotations

import pyarrow as pa

from planopt_assets.model.counters import Counters

SCHEMA_VERSION = 8

ABOUT_TABLES = frozenset(
    {"table_readiness", "layout_proposals", "layout_trials", "layout_verdicts", "maintenance_actions"}
)
"""Stored tables whose subject is a table of the user, not a query; they exist once such a table was looked at."""

_TEXT, _LONG, _REAL, _FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_TEXTS = pa.list_(pa.string())

_COMMON: dict[str, pa.DataType] = {
    "schema_version": pa.int32(),
    "workload": _TEXT,
    "query_id": _TEXT,
    "run_id": _TEXT,
    "recorded_at": pa.timestamp("us", tz="UTC"),
}


_LAST: dict[str, pa.DataType] = {"sequence": _LONG}  # since version 6: the order of commits, `store/sequence.py`


def _table(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind) for name, kind in {**_COMMON, **columns, **_LAST}.items()])


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
        tables=_TEXT,  # JSON: name, location, table_id, version and, since version 6, head of every table read
        settings=_TEXT,  # JSON: effective values of the catalogue's knobs, and cores
        signals=_TEXT,  # JSON: `model/signals.py`
        digest=_TEXT,  # JSON: digest of the whole result
        plan=pa.binary(),  # zstd JSON: initial and final plan
        python_version=_TEXT,
        capture_tier=_TEXT,  # always_on | debug
        canonical_fingerprint=_TEXT,
        canonical_form=_TEXT,  # sqlglot | analyzed_plan
        canonical_sql=_TEXT,
        canonical_reason=_TEXT,  # why sqlglot could not be used
        edits=_TEXTS,  # what changed in the query since the previous observation
        planning_env_hash=_TEXT,
        rulepack_hash=_TEXT,
        contract_hash=_TEXT,
        bundle_hash=_TEXT,
        bundle_parts=_TEXT,  # JSON: part -> hash
        unstable_parts=_TEXTS,  # parts that differed when the query was planned again
        plan_hashes=_TEXT,  # JSON: plan -> hash, bytes, whether it is stored
        analyzed_plan=pa.binary(),  # zstd JSON
        optimized_plan=pa.binary(),  # zstd JSON
        statistics_source=_TEXT,  # the best one among the operators
        worst_error_factor=_REAL,
        misled_joins=_TEXT,  # JSON: join inputs on the wrong side of the broadcast threshold
        output_schema=_TEXT,  # JSON: input and output schemas with their sources
        column_lineage=_TEXT,  # JSON: required input columns, and where every output column comes from
        udfs=_TEXT,  # JSON: every UDF with its rung; with Python ones, the settings of their workers
        udf_rung=_TEXT,  # the worst of them
        phases=_TEXT,  # JSON: milliseconds per planning phase
        effective_rules=_TEXTS,
        extractors_disagree=_TEXTS,  # tier debug; empty: both extractors see the same plan
        engine=_TEXT,  # versions of Spark, Delta and Java
        other_scans=_TEXTS,  # scans that are not the native one of a registered table
    ),
    "plan_nodes": _table(
        observation_id=_TEXT,
        phase=_TEXT,
        node=_LONG,
        parent=_LONG,
        kind=_TEXT,
        detail=_TEXT,
        metrics=_TEXT,  # JSON
        estimated_rows=_LONG,
        estimated_bytes=_LONG,
        statistics_source=_TEXT,  # plan | delta_log | explain | none
        estimated_at_runtime=_FLAG,
        actual_rows=_LONG,
        actual_bytes=_LONG,
        error_factor=_REAL,
        error_by=_TEXT,  # rows | bytes
        operator_ms=_LONG,
        smallest_partition_bytes=_LONG,
        median_partition_bytes=_LONG,
        largest_partition_bytes=_LONG,
    ),
    # one row per scan of a registered table
    "scan_outcomes": _table(
        observation_id=_TEXT,
        binding=_LONG,
        scan=_LONG,  # among the scans of the plan, depth first
        table=_TEXT,
        table_version=_LONG,
        table_class=_TEXT,
        native=_FLAG,
        file_index=_TEXT,
        outcome=_TEXT,  # full_pushdown | expected_residual | partial_pushdown | pushdown_missed | no_predicate
        reason=_TEXT,
        finding=_TEXT,  # the avoidable cause and its fix; null if there is none
        conjuncts=_TEXT,  # JSON: each predicate with what could be used, what was pushed, and why
        families=_TEXTS,
        pushed_filters=_TEXTS,
        runtime_filters=_TEXTS,
        skipping_type=_TEXT,
        **{
            f"{stage}_{unit}": _LONG
            for stage in ("total", "partition", "scanned", "read", "matched")
            for unit in ("files", "bytes", "rows")
        },
        pruned_share=_REAL,  # of the table's bytes
        columns=_TEXTS,  # read from the files
    ),
    # one row per table an observation reads
    "input_tables": _table(
        observation_id=_TEXT,
        table=_TEXT,
        location=_TEXT,
        table_id=_TEXT,
        version=_LONG,
        committed_at=pa.timestamp("us", tz="UTC"),
        min_reader=_LONG,
        min_writer=_LONG,
        reader_features=_TEXTS,
        writer_features=_TEXTS,
        unknown_reader_features=_TEXTS,  # a reason not to read it
        unknown_writer_features=_TEXTS,  # a reason not to maintain it
        contract=_TEXT,  # JSON: schema and constraints
        metadata=_TEXT,  # CREATE TABLE, built here because Delta does not give one
        statistics_columns=_TEXTS,
        files=_LONG,
        bytes=_LONG,
        layout=_TEXT,  # since version 5, JSON: partitioning, clustering, properties that shape files or scans
    ),
    # EXPLAIN as rows, in tier debug
    "explains": _table(
        observation_id=_TEXT,
        mode=_TEXT,
        position=_LONG,
        node_id=_LONG,
        node=_TEXT,
        text=_TEXT,
    ),
    # tasks of an observation, in tier debug
    "task_counters": _table(
        observation_id=_TEXT,
        stage=_LONG,  # in the order they ran
        task=_LONG,
        attempt=_LONG,
        status=_TEXT,
        **dict.fromkeys(
            (
                "duration_ms",
                "cpu_ns",
                "run_ms",
                "gc_ms",
                "input_bytes",
                "input_rows",
                "shuffle_read_bytes",
                "shuffle_read_rows",
                "shuffle_write_bytes",
                "shuffle_write_rows",
                "memory_spill_bytes",
                "disk_spill_bytes",
                "peak_memory_bytes",
            ),
            _LONG,
        ),
    ),
    # what many observations share, stored once: planning environments and rulepacks
    "provenance": _table(
        kind=_TEXT,
        hash=_TEXT,
        content=_TEXT,  # JSON
    ),
    # topologies that a person accepted
    "accepted_topologies": _table(
        observation_id=_TEXT,
        topology_hashes=_TEXTS,  # one per binding
        reason=_TEXT,
    ),
    "runtime_counters": _table(
        execution_id=_TEXT,  # an observation, a trial, or a run of the user's job
        purpose=_TEXT,  # observe | trial | production
        policy_id=_TEXT,
        binding=_LONG,
        **dict.fromkeys(Counters.names(), _LONG),
        # since version 3, of production runs only
        action=_TEXT,  # frame | write | other: what the user's job did with the query
        status=_TEXT,  # ok | failed
        note=_TEXT,  # the error, or why it did not run under the policy in force
        # since version 7
        cores=_LONG,  # Spark's default parallelism
        control=_FLAG,  # of production runs: drawn to run as original
        table_sizes=_TEXT,  # JSON, of production runs: bytes by table name
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
        took_effect=_TEXTS,  # parts of the policy that change the plan
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
        status=_TEXT,  # ok | timed_out | failed | tainted
        error=_TEXT,
        digest=_TEXT,  # JSON
        input_fingerprint=_TEXT,
        topology_hash=_TEXT,  # since version 3: of the final plan
        signals=_TEXT,  # since version 8, JSON: what rules look at, of the first run of a candidate
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
        canonical_fingerprint=_TEXT,  # with the two below: on which later inputs this verdict still counts
        context_hash=_TEXT,
        input_bytes=_LONG,  # all of the tables read
        executions=_LONG,  # since version 3: its trials, and the executions for row-by-row comparisons
        gain_confidence=_REAL,  # since version 3: of the interval from gain_low to gain_high
        error_available=_REAL,  # since version 7: of the query's error budget, for this trial
        error_spent=_REAL,  # since version 7: by its looks at clocks
        purpose=_TEXT,  # since version 7: try | confirm | leave_out; since version 8 also add
        conditions=_TEXT,  # since version 7, JSON: what it was given under, and what each part depends on
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
        restores=_LONG,  # the generation whose policy is in force again; 0 is original
        who=_TEXT,  # the person who chose it; null: automation
        evidence_ids=_TEXTS,  # the rows that made it expire or revert
        conditions=_TEXT,  # since version 7, JSON: those of its verdict
    ),
    # maintain: one row per table, `query_id` is null unless a query is named
    "table_readiness": _table(
        table=_TEXT,
        location=_TEXT,
        table_id=_TEXT,
        version=_LONG,
        head=_TEXT,
        min_reader=_LONG,
        min_writer=_LONG,
        reader_features=_TEXTS,
        writer_features=_TEXTS,
        integrity=_TEXT,  # verified | damaged | unknown
        unknown_reader_features=_TEXTS,
        unknown_writer_features=_TEXTS,
        partition_columns=_TEXTS,
        clustering_columns=_TEXTS,
        files=_LONG,
        bytes=_LONG,
        rows=_LONG,
        sizes=_TEXT,  # JSON: files by size class
        small_files=_LONG,
        small_bytes=_LONG,
        compacted_files=_LONG,
        debt_files=_LONG,
        deletion_vector_files=_LONG,
        deleted_rows=_LONG,
        partitions=_LONG,
        median_partition_bytes=_LONG,
        largest_partition_bytes=_LONG,
        columns=_TEXT,  # JSON: range coverage and overlap depth of the columns that queries use
        commits_since_checkpoint=_LONG,
        log_files=_LONG,
        log_bytes=_LONG,
        growth_days=_REAL,
        commits_per_day=_REAL,
        files_per_day=_REAL,
        bytes_per_day=_REAL,
        log_retention_hours=_REAL,
        deleted_file_retention_hours=_REAL,
        read_by=_TEXTS,
        findings=_TEXT,  # JSON: cause, severity, consequence, command
        ready=_FLAG,
        input_fingerprint=_TEXT,
    ),
    "layout_proposals": _table(
        proposal_id=_TEXT,
        table=_TEXT,
        table_id=_TEXT,
        version=_LONG,
        action=_TEXT,  # compact | zorder | cluster | statistics | checkpoint | properties | bloom
        columns=_TEXTS,
        target_file_bytes=_LONG,
        properties=_TEXT,  # JSON
        only_where=_TEXT,  # partitions to rewrite, as SQL
        files_before=_LONG,
        bytes_before=_LONG,
        files_after=_LONG,
        bytes_rewritten=_LONG,
        expected=_TEXT,  # JSON: per query, files and bytes read before and after, runs a day
        gain=_TEXTS,
        lose=_TEXTS,
        saving_cpu_ns_per_day=_REAL,
        rewrite_cpu_ns=_LONG,
        break_even_days=_REAL,
        writers=_TEXT,
        locks_out=_TEXT,
        reason=_TEXT,
        arithmetic=_TEXT,  # JSON, in the order it was computed
        evidence_ids=_TEXTS,
    ),
    "layout_trials": _table(
        trial_id=_TEXT,
        proposal_id=_TEXT,
        table=_TEXT,
        policy_id=_TEXT,
        layout=_FLAG,  # true: it read the clone
        round=_LONG,
        position=_LONG,
        binding=_LONG,
        warm_up=_FLAG,
        status=_TEXT,  # ok | timed_out | failed | tainted
        error=_TEXT,
        digest=_TEXT,  # JSON
        topology_hash=_TEXT,
        seed=_LONG,
    ),
    "layout_verdicts": _table(
        verdict_id=_TEXT,
        proposal_id=_TEXT,
        table=_TEXT,
        table_id=_TEXT,
        version=_LONG,
        outcome=_TEXT,  # accept | reject | inconclusive
        reason=_TEXT,
        results_equal=_FLAG,
        criteria=_TEXT,  # JSON
        measured=_TEXT,  # JSON: per query, before and after as measured, beside the prediction
        saving_cpu_ns_per_day=_LONG,
        rewrite_cpu_ns=_LONG,
        rewrite_wall_ns=_LONG,
        bytes_rewritten=_LONG,
        files_before=_LONG,
        files_after=_LONG,
        break_even_days=_REAL,
        prediction_error=_REAL,
        subset=_TEXT,
        seed=_LONG,
        judge_version=_TEXT,
        trial_ids=_TEXTS,
        input_fingerprints=_TEXTS,
    ),
    "maintenance_actions": _table(
        action_id=_TEXT,
        table=_TEXT,
        table_id=_TEXT,
        action=_TEXT,
        status=_TEXT,  # applied | undone | failed | refused
        reason=_TEXT,
        proposal_id=_TEXT,
        verdict_id=_TEXT,
        version_before=_LONG,
        version_after=_LONG,
        files_before=_LONG,
        files_after=_LONG,
        bytes_before=_LONG,
        bytes_after=_LONG,
        bytes_rewritten=_LONG,
        took_ns=_LONG,
        cpu_ns=_LONG,
        attempts=_LONG,
        undo=_TEXT,  # the command that takes it back
        undo_until=pa.timestamp("us", tz="UTC"),
        undoes=_TEXT,
        who=_TEXT,
        error_code=_TEXT,
    ),
    # edges: from a row to the rows it was made from, and to source tables at a version
    "lineage": _table(
        child_kind=_TEXT,
        child_id=_TEXT,
        parent_kind=_TEXT,
        parent_id=_TEXT,
        stage=_TEXT,
    ),
}
