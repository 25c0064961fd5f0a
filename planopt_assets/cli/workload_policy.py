"""`planopt workload-policy`: one policy for all queries, and its trial on the whole workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from planopt_assets.cli.command import DEFAULT, JsonOption, WorkloadOption, answer, load, print_json, read_store

if TYPE_CHECKING:
    from planopt_assets.model.workload_policy import WorkloadPolicy


def workload_policy(
    try_it: Annotated[bool, typer.Option("--try", help="Measure all queries under it, and judge the whole.")] = False,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Show the settings that most queries gained from, as one policy for all, and what the judge said of it."""
    from planopt_assets.loop.workload_policies import workload_policy as proposed

    loaded = load(workload)
    found: WorkloadPolicy | None
    if try_it:
        import uuid

        from planopt_assets.engine.workspace import Workspace
        from planopt_assets.loop.run import Run
        from planopt_assets.loop.stages.workload_policy import try_workload_policy

        run = Run(Workspace(loaded), str(uuid.uuid4()), by_hand=True)
        try:
            found = try_workload_policy(run)
        finally:
            run.workspace.close()
    else:
        stored = read_store(loaded)
        found = proposed(loaded, stored.snapshot, stored.standings)
    if as_json:
        print_json({"workload": loaded.name, "workload_policy": found.facts() if found else None})
    else:
        answer(found.describe() if found else "no setting helped more than half of the queries, and three at least")
