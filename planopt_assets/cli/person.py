"""Commands for a person's decisions: accept a plan, promote, pin, unpin, roll back."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from planopt_assets.cli.command import DEFAULT, JsonOption, WorkloadOption, answer, load_known, print_json, refresh_html

ReasonOption = Annotated[str, typer.Option(help="Why; it is stored.")]
ByOption = Annotated[str | None, typer.Option(metavar="NAME", help="Who; default: the user of this machine.")]


def accept(
    query: Annotated[str, typer.Argument(help="Query id.")],
    reason: Annotated[str, typer.Option(help="Why the new plan is right; it is stored.")] = "",
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Accept the present plan of a query, after `plan_topology_stable` reported a change."""
    import uuid

    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.loop.accept import accept_topology
    from planopt_assets.loop.run import Run

    loaded = load_known(workload, [query])
    observation = accept_topology(Run(Workspace(loaded), str(uuid.uuid4()), by_hand=True), query, reason)
    if as_json:
        print_json({"query": query, "accepted": observation})
    else:
        answer(f"{query}: the plan of {observation} is accepted")


def promote(
    queries: Annotated[list[str], typer.Argument(metavar="QUERY...")],
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Put the accepted policy of a query in force. Needs an accepted verdict on the current inputs."""
    import uuid

    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.loop.run import Run
    from planopt_assets.loop.stages.promote import promote as promote_stage

    loaded = load_known(workload, queries)
    results = promote_stage(Run(Workspace(loaded), str(uuid.uuid4()), by_hand=True), queries)
    if as_json:
        print_json({"queries": [{"id": r.query_id, "changed": r.changed, "summary": r.summary} for r in results]})
    else:
        for result in results:
            answer(f"{result.query_id}: {result.summary}")
    refresh_html(workload)


def pin(
    query: Annotated[str, typer.Argument(help="Query id.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the knob catalogue; repeat it."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="ID", help="A policy the query already had, or `original`.")
    ] = None,
    reason: ReasonOption = "",
    by: ByOption = None,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Fix a query's policy by hand. Automation does not change it until `planopt unpin`."""
    from planopt_assets.loop.by_person import pin as pin_policy

    if bool(settings) == bool(policy):
        raise typer.BadParameter("give settings with --set, or one policy with --policy")
    pairs = [part.partition("=") for part in settings or []]
    if any(not (name and equals) for name, equals, _ in pairs):
        raise typer.BadParameter("--set takes NAME=VALUE")
    chosen = {name.strip(): value.strip() for name, _, value in pairs}
    run = _run_by_hand(workload, query)
    result = pin_policy(run, query, settings=chosen, policy_id=policy, reason=reason, who=who_asks(by))
    _print_change(result, workload, as_json=as_json)


def unpin(
    query: Annotated[str, typer.Argument(help="Query id.")],
    reason: ReasonOption = "",
    by: ByOption = None,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Remove a pin: the policy accepted before it is in force again, and automation takes over."""
    from planopt_assets.loop.by_person import unpin as unpin_policy

    result = unpin_policy(_run_by_hand(workload, query), query, reason=reason, who=who_asks(by))
    _print_change(result, workload, as_json=as_json)


class Target(StrEnum):
    """The target of `rollback`."""

    good = "last-good"
    original = "original"


def rollback(
    query: Annotated[str, typer.Argument(help="Query id.")],
    to: Annotated[Target, typer.Option(help="The last good policy, or original (nothing set).")] = Target.good,
    reason: ReasonOption = "",
    by: ByOption = None,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Take a query's policy out of force. Automation does not promote it again on the same verdict."""
    from planopt_assets.loop.by_person import rollback as roll_back

    run = _run_by_hand(workload, query)
    result = roll_back(run, query, to="last_good" if to is Target.good else "original", reason=reason, who=who_asks(by))
    _print_change(result, workload, as_json=as_json)


def _run_by_hand(file: Path, query: str) -> Any:
    """The run of a person's command. Spark starts only to write to a store that only Spark can write."""
    import uuid

    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.loop.run import Run

    loaded = load_known(file, [query])
    return Run(Workspace(loaded), str(uuid.uuid4()), by_hand=True)


def who_asks(name: str | None) -> str:
    import getpass

    try:
        return name or getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return "a person"


def _print_change(result: Any, file: Path, *, as_json: bool) -> None:
    """Print the change, then rewrite the report."""
    if as_json:
        facts = {"id": result.query_id, "changed": result.changed, "summary": result.summary}
        print_json({**facts, **result.numbers, **result.words})
    else:
        answer(f"{result.query_id}: {result.summary}")
    refresh_html(file)
