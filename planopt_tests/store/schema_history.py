"""Which column came with which schema version: what a row of an older planopt cannot have, and is null.

A new column gets its line here; a test compares this record with the schemas. Every noun decodes from the rows of every
version (`test_codecs.py`).
"""

from __future__ import annotations

FIRST: dict[str, tuple[int, int]] = {
    "plan_artifacts": (1, 27),
    "plan_nodes": (1, 12),
    "runtime_counters": (1, 33),
    "policy_decisions": (1, 19),
    "candidate_plans": (1, 15),
    "trials": (1, 16),
    "verdicts": (1, 22),
    "active_policies": (1, 16),
    "lineage": (1, 10),
    "scan_outcomes": (2, 38),
    "input_tables": (2, 22),
    "explains": (2, 11),
    "provenance": (2, 8),
    "accepted_topologies": (2, 8),
    "task_counters": (3, 23),
    "table_readiness": (7, 47),
    "layout_proposals": (7, 30),
    "layout_trials": (7, 20),
    "layout_verdicts": (7, 29),
    "maintenance_actions": (7, 29),
}
"""The version that a table came with, and how many columns it had then."""

LATER: dict[str, dict[int, tuple[str, ...]]] = {
    "plan_artifacts": {
        2: (
            "capture_tier",
            "canonical_fingerprint",
            "canonical_form",
            "canonical_sql",
            "canonical_reason",
            "edits",
            "planning_env_hash",
            "rulepack_hash",
            "contract_hash",
            "bundle_hash",
            "bundle_parts",
            "unstable_parts",
            "plan_hashes",
            "analyzed_plan",
            "optimized_plan",
            "statistics_source",
            "worst_error_factor",
            "misled_joins",
            "output_schema",
            "column_lineage",
            "udfs",
            "udf_rung",
            "phases",
            "effective_rules",
            "extractors_disagree",
            "engine",
            "other_scans",
        ),
        6: ("sequence",),
    },
    "plan_nodes": {
        2: (
            "estimated_rows",
            "estimated_bytes",
            "statistics_source",
            "estimated_at_runtime",
            "actual_rows",
            "actual_bytes",
            "error_factor",
            "error_by",
            "operator_ms",
            "smallest_partition_bytes",
            "median_partition_bytes",
            "largest_partition_bytes",
        ),
        6: ("sequence",),
    },
    "runtime_counters": {
        2: (
            "killed_tasks",
            "broadcast_bytes",
            "cache_reads",
            "table_files",
            "table_bytes",
            "table_rows",
            "partition_files",
            "partition_bytes",
            "read_rows",
            "matched_rows",
        ),
        3: (
            "action",
            "status",
            "note",
            "shuffle_blocks",
        ),
        4: (
            "sort_fallback_tasks",
            "map_memory_bytes",
            "input_bytes",
        ),
        6: ("sequence",),
        7: (
            "cores",
            "control",
            "table_sizes",
        ),
        9: ("shuffle_remote_bytes",),
        10: ("task_memory_bytes",),
    },
    "policy_decisions": {
        6: ("sequence",),
    },
    "candidate_plans": {
        3: ("took_effect",),
        6: ("sequence",),
    },
    "trials": {
        3: ("topology_hash",),
        6: ("sequence",),
        8: ("signals",),
    },
    "verdicts": {
        3: (
            "canonical_fingerprint",
            "context_hash",
            "input_bytes",
            "executions",
            "gain_confidence",
        ),
        6: ("sequence",),
        7: (
            "error_available",
            "error_spent",
            "purpose",
            "conditions",
        ),
    },
    "active_policies": {
        3: (
            "restores",
            "who",
            "evidence_ids",
        ),
        6: ("sequence",),
        7: ("conditions",),
    },
    "lineage": {
        6: ("sequence",),
    },
    "scan_outcomes": {
        6: ("sequence",),
    },
    "input_tables": {
        5: ("layout",),
        6: ("sequence",),
    },
    "explains": {
        6: ("sequence",),
    },
    "provenance": {
        6: ("sequence",),
    },
    "accepted_topologies": {
        6: ("sequence",),
    },
    "task_counters": {
        6: ("sequence",),
    },
    "layout_verdicts": {
        9: (
            "layout_id",
            "readers",
            "bytes_before",
            "together",
            "error_available",
            "error_spent",
        ),
    },
}
"""The columns that were added to it, by version."""


def unknown_at(table: str, version: int) -> frozenset[str]:
    """The columns that a row of this version lacks.

    >>> sorted(unknown_at("trials", 6)), unknown_at("trials", 8)
    (['signals'], frozenset())
    """
    return frozenset(c for added, columns in LATER.get(table, {}).items() if added > version for c in columns)
