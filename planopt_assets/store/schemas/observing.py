"""Tables of what was seen: plans, scans, input tables, counters of every execution."""

from __future__ import annotations

import pyarrow as pa

from planopt_assets.model.counters import Counters
from planopt_assets.store.schemas.columns import BYTES, FLAG, LONG, MOMENT, REAL, TEXT, TEXTS, table

OBSERVING: dict[str, pa.Schema] = {
    "plan_artifacts": table(
        observation_id=TEXT,
        binding=LONG,
        parameters=TEXT,
        source=TEXT,  # sql | dataframe
        status=TEXT,  # captured | refused | failed
        error_code=TEXT,
        error=TEXT,
        query_fingerprint=TEXT,
        input_fingerprint=TEXT,
        snapshot_hash=TEXT,
        policy_id=TEXT,
        plan_fingerprint=TEXT,
        topology_hash=TEXT,
        final_plan_fingerprint=TEXT,
        final_topology_hash=TEXT,
        extractor=TEXT,
        tables=TEXT,  # JSON: name, location, table_id, version and, since version 6, head of every table read
        settings=TEXT,  # JSON: effective values of the catalogue's knobs, and cores
        signals=TEXT,  # JSON: `model/signals.py`
        digest=TEXT,  # JSON: digest of the whole result
        plan=BYTES,  # zstd JSON: initial and final plan
        python_version=TEXT,
        capture_tier=TEXT,  # always_on | debug
        canonical_fingerprint=TEXT,
        canonical_form=TEXT,  # sqlglot | analyzed_plan
        canonical_sql=TEXT,
        canonical_reason=TEXT,  # why sqlglot could not be used
        edits=TEXTS,  # what changed in the query since the previous observation
        planning_env_hash=TEXT,
        rulepack_hash=TEXT,
        contract_hash=TEXT,
        bundle_hash=TEXT,
        bundle_parts=TEXT,  # JSON: part -> hash
        unstable_parts=TEXTS,  # parts that differed when the query was planned again
        plan_hashes=TEXT,  # JSON: plan -> hash, bytes, whether it is stored
        analyzed_plan=BYTES,  # zstd JSON
        optimized_plan=BYTES,  # zstd JSON
        statistics_source=TEXT,  # the best one among the operators
        worst_error_factor=REAL,
        misled_joins=TEXT,  # JSON: join inputs on the wrong side of the broadcast threshold
        output_schema=TEXT,  # JSON: input and output schemas with their sources
        column_lineage=TEXT,  # JSON: required input columns, and where every output column comes from
        udfs=TEXT,  # JSON: every UDF with its rung; with Python ones, the settings of their workers
        udf_rung=TEXT,  # the worst of them
        phases=TEXT,  # JSON: milliseconds per planning phase
        effective_rules=TEXTS,
        extractors_disagree=TEXTS,  # tier debug; empty: both extractors see the same plan
        engine=TEXT,  # versions of Spark, Delta and Java
        other_scans=TEXTS,  # scans that are not the native one of a registered table
    ),
    "plan_nodes": table(
        observation_id=TEXT,
        phase=TEXT,
        node=LONG,
        parent=LONG,
        kind=TEXT,
        detail=TEXT,
        metrics=TEXT,  # JSON
        estimated_rows=LONG,
        estimated_bytes=LONG,
        statistics_source=TEXT,  # plan | delta_log | explain | none
        estimated_at_runtime=FLAG,
        actual_rows=LONG,
        actual_bytes=LONG,
        error_factor=REAL,
        error_by=TEXT,  # rows | bytes
        operator_ms=LONG,
        smallest_partition_bytes=LONG,
        median_partition_bytes=LONG,
        largest_partition_bytes=LONG,
    ),
    # one row per scan of a registered table
    "scan_outcomes": table(
        observation_id=TEXT,
        binding=LONG,
        scan=LONG,  # among the scans of the plan, depth first
        table=TEXT,
        table_version=LONG,
        table_class=TEXT,
        native=FLAG,
        file_index=TEXT,
        outcome=TEXT,  # full_pushdown | expected_residual | partial_pushdown | pushdown_missed | no_predicate
        reason=TEXT,
        finding=TEXT,  # the avoidable cause and its fix; null if there is none
        conjuncts=TEXT,  # JSON: each predicate with what could be used, what was pushed, and why
        families=TEXTS,
        pushed_filters=TEXTS,
        runtime_filters=TEXTS,
        skipping_type=TEXT,
        **{
            f"{stage}_{unit}": LONG
            for stage in ("total", "partition", "scanned", "read", "matched")
            for unit in ("files", "bytes", "rows")
        },
        pruned_share=REAL,  # of the table's bytes
        columns=TEXTS,  # read from the files
    ),
    # one row per table an observation reads
    "input_tables": table(
        observation_id=TEXT,
        table=TEXT,
        location=TEXT,
        table_id=TEXT,
        version=LONG,
        committed_at=MOMENT,
        min_reader=LONG,
        min_writer=LONG,
        reader_features=TEXTS,
        writer_features=TEXTS,
        unknown_reader_features=TEXTS,  # a reason not to read it
        unknown_writer_features=TEXTS,  # a reason not to maintain it
        contract=TEXT,  # JSON: schema and constraints
        metadata=TEXT,  # CREATE TABLE, built here because Delta does not give one
        statistics_columns=TEXTS,
        files=LONG,
        bytes=LONG,
        layout=TEXT,  # since version 5, JSON: partitioning, clustering, properties that shape files or scans
    ),
    # EXPLAIN as rows, in tier debug
    "explains": table(
        observation_id=TEXT,
        mode=TEXT,
        position=LONG,
        node_id=LONG,
        node=TEXT,
        text=TEXT,
    ),
    # tasks of an observation, in tier debug
    "task_counters": table(
        observation_id=TEXT,
        stage=LONG,  # in the order they ran
        task=LONG,
        attempt=LONG,
        status=TEXT,
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
            LONG,
        ),
    ),
    # what many observations share, stored once: planning environments and rulepacks
    "provenance": table(
        kind=TEXT,
        hash=TEXT,
        content=TEXT,  # JSON
    ),
    # topologies that a person accepted
    "accepted_topologies": table(
        observation_id=TEXT,
        topology_hashes=TEXTS,  # one per binding
        reason=TEXT,
    ),
    "runtime_counters": table(
        execution_id=TEXT,  # an observation, a trial, or a run of the user's job
        purpose=TEXT,  # observe | trial | production
        policy_id=TEXT,
        binding=LONG,
        **dict.fromkeys(Counters.names(), LONG),
        # since version 3, of production runs only
        action=TEXT,  # frame | write | other: what the user's job did with the query
        status=TEXT,  # ok | failed
        note=TEXT,  # the error, or why it did not run under the policy in force
        # since version 7
        cores=LONG,  # Spark's default parallelism
        control=FLAG,  # of production runs: drawn to run as original
        table_sizes=TEXT,  # JSON, of production runs: bytes by table name
    ),
}
