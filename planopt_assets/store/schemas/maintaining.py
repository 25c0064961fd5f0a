"""Tables whose subject is a table of the user: one row each, `query_id` is null unless a query is named."""

from __future__ import annotations

import pyarrow as pa

from planopt_assets.store.schemas.columns import FLAG, LONG, MOMENT, REAL, TEXT, TEXTS, table

MAINTAINING: dict[str, pa.Schema] = {
    "table_readiness": table(
        table=TEXT,
        location=TEXT,
        table_id=TEXT,
        version=LONG,
        head=TEXT,
        min_reader=LONG,
        min_writer=LONG,
        reader_features=TEXTS,
        writer_features=TEXTS,
        integrity=TEXT,  # verified | damaged | unknown
        unknown_reader_features=TEXTS,
        unknown_writer_features=TEXTS,
        partition_columns=TEXTS,
        clustering_columns=TEXTS,
        files=LONG,
        bytes=LONG,
        rows=LONG,
        sizes=TEXT,  # JSON: files by size class
        small_files=LONG,
        small_bytes=LONG,
        compacted_files=LONG,
        debt_files=LONG,
        deletion_vector_files=LONG,
        deleted_rows=LONG,
        partitions=LONG,
        median_partition_bytes=LONG,
        largest_partition_bytes=LONG,
        columns=TEXT,  # JSON: range coverage and overlap depth of the columns that queries use
        commits_since_checkpoint=LONG,
        log_files=LONG,
        log_bytes=LONG,
        growth_days=REAL,
        commits_per_day=REAL,
        files_per_day=REAL,
        bytes_per_day=REAL,
        log_retention_hours=REAL,
        deleted_file_retention_hours=REAL,
        read_by=TEXTS,
        findings=TEXT,  # JSON: cause, severity, consequence, command
        ready=FLAG,
        input_fingerprint=TEXT,
    ),
    "layout_proposals": table(
        proposal_id=TEXT,
        table=TEXT,
        table_id=TEXT,
        version=LONG,
        action=TEXT,  # compact | zorder | cluster | statistics | checkpoint | properties | bloom
        columns=TEXTS,
        target_file_bytes=LONG,
        properties=TEXT,  # JSON
        only_where=TEXT,  # always empty: all partitions
        files_before=LONG,
        bytes_before=LONG,
        files_after=LONG,
        bytes_rewritten=LONG,
        expected=TEXT,  # JSON: per query, files and bytes read before and after, runs a day
        gain=TEXTS,
        lose=TEXTS,
        saving_cpu_ns_per_day=REAL,
        rewrite_cpu_ns=LONG,
        break_even_days=REAL,
        writers=TEXT,
        locks_out=TEXT,
        reason=TEXT,
        arithmetic=TEXT,  # JSON, in the order it was computed
        evidence_ids=TEXTS,
    ),
    "layout_trials": table(
        trial_id=TEXT,
        proposal_id=TEXT,
        table=TEXT,
        policy_id=TEXT,
        layout=FLAG,  # true: it read the clone
        round=LONG,
        position=LONG,
        binding=LONG,
        warm_up=FLAG,
        status=TEXT,  # ok | timed_out | failed | tainted
        error=TEXT,
        digest=TEXT,  # JSON
        topology_hash=TEXT,
        seed=LONG,
    ),
    "layout_verdicts": table(
        verdict_id=TEXT,
        proposal_id=TEXT,
        table=TEXT,
        table_id=TEXT,
        version=LONG,
        outcome=TEXT,  # accept | reject | inconclusive
        reason=TEXT,
        results_equal=FLAG,
        criteria=TEXT,  # JSON
        measured=TEXT,  # JSON: per query, before and after as measured, beside the prediction
        saving_cpu_ns_per_day=LONG,
        rewrite_cpu_ns=LONG,
        rewrite_wall_ns=LONG,
        bytes_rewritten=LONG,
        files_before=LONG,
        files_after=LONG,
        break_even_days=REAL,
        prediction_error=REAL,
        subset=TEXT,
        seed=LONG,
        judge_version=TEXT,
        trial_ids=TEXTS,
        input_fingerprints=TEXTS,
        layout_id=TEXT,
        readers=TEXT,
        bytes_before=LONG,
        together=TEXTS,
        error_available=REAL,
        error_spent=REAL,
    ),
    "maintenance_actions": table(
        action_id=TEXT,
        table=TEXT,
        table_id=TEXT,
        action=TEXT,
        status=TEXT,  # applied | undone | failed | refused
        reason=TEXT,
        proposal_id=TEXT,
        verdict_id=TEXT,
        version_before=LONG,
        version_after=LONG,
        files_before=LONG,
        files_after=LONG,
        bytes_before=LONG,
        bytes_after=LONG,
        bytes_rewritten=LONG,
        took_ns=LONG,
        cpu_ns=LONG,
        attempts=LONG,
        undo=TEXT,  # the command that takes it back
        undo_until=MOMENT,
        undoes=TEXT,
        who=TEXT,
        error_code=TEXT,
    ),
}
