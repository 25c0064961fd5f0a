"""The command line, `planopt`. Commands that only read never start Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from planopt_assets.cli import alerts, gate, look, loop, maintain, person, purge, repair, tables, workload_policy
from planopt_assets.cli.command import print_json, say
from planopt_assets.errors import PlanoptError
from planopt_assets.store.collector import collector_paused

app = typer.Typer(
    name="planopt",
    help="Closed-loop plan optimizer for Spark SQL on Delta tables. "
    "Exit codes: 0 done, 1 error, 2 usage, 3 a gate found a regression or (check) has no evidence, "
    "4 a query of the run failed, 5 budget of the run spent. "
    "With --debug an error prints its stack trace.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

# In the order `planopt --help` lists them.
COMMANDS: tuple[Callable[..., None], ...] = (
    loop.demo,
    loop.run,
    look.status,
    look.why,
    tables.tables,
    look.plan,
    look.diff,
    look.check,
    gate.gate,
    person.accept,
    look.lineage,
    person.promote,
    person.pin,
    person.unpin,
    person.rollback,
    workload_policy.workload_policy,
    maintain.maintain,
    repair.repair,
    purge.purge,
    look.export,
    look.report,
    loop.ui,
)
for function in COMMANDS:
    app.command()(function)
app.add_typer(alerts.app)


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"planopt {version('planopt')}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[  # its callback does it
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Options of `planopt` itself."""


def main() -> NoReturn:
    """Entry point. An error of planopt prints one line and exits with 1. `--debug` shows its stack trace."""
    debug = "--debug" in sys.argv
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    try:
        with collector_paused():  # a command that only reads ends before a collection would pay
            app(arguments, standalone_mode=True)
    except PlanoptError as error:
        if debug:
            raise
        if "--json" in arguments:
            print_json({"error": error.facts()})
        else:
            say(str(error))
        sys.exit(1)
    sys.exit(0)
