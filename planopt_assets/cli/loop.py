"""Commands that run the loop on a workload or on the demo, and the Dagster UI."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from planopt_assets.cli.command import (
    DEFAULT,
    JsonOption,
    QueriesArgument,
    Read,
    WorkloadOption,
    know_pandas,
    load,
    load_known,
    print_json,
    print_json_list,
    read_store,
    report_of,
    say,
    write_html,
)

DEMO_FOLDER = Path(".planopt/demo")


def demo(
    queries: QueriesArgument = None,
    scale: Annotated[float, typer.Option(help="TPC-H scale factor.", min=0.01, max=100.0)] = 0.1,
    folder: Annotated[Path, typer.Option(help="Where workload, data, store and report go.")] = DEMO_FOLDER,
    master: Annotated[str, typer.Option(help="Spark master, such as `spark://host:7077`.")] = "local[*]",
    prepare_only: Annotated[bool, typer.Option("--prepare-only", help="Write workload and data, run nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run the whole loop on TPC-H data: observe, decide, replan, validate, promote."""
    from planopt_assets.cli.demo_tables import prepare

    file = prepare(folder, scale, say, master)
    if prepare_only:
        if as_json:
            print_json({"workload": str(file)})
        else:
            say(f"ready: {file}")
        return
    _optimize(file, queries or [], as_json=as_json)


def run(queries: QueriesArgument = None, workload: WorkloadOption = DEFAULT, as_json: JsonOption = False) -> None:
    """Run the loop for some queries, or all. It does only what is missing for the current inputs."""
    _optimize(workload, queries or [], as_json=as_json)


def ui(
    workload: Annotated[
        Path | None, typer.Option("--workload", "-w", envvar="PLANOPT_WORKLOAD", help="Default: the demo.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 3000,
) -> None:
    """Start the Dagster UI on 127.0.0.1 for the workload. It has no login."""
    import dagster as dg

    from planopt_assets.cli.demo_tables import prepare
    from planopt_assets.defs.instance import dagster_home, register_queries, register_tables
    from planopt_assets.engine.sessions.thread_budget import variables

    loaded = load(workload if workload else prepare(DEMO_FOLDER, 0.1, say))
    home = dagster_home(loaded).resolve()
    environment = {
        **os.environ,
        **variables(),  # runs started from the UI are measured too
        "PLANOPT_WORKLOAD": str(loaded.file.resolve()),
        "DAGSTER_HOME": str(home),
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    with dg.DagsterInstance.from_config(str(home)) as instance:
        register_queries(instance, loaded)
        register_tables(instance, loaded)
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
    # A shell starts its background jobs with SIGINT ignored. Dagster inherits that, and handles SIGTERM the same way.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execve(sys.executable, command, environment)


def _optimize(file: Path, queries: list[str], *, as_json: bool) -> None:
    """Run the loop for queries that need it, then print the state of each query and what was put on tables."""
    from planopt_assets.engine.sessions.thread_budget import limit_native_threads

    limit_native_threads()  # before anything loads Arrow, which starts the thread pools
    from planopt_assets.loop.laid_out import by_runs
    from planopt_assets.report.applied_layouts import layout_facts, print_layouts
    from planopt_assets.report.standing_facts import standing_facts
    from planopt_assets.report.terminal import Progress, print_closing, print_standings
    from planopt_assets.store.compaction import compact_store

    loaded = load_known(file, queries)
    found = read_store(loaded, to_write=True)
    chosen = queries or [q.id for q in loaded.queries]
    agenda = found.agenda(chosen, queries)
    todo = agenda.queries
    run_id, laid_out_by = None, ""
    if todo or agenda.tables:
        from planopt_assets.definitions import defs
        from planopt_assets.defs.instance import run_loop
        from planopt_assets.defs.names import LAY_OUT_SELECTED_JOB
        from planopt_assets.store.writable import check_writable

        check_writable(loaded.store, "the store")
        check_writable(report_of(loaded).parent, "the report")
        know_pandas()
        gc.enable()  # off while a store is read; a run takes long
        began = time.monotonic()  # one budget for both runs: what a command may take is what the file says
        with Progress(loaded.name, todo, quiet=as_json, tables=len(agenda.tables)) as progress:
            if loaded.mode != "observe" and any(t.maintain != "never" for t in loaded.tables):
                # Layouts first: policies are then validated on what they will run on.
                laid_out_by, _ = run_loop(
                    *(defs(), loaded, todo or chosen, progress.tell),
                    named=queries,
                    job=LAY_OUT_SELECTED_JOB,
                    started_at=began,
                )
            run_id, pins = run_loop(
                *(defs(), loaded, todo or chosen, progress.tell),
                priority=agenda.priority,
                named=queries,
                started_at=began,
            )
        found = read_store(loaded, pins=pins)
    compact_store(loaded.store)
    shown = [found.standings[q] for q in chosen]
    layouts = by_runs(found.layouts, {laid_out_by, run_id or ""})
    path = write_html(found, unless_shown=True)
    if as_json:
        head = {
            "workload": loaded.name,
            "nothing_to_do": run_id is None,
            "run_id": run_id,
            "store": loaded.store,
            "report": str(path),
            "layouts": [layout_facts(one) for one in layouts],
        }
        print_json_list(head, "queries", (standing_facts(s) for s in shown))
    else:
        if run_id is None and not any(s.broken for s in shown):
            typer.echo("Nothing to do: queries, tables and settings are unchanged since the last run.\n")
        print_standings(shown)
        print_layouts(layouts)
        print_closing(loaded, path)
    exit_as_it_went(found, chosen)


def exit_as_it_went(found: Read, queries: list[str]) -> None:
    """Exit code 3 for a regression, else 4 for a query that failed, else 5 for one that the budget did not reach."""
    standings = [found.standings[q] for q in queries]
    severe = [
        f"{query}: {name}: {gate.words}"
        for name, answers in found.gates(queries).items()
        for query, gate in answers.items()
        if gate.severe
    ]
    failed = [f"{s.query_id}: {s.reason}" for s in standings if s.failed]
    left = [s.query_id for s in standings if s.unjudged or (s.base is not None and not s.decided)]
    for words in severe:
        say(f"regression: {words}")
    for words in failed:
        say(f"failed: {words}")
    if left:
        say(f"the budget of the run was spent before {', '.join(left)}: run again to continue")
    if code := 3 if severe else 4 if failed else 5 if left else 0:
        raise typer.Exit(code)
