"""`planopt maintain`: try, apply or take back a table's layout, and VACUUM, all on a person's word."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from planopt_assets.cli.command import DEFAULT, JsonOption, WorkloadOption, answer, load, print_json
from planopt_assets.cli.person import ByOption, who_asks


def maintain(
    table: Annotated[str, typer.Argument(help="Table of the workload file.")],
    apply: Annotated[bool, typer.Option("--apply", help="Put a proven layout on the table.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the last layout back. Rows stay.")] = False,
    vacuum: Annotated[bool, typer.Option("--vacuum", help="Delete files beyond the retention.")] = False,
    hours: Annotated[float | None, typer.Option(help="Retention for --vacuum; default: the table's.", min=0)] = None,
    by: ByOption = None,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Try the layouts proposed for a table on a clone. Only --apply, --undo and --vacuum change the table."""
    import uuid

    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.errors import UnknownTable
    from planopt_assets.loop.maintaining.undo import undo_layout
    from planopt_assets.loop.maintaining.vacuum import vacuum_table
    from planopt_assets.loop.run import Run
    from planopt_assets.loop.stages.maintain import maintain as maintain_stage
    from planopt_assets.loop.stages.maintain import table_step
    from planopt_assets.loop.stages.readiness import readiness
    from planopt_assets.store.snapshot import Snapshot

    if apply + undo + vacuum > 1 or (hours is not None and not vacuum):
        raise typer.BadParameter("give one of --apply, --undo and --vacuum; --hours goes with --vacuum")
    loaded = load(workload)
    names = [t.name for t in loaded.tables]
    if table not in names:
        what = f"the workload file has no table {table}"
        raise UnknownTable(what, where=str(loaded.file), fix=f"use one of: {', '.join(names)}")
    Snapshot(loaded.store, loaded.name).refuse_newer_rows()  # before a clone, a table or the store is written
    run = Run(Workspace(loaded), str(uuid.uuid4()), by_hand=True)
    who = who_asks(by)
    facts: dict[str, Any]
    try:
        if undo or vacuum:
            action = undo_layout(run, table, who=who) if undo else vacuum_table(run, table, hours=hours, who=who)
            words = f"{action.status}: {action.reason}"
            facts = {"action_id": action.id, "status": action.status, "summary": action.reason}
            facts |= {"version_before": action.version_before, "version_after": action.version_after}
        else:
            if not table_step(run, table, who).layouts:
                readiness(run, [table])  # a table that is written all day is at another version than when it was seen
            (result,) = maintain_stage(run, [table], who=who, apply=apply)
            words = result.summary
            facts = {"changed": result.changed, "summary": result.summary, **result.numbers}
    finally:
        run.workspace.close()
    if as_json:
        print_json({"table": table, **facts})
    else:
        answer(f"{table}: {words}")
