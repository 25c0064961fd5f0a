"""Upkeep of the store and of Dagster's own records, without Spark. A good job for the weekend."""

from datetime import UTC, datetime

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.defs.code_location import CodeLocation
from planopt_assets.defs.dead_runs import end_dead_runs, note_process
from planopt_assets.defs.instance import register_queries, register_tables
from planopt_assets.defs.jobs import NEVER_RETRIED
from planopt_assets.store.compaction import Compacted, compact_store
from planopt_assets.store.purge import purge_store

SMALL_FILES = 8
"""Fewer than what a run allows itself: upkeep has time."""


def upkeep(location: CodeLocation) -> dg.JobDefinition:
    called = location.names

    # In the pool of the trials: rewriting files while a trial is timed would disturb it.
    @dg.op(name=called.named("upkeep_store"), pool=names.POOL)
    def step(context: dg.OpExecutionContext) -> None:
        """Purge and compact the store, drop unused files, end dead runs, and align partitions with the file."""
        note_process(context)
        workload = location.workload()
        ended = end_dead_runs(context.instance)
        gone = register_queries(context.instance, workload, called)
        gone_tables = register_tables(context.instance, workload, called)
        purged = purge_store(workload.store, datetime.now(UTC))
        compacted = compact_store(workload.store, most=SMALL_FILES)
        context.add_output_metadata(
            {
                "compacted": dg.MetadataValue.md(compaction_table(compacted)),
                "tables": len(compacted),
                "files_before": sum(one.files_before for one in compacted),
                "files_after": sum(one.files_after for one in compacted),
                "files_deleted": sum(one.deleted for one in compacted),
                "rows_purged": sum(one.rows_purged for one in purged),
                "dead runs ended": len(ended),
                "partitions of removed queries": ", ".join(gone) or "none",
                "partitions of removed tables": ", ".join(gone_tables) or "none",
            }
        )

    @dg.job(
        name=called.named(names.UPKEEP_JOB),
        executor_def=dg.in_process_executor,
        tags=NEVER_RETRIED,
        description="Purge details of observations that nobody used for 180 days, compact the store, delete files "
        "that no version needs, end dead runs, remove partitions of queries and tables that the workload file does not "
        "have any more. Starts no Spark.",
    )
    def job() -> None:
        step()

    return job


def compaction_table(compacted: list[Compacted]) -> str:
    """One row per table that was rewritten.

    >>> print(compaction_table([Compacted("trials", 70, 1, 3)]))
    | table | files before | files after | old files deleted |
    |---|---|---|---|
    | trials | 70 | 1 | 3 |
    """
    rows = [f"| {c.table} | {c.files_before} | {c.files_after} | {c.deleted} |" for c in compacted]
    if not rows:
        return "No table has many small files."
    return "\n".join(["| table | files before | files after | old files deleted |", "|---|---|---|---|", *rows])
