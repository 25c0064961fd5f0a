"""Commands about tables that only read: `planopt tables`, and `planopt why` for a table. None of them starts Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from planopt_assets.cli.command import (
    DEFAULT,
    JsonOption,
    WorkloadOption,
    load,
    load_arrow,
    print_json,
    print_json_list,
    say_if_newer,
)

if TYPE_CHECKING:
    from planopt_assets.report.tables import Seen


def tables(
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all data files and compare the checksums of their pages.")
    ] = False,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Show each table: size, files, debt, who reads it, what is proposed. A damaged table exits with 3."""
    from planopt_assets.report.tables import print_tables, table_facts

    loaded = load(workload)
    looked = [(_seen(loaded, standing, snapshot, verify), snapshot) for standing, snapshot in _standings(loaded)]
    found = [table_facts(*seen, _known(loaded, seen, snapshot)) for seen, snapshot in looked]
    if as_json:
        print_json_list({"workload": loaded.name, "store": loaded.store}, "tables", found)
    else:
        print_tables(found)
    if not all(readiness.ready for (readiness, _), _ in looked):
        raise typer.Exit(3)


def why_table(loaded: Any, name: str, *, as_json: bool) -> None:
    """Show all that is known of a table: findings, columns, proposals with their arithmetic, trials, actions."""
    from planopt_assets.errors import TableUnreadable
    from planopt_assets.report.tables import print_why_table, why_table_facts

    found = {standing.table: (standing, snapshot) for standing, snapshot in _standings(loaded)}
    if name not in found:
        raise TableUnreadable(
            "its place is not known yet",
            where=f"table {name}",
            fix="it is named by Spark's catalog: run `planopt run` once for a query that reads it",
        )
    standing, snapshot = found[name]
    seen = _seen(loaded, standing, snapshot, verify=False)
    facts = why_table_facts(standing, seen, _known(loaded, seen, snapshot))
    if as_json:
        print_json(facts)
    else:
        print_why_table(facts)


def _standings(loaded: Any) -> list[tuple[Any, Any]]:
    load_arrow()
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.loop.table_standing import table_standings
    from planopt_assets.store.snapshot import Snapshot

    snapshot = Snapshot(loaded.store, loaded.name, only_read=True)
    standings = table_standings(loaded, snapshot, Pins())
    say_if_newer(snapshot)
    return [(standing, snapshot) for standing in standings.values()]


def _known(loaded: Any, seen: Seen, snapshot: Any) -> dict[str, Any]:
    """Of each proposal that a trial has to prove: whether it is due, proven, waiting or taken back."""
    from planopt_assets.loop.maintaining.readers import remembered_of
    from planopt_assets.loop.run import read_standings

    if not any(p.needs_proof for p in seen[1]):
        return {}
    standings = snapshot.once("standings", lambda: read_standings(loaded, snapshot=snapshot))
    return remembered_of(loaded, snapshot, standings, seen[1])


def _seen(loaded: Any, standing: Any, snapshot: Any, verify: bool) -> Seen:
    """What is stored, if the table and its queries are as they were then; else the table is looked at again."""
    from datetime import UTC, datetime

    from planopt_assets.delta.damages import VERIFIED_BYTES
    from planopt_assets.loop.stages.readiness import look_at

    if standing.settled and not verify:
        return standing.readiness, standing.proposals
    most = None if verify else VERIFIED_BYTES
    return look_at(loaded, snapshot, standing, now=datetime.now(UTC), most_bytes=most)
