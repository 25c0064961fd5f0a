"""`planopt repair`: mends a damaged store."""

from __future__ import annotations

from typing import Annotated

import typer

from planopt_assets.cli.command import DEFAULT, JsonOption, WorkloadOption, load, print_json


def repair(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what is damaged; exit with 3 if it is.")] = False,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Repair a damaged store: keep every row that can be read, and everything a person decided. Needs no Spark.

    Damaged tables are moved to `_damaged` in the store; nothing is deleted. No run may be in progress.
    """
    import uuid
    from datetime import UTC, datetime

    from planopt_assets.store.repair import repair as repair_store

    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
    found = repair_store(load(workload).store, stamp=stamp, run_id=str(uuid.uuid4()), dry_run=dry_run)
    if as_json:
        print_json({"dry_run": dry_run, **found.facts()})
    else:
        typer.echo(found.words(dry_run=dry_run))
    if dry_run and found.needed:
        raise typer.Exit(3)
