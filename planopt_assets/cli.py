"""`planopt`: everything a script or a terminal needs. Commands that only read never start Spark."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from planopt_assets.errors import PlanoptError, UnknownQuery

app = typer.Typer(
    name="planopt",
    help="Closed-loop plan optimizer for Spark SQL on Delta tables. "
    "Exit codes: 0 done, 1 error, 2 usage, 3 regression gate failed, 5 budget of the run spent. "
    "With --debug an error shows where it came from.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

WorkloadOption = Annotated[
    Path, typer.Option("--workload", "-w", envvar="PLANOPT_WORKLOAD", help="The workload file.", show_default=True)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
QueriesArgument = Annotated[list[str] | None, typer.Argument(help="Query ids; none means all.", metavar="[QUERY]...")]
DEFAULT = Path("planopt.yaml")
DEMO_FOLDER = Path(".planopt/demo")


@app.command()
def demo(
    queries: QueriesArgument = None,
    scale: Annotated[float, typer.Option(help="TPC-H scale factor.", min=0.01, max=100.0)] = 0.1,
    folder: Annotated[Path, typer.Option(help="Where workload, data, store and report go.")] = DEMO_FOLDER,
    prepare_only: Annotated[bool, typer.Option("--prepare-only", help="Write workload and data, run nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run the whole loop on TPC-H data: observe, decide, re-plan, validate, promote."""
    from planopt_assets.demo import prepare

    file = prepare(folder, scale, _say)
    if prepare_only:
        if as_json:
            _print_json({"workload": str(file)})
        else:
            _say(f"ready: {file}")
        return
    _optimize(file, queries or [], as_json=as_json)


@app.command()
def run(queries: QueriesArgument = None, workload: WorkloadOption = DEFAULT, as_json: JsonOption = False) -> None:
    """Run the loop for some queries, or all; does only what the inputs' changes ask for."""
    _optimize(workload, queries or [], as_json=as_json)


@app.command()
def status(workload: WorkloadOption = DEFAULT, as_json: JsonOption = False) -> None:
    """Where every query stands, and which policy is in force."""
    from planopt_assets.report.terminal import print_standings

    loaded, standings = _standings(workload)
    if as_json:
        _print_json(
            {"workload": loaded.name, "store": loaded.store, "queries": [s.facts() for s in standings.values()]}
        )
    else:
        print_standings(standings.values())


@app.command()
def why(
    query: Annotated[str, typer.Argument(help="Query id.")],
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Everything that led to a query's outcome: decisions with their arithmetic, plan changes, verdicts."""
    from planopt_assets.report.terminal import print_why
    from planopt_assets.report.why import why_facts

    _, standings = _standings(workload, [query])
    facts = why_facts(standings[query])
    if as_json:
        _print_json(facts)
    else:
        print_why(facts)


@app.command()
def check(queries: QueriesArgument = None, workload: WorkloadOption = DEFAULT, as_json: JsonOption = False) -> None:
    """The regression gates of some queries, or all, on what is stored; exit code 3 when one fails severely."""
    from planopt_assets.report.terminal import print_gates

    loaded, standings = _standings(workload, queries)
    gates = _gates(loaded, queries or list(standings), standings)
    if as_json:
        _print_json(
            {
                "workload": loaded.name,
                "gates": [
                    {"gate": name, "query": query, **asdict(gate)}
                    for name, answers in gates.items()
                    for query, gate in answers.items()
                ],
            }
        )
    else:
        print_gates(gates)
    if any(gate.severe for answers in gates.values() for gate in answers.values()):
        raise typer.Exit(3)


@app.command()
def accept(
    query: Annotated[str, typer.Argument(help="Query id.")],
    reason: Annotated[str, typer.Option(help="Why the new plan is as it should be; it is stored.")] = "",
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Take the plan a query has now as the one to keep, after `plan_topology_stable` reported a change."""
    import uuid

    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.observe.accept import accept_topology
    from planopt_assets.run import Run

    loaded, _ = _standings(workload, [query])
    observation = accept_topology(Run(Workspace(loaded), str(uuid.uuid4()), by_hand=True), query, reason)
    if as_json:
        _print_json({"query": query, "accepted": observation})
    else:
        typer.echo(f"{query}: the plan of {observation} is now the one to keep")


@app.command()
def lineage(
    row_id: Annotated[str, typer.Argument(metavar="ID")],
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """What a stored row came from, down to the source tables and their versions."""
    from planopt_assets.report.terminal import print_lineage
    from planopt_assets.store.lineage import tree
    from planopt_assets.store.reader import StoreReader

    loaded = _load(workload)
    node = tree(StoreReader(loaded.store, loaded.name), row_id)
    if as_json:
        _print_json(node.facts())
    else:
        print_lineage(node)


@app.command()
def promote(
    queries: Annotated[list[str], typer.Argument(metavar="QUERY...")],
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Put the accepted policy of a query in force; refuses without an accepted verdict on its current inputs."""
    import uuid

    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.promote.stage import promote as promote_stage
    from planopt_assets.run import Run

    loaded, _ = _standings(workload, queries)
    results = promote_stage(Run(Workspace(loaded), str(uuid.uuid4()), by_hand=True), queries)
    if as_json:
        _print_json({"queries": [{"id": r.query_id, "changed": r.changed, "summary": r.summary} for r in results]})
    else:
        for result in results:
            typer.echo(f"{result.query_id}: {result.summary}")


@app.command()
def report(
    workload: WorkloadOption = DEFAULT,
    output: Annotated[Path | None, typer.Option(help="Default: .planopt/report.html beside the workload file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the HTML report: one self-contained file."""
    loaded, standings = _standings(workload)
    path = _write_report(loaded, standings, output)
    if as_json:
        _print_json({"report": str(path)})
    else:
        typer.echo(str(path))


@app.command()
def ui(
    workload: Annotated[
        Path | None, typer.Option("--workload", "-w", envvar="PLANOPT_WORKLOAD", help="Default: the demo.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 3000,
) -> None:
    """Open Dagster on 127.0.0.1 with the workload's queries ready to materialize; there is no login."""
    import dagster as dg

    from planopt_assets.defs.instance import dagster_home, register_queries
    from planopt_assets.demo import prepare

    loaded = _load(workload if workload else prepare(DEMO_FOLDER, 0.1, _say))
    home = dagster_home(loaded).resolve()
    environment = {
        **os.environ,
        "PLANOPT_WORKLOAD": str(loaded.file.resolve()),
        "DAGSTER_HOME": str(home),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    with dg.DagsterInstance.from_config(str(home)) as instance:
        register_queries(instance, loaded)
    command = [
        sys.executable,
        "-m",
        "dagster",
        "dev",
        "-m",
        "planopt_assets.definitions",
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
    ]
    typer.echo(f"Dagster with workload {loaded.name}: http://127.0.0.1:{port} (Ctrl-C ends it)")
    os.execve(sys.executable, command, environment)


def _optimize(file: Path, queries: list[str], *, as_json: bool) -> None:
    """Run the loop where something is to do, then show where every query stands."""
    from planopt_assets.report.terminal import Progress, print_closing, print_standings
    from planopt_assets.run import read_standings

    loaded, standings = _standings(file, queries)
    chosen = queries or [q.id for q in loaded.queries]
    todo = [q for q in chosen if not standings[q].settled]
    run_id = None
    if todo:
        from planopt_assets.defs.instance import run_loop

        with Progress(loaded.name, todo, quiet=as_json) as progress:
            run_id, pins = run_loop(loaded, todo, progress.tell)
        standings = read_standings(loaded, pins)
    shown = [standings[q] for q in chosen]
    path = _write_report(loaded, standings, None)
    if as_json:
        _print_json(
            {
                "workload": loaded.name,
                "nothing_to_do": not todo,
                "run_id": run_id,
                "store": loaded.store,
                "report": str(path),
                "queries": [s.facts() for s in shown],
            }
        )
    else:
        if not todo:
            typer.echo("Nothing to do: queries, tables and settings are unchanged since the last run.\n")
        print_standings(shown)
        print_closing(loaded, path)
    _exit_on_regression(loaded, chosen, standings)
    left = [s.query_id for s in shown if s.unjudged]
    if left:
        _say(f"the budget of the run was spent before {', '.join(left)}: run again to go on")
        raise typer.Exit(5)


def _gates(workload: Any, queries: list[str], standings: Any) -> dict[str, dict[str, Any]]:
    from planopt_assets.gates import evaluate
    from planopt_assets.store.reader import StoreReader

    return evaluate(queries, StoreReader(workload.store, workload.name), standings)


def _exit_on_regression(workload: Any, queries: list[str], standings: Any) -> None:
    """Exit code 3 when a gate fails severely: a policy found worse, a plan that is not the accepted one, and so on."""
    severe = [
        f"{query}: {name}: {gate.words}"
        for name, answers in _gates(workload, queries, standings).items()
        for query, gate in answers.items()
        if gate.severe
    ]
    for words in severe:
        _say(f"regression: {words}")
    if severe:
        raise typer.Exit(3)


def _standings(file: Path, queries: list[str] | None = None) -> tuple[Any, Any]:
    from planopt_assets.run import read_standings

    loaded = _load(file)
    known = [q.id for q in loaded.queries]
    for query in queries or []:
        if query not in known:
            import difflib

            near = difflib.get_close_matches(query, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise UnknownQuery(f"the workload has no query {query!r}", where=str(file), fix=hint)
    return loaded, read_standings(loaded)


def _load(file: Path) -> Any:
    from planopt_assets.workload import load_workload

    return load_workload(file)


def _write_report(workload: Any, standings: Any, output: Path | None) -> Path:
    from planopt_assets.report.html import write_report

    return write_report(workload, standings, output or workload.file.parent / ".planopt" / "report.html")


def _print_json(facts: Any) -> None:
    import orjson

    typer.echo(orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode())


def _say(words: str) -> None:
    typer.echo(words, err=True)


def main() -> NoReturn:
    """Entry point: planopt's own errors are one line and exit code 1; `--debug` shows where they came from."""
    debug = "--debug" in sys.argv
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    try:
        app(arguments, standalone_mode=True)
    except PlanoptError as error:
        if debug:
            raise
        if "--json" in arguments:
            _print_json({"error": error.facts()})
        else:
            _say(str(error))
        sys.exit(1)
    sys.exit(0)


if __name__ == "__main__":
    main()
