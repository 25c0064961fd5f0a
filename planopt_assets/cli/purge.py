"""`planopt purge`: makes a store smaller."""

from __future__ import annotations

from typing import Annotated

import typer

from planopt_assets.cli.command import DEFAULT, JsonOption, WorkloadOption, load, load_arrow, print_json


def purge(
    days: Annotated[float, typer.Option(help="Keep details that were used in this many days.", min=1)] = 180,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Purge details of old observations: operators, EXPLAIN texts, tasks. Evidence stays. Needs no Spark."""
    load_arrow()
    from datetime import UTC, datetime

    from planopt_assets.store.purge import purge_store

    found = purge_store(load(workload).store, datetime.now(UTC), days=days, dry_run=dry_run)
    if as_json:
        tables = [{"table": p.table, "rows_before": p.rows_before, "rows_purged": p.rows_purged} for p in found]
        print_json({"dry_run": dry_run, "days": days, "tables": tables})
        return
    verb = "would go" if dry_run else "purged"
    for one in found:
        typer.echo(f"{one.table}: {one.rows_purged:,} of {one.rows_before:,} rows {verb}")
    if not found:
        typer.echo(f"Nothing to purge: all details were used in the last {days:g} days, or evidence rests on them.")
