"""`planopt`: everything a script or a terminal needs. Commands that only read never start Spark."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from enum import StrEnum
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
ReasonOption = Annotated[str, typer.Option(help="Why; it is stored.")]
ByOption = Annotated[str | None, typer.Option(metavar="NAME", help="Who; default: the user of this machine.")]
DEFAULT = Path("planopt.yaml")
DEMO_FOLDER = Path(".planopt/demo")


class Target(StrEnum):
    """Where `rollback` goes."""

    good = "last-good"
    original = "original"


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
def plan(queries: QueriesArgument = None, workload: WorkloadOption = DEFAULT, as_json: JsonOption = False) -> None:
    """What `planopt run` would do now, why, and in which order; nothing is run."""
    from planopt_assets.report.terminal import print_agenda

    loaded, standings = _standings(workload, queries)
    agenda = _agenda(loaded, standings, queries or list(standings))
    if as_json:
        facts = {"workload": loaded.name, "nothing_to_do": not agenda.queries, "priority": agenda.priority}
        _print_json({**facts, "queries": agenda.facts()})
    else:
        print_agenda(agenda)


@app.command()
def diff(
    query: Annotated[str, typer.Argument(help="Query id.")],
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """What the policy in force, accepted or tried changes in a query's plan, and what changed in its text."""
    from planopt_assets.report.diff import diff_facts
    from planopt_assets.report.terminal import print_diff
    from planopt_assets.store.reader import StoreReader

    loaded, standings = _standings(workload, [query])
    planned = StoreReader(loaded.store, loaded.name).rows("candidate_plans", query_id=query)
    facts = diff_facts(standings[query], planned)
    if as_json:
        _print_json(facts)
    else:
        print_diff(facts)


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
    """Fix a query's policy by hand; automation leaves it alone until `planopt unpin`."""
    from planopt_assets.promote.by_person import pin as pin_policy

    if bool(settings) == bool(policy):
        raise typer.BadParameter("give settings with --set, or one policy with --policy")
    pairs = [part.partition("=") for part in settings or []]
    if any(not (name and equals) for name, equals, _ in pairs):
        raise typer.BadParameter("--set takes NAME=VALUE")
    chosen = {name.strip(): value.strip() for name, _, value in pairs}
    run = _run_by_hand(workload, query)
    result = pin_policy(run, query, settings=chosen, policy_id=policy, reason=reason, who=_who(by))
    _print_change(result, as_json=as_json)


@app.command()
def unpin(
    query: Annotated[str, typer.Argument(help="Query id.")],
    reason: ReasonOption = "",
    by: ByOption = None,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Give a pinned query back to automation, with the policy that was accepted before the pin."""
    from planopt_assets.promote.by_person import unpin as unpin_policy

    result = unpin_policy(_run_by_hand(workload, query), query, reason=reason, who=_who(by))
    _print_change(result, as_json=as_json)


@app.command()
def rollback(
    query: Annotated[str, typer.Argument(help="Query id.")],
    to: Annotated[Target, typer.Option(help="The policy that was good before, or nothing set at all.")] = Target.good,
    reason: ReasonOption = "",
    by: ByOption = None,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Take a query's policy out of force; automation does not promote it again by the same verdict."""
    from planopt_assets.promote.by_person import rollback as roll_back

    run = _run_by_hand(workload, query)
    result = roll_back(run, query, to="last_good" if to is Target.good else "original", reason=reason, who=_who(by))
    _print_change(result, as_json=as_json)


class ExportFormat(StrEnum):
    """What `export` writes."""

    defaults = "spark-defaults"
    submit = "submit"
    sql = "sql"
    json = "json"
    python = "python"


@app.command()
def export(
    queries: QueriesArgument = None,
    form: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.sql,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Default: standard output.")] = None,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Write the policies in force for jobs that do not use planopt; a query named by id must be exportable."""
    from planopt_assets.errors import NotExportable
    from planopt_assets.export import exported, rendered
    from planopt_assets.in_force import promotion_in_force

    loaded = _load(workload)
    _check_known(loaded, workload, queries)
    chosen = [q for q in loaded.queries if not queries or q.id in queries]
    found = [exported(q, promotion_in_force(loaded, q.id)) for q in chosen]
    written = ExportFormat.json if as_json else form
    for query in found:
        if why := query.why_not(written.value):
            if queries:
                raise NotExportable(why, where=f"query {query.query_id}", fix="choose another format, or use `tuned`")
            _say(f"{query.query_id} is not exported: {why}")
    text = rendered(loaded.name, found, written.value)
    if out is None:
        typer.echo(text, nl=False)
    else:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise NotExportable(str(error), where=str(out), fix="name a file that can be written") from error
        _say(f"written: {out}")


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
    agenda = _agenda(loaded, standings, chosen)
    todo = agenda.queries
    run_id = None
    if todo:
        from planopt_assets.defs.instance import run_loop

        with Progress(loaded.name, todo, quiet=as_json) as progress:
            run_id, pins = run_loop(loaded, todo, progress.tell, priority=agenda.priority)
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


def _agenda(workload: Any, standings: Any, queries: list[str]) -> Any:
    from planopt_assets.agenda import agenda_of
    from planopt_assets.store.reader import StoreReader

    return agenda_of(workload, StoreReader(workload.store, workload.name), standings, queries)


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
    _check_known(loaded, file, queries)
    return loaded, read_standings(loaded)


def _run_by_hand(file: Path, query: str) -> Any:
    """A run of one person's command; Spark starts only when something is to be written."""
    import uuid

    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.run import Run

    loaded, _ = _standings(file, [query])
    return Run(Workspace(loaded), str(uuid.uuid4()), by_hand=True)


def _who(name: str | None) -> str:
    import getpass

    try:
        return name or getpass.getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return "a person"


def _print_change(result: Any, *, as_json: bool) -> None:
    if as_json:
        facts = {"id": result.query_id, "changed": result.changed, "summary": result.summary}
        _print_json({**facts, **result.numbers, **result.words})
    else:
        typer.echo(f"{result.query_id}: {result.summary}")


def _check_known(loaded: Any, file: Path, queries: list[str] | None) -> None:
    known = [q.id for q in loaded.queries]
    for query in queries or []:
        if query not in known:
            import difflib

            near = difflib.get_close_matches(query, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise UnknownQuery(f"the workload has no query {query!r}", where=str(file), fix=hint)


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
