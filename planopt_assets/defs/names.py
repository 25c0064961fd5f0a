"""Names that Dagster's storage keeps. A renamed one loses its history."""

from __future__ import annotations

PARTITIONS = "planopt_queries"
POOL = "spark"
PRIORITY_TAG = "dagster/priority"  # of a run: expected gain per second of trial, see `loop/priority.py`

OPTIMIZE_JOB = "optimize"  # asset job: one query, a range of queries or all, selected as partitions
OPTIMIZE_SELECTED_JOB = "optimize_selected"  # any list of queries, given as config, in one run and one JVM

ASSETS: dict[str, tuple[str, ...]] = {
    "observe": ("plan_nodes", "runtime_counters", "scan_outcomes", "input_tables", "plan_artifacts"),
    "decide": ("policy_decisions",),
    "replan": ("candidate_plans",),
    "validate": ("trials", "verdicts"),
    "promote": ("active_policies",),
}
STAGES = tuple(ASSETS)
