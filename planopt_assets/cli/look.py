"""Commands that only read the store. None of them starts Spark."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planopt_assets.cli.command import (
    DEFAULT,
    JsonOption,
    QueriesArgument,
    WorkloadOption,
    answer,
    check_known,
    load,
    load_known,
    print_json,
    print_json_list,
    read,
    read_store,
    say,
    say_if_newer,
    write_html,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt_assets.job.export import Exported
    from planopt_assets.model.workload import Workload
    from planopt_assets.model.workload_policy import WorkloadPolicy


def status(workload: WorkloadOption = DEFAULT, as_json: JsonOption = False) -> None:
    """Show the state of each query and the policy in force."""
    from planopt_assets.loop.workload_policies import workload_policy
    from planopt_assets.report.standing_facts import standing_facts
    from planopt_assets.report.terminal import print_standings

    found = read(workload)
    loaded, standings = found.workload, found.standings.values()
    for_all = workload_policy(loaded, found.snapshot, found.standings)
    if as_json:
        head = {
            "workload": loaded.name,
            "store": loaded.store,
            "workload_policy": for_all.facts() if for_all else None,
        }
        print_json_list(head, "queries", (standing_facts(s) for s in standings))
    else:
        print_standings(standings)
        if for_all:
            answer(f"for all queries: {for_all.describe()}")


def why(
    query: Annotated[str, typer.Argument(help="Query id, or the name of a table.", metavar="QUERY|TABLE")],
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Show what led to a query's outcome: decisions with their arithmetic, plan changes, verdicts. Or all of a table.

    A name that is both is the query.
    """
    loaded = load(workload)
    if query not in {q.id for q in loaded.queries} and query in {t.name for t in loaded.tables}:
        from planopt_assets.cli.tables import why_table

        why_table(loaded, query, as_json=as_json)
        return
    from planopt_assets.report.terminal import print_why
    from planopt_assets.report.why import why_facts
    from planopt_assets.store.codecs.observing import EXECUTIONS

    check_known(loaded, workload, [query])
    found = read_store(loaded, [query])
    production = found.snapshot.read(EXECUTIONS, purpose="production", query_id=query)
    facts = why_facts(found.standings[query], production)
    if as_json:
        print_json(facts)
    else:
        print_why(facts)


def plan(queries: QueriesArgument = None, workload: WorkloadOption = DEFAULT, as_json: JsonOption = False) -> None:
    """Show what `planopt run` would do now, why, in which order, and what it may cost. Nothing is run."""
    from planopt_assets.loop.run_cost import executors_held, run_cost
    from planopt_assets.report.terminal import print_agenda

    found = read_store(load_known(workload, queries))  # all queries: who reads a table decides about its layouts
    agenda = found.agenda(queries or list(found.standings), queries)
    held = executors_held(found.workload, found.snapshot, found.standings)
    cost = run_cost(found.workload, agenda, held, datetime.now(UTC))
    if as_json:
        head = {
            "workload": found.workload.name,
            "nothing_to_do": not agenda.queries and not agenda.tables,
            "priority": agenda.priority,
            "cost": cost.facts(),
            "tables": [i.facts() for i in agenda.table_items],
        }
        print_json_list(head, "queries", agenda.facts())
    else:
        print_agenda(agenda, cost)


def diff(
    query: Annotated[str, typer.Argument(help="Query id.")],
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Show what a policy changes in a query's plan, and what changed in the query's text.

    The policy is the one in force, else the accepted one, else the first candidate.
    """
    from planopt_assets.report.diff import diff_facts
    from planopt_assets.report.terminal import print_diff
    from planopt_assets.store.codecs.deciding import CANDIDATES

    found = read(workload, [query])
    facts = diff_facts(found.standings[query], found.snapshot.read(CANDIDATES, query_id=query))
    if as_json:
        print_json(facts)
    else:
        print_diff(facts)


def check(
    queries: QueriesArgument = None,
    allow_unobserved: Annotated[
        bool, typer.Option("--allow-unobserved", help="Do not fail for gates without evidence.")
    ] = False,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Check the regression gates on stored rows. A gate of severity error, or one without evidence, exits with 3."""
    from planopt_assets.report.terminal import print_gates

    found = read(workload, queries)
    gates = found.gates(queries or list(found.standings))
    if as_json:
        print_json_list(
            {"workload": found.workload.name},
            "gates",
            (
                {"gate": name, "query": query, **asdict(gate)}
                for name, answers in gates.items()
                for query, gate in answers.items()
            ),
        )
    else:
        print_gates(gates)
    answered = [gate for answers in gates.values() for gate in answers.values()]
    if any(gate.severe or not (gate.observed or allow_unobserved) for gate in answered):
        raise typer.Exit(3)


def lineage(
    row_id: Annotated[str, typer.Argument(metavar="ID")],
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Show the rows a stored row was made from, down to source tables and their versions."""
    from planopt_assets.report.terminal import print_lineage
    from planopt_assets.store.lineage import tree
    from planopt_assets.store.snapshot import Snapshot

    loaded = load(workload)
    snapshot = Snapshot(loaded.store, loaded.name, only_read=True)
    node = tree(snapshot, row_id)
    say_if_newer(snapshot)
    if as_json:
        print_json(node.facts())
    else:
        print_lineage(node)


class ExportFormat(StrEnum):
    """The formats of `export`."""

    defaults = "spark-defaults"
    submit = "submit"
    sql = "sql"
    json = "json"
    python = "python"


def export(
    queries: QueriesArgument = None,
    form: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.sql,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Default: standard output.")] = None,
    for_all: Annotated[
        bool, typer.Option("--workload-policy", help="One policy for all; of each query only what differs.")
    ] = False,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Write the policies in force, for jobs that do not use planopt. A query named by id must be exportable."""
    from shutil import copyfileobj
    from tempfile import TemporaryFile

    from planopt_assets.errors import NotExportable
    from planopt_assets.job.export import SETTINGS_ONLY, exported, rendered
    from planopt_assets.job.export_for_all import Beside, rendered_for_all
    from planopt_assets.job.in_force import found_in_store

    loaded = load_known(workload, queries)
    written = ExportFormat.json if as_json else form
    declared = {**dict(loaded.spark_settings), **dict(loaded.knobs.pin)}.items()
    every = _proven_for_all(loaded) if for_all else None
    in_comments = written.value in SETTINGS_ONLY

    def one_by_one() -> Iterator[Exported]:
        for query in (q for q in loaded.queries if not queries or q.id in queries):
            stored = found_in_store(loaded, query)
            found = exported(query, stored.promotion, declared, stored.suspended)
            as_original = "exported as original" + (", in comments only" if every and in_comments else "")
            if found.suspended:
                say(f"{query.id} is {as_original}: {found.suspended}")
            if every and (why := Beside.of(found, every).alone):
                say(f"{query.id} has the settings for all alone: {why}")
            elif why := found.missing if every else found.why_not(written.value):
                if queries:
                    raise NotExportable(why, where=f"query {query.id}", fix="choose another format, or use `tuned`")
                say(f"{query.id} is {as_original if every else 'not exported'}: {why}")
            yield found

    # Everything goes to a temporary file first. So an error leaves no half-written output.
    with TemporaryFile("w+", encoding="utf-8", newline="") as whole:
        if every:
            whole.writelines(rendered_for_all(loaded.name, every, one_by_one(), written.value, declared))
        else:
            whole.writelines(rendered(loaded.name, one_by_one(), written.value))
        whole.seek(0)
        if out is None:
            for piece in iter(lambda: whole.read(65536), ""):
                typer.echo(piece, nl=False)
            return
        try:
            with out.open("w", encoding="utf-8", newline="") as target:
                copyfileobj(whole, target)
        except OSError as error:
            raise NotExportable(str(error), where=str(out), fix="name a file that can be written") from error
    say(f"written: {out}")


def _proven_for_all(loaded: Workload) -> WorkloadPolicy:
    """The workload policy, if the judge accepted it on the whole workload."""
    from planopt_assets.errors import NotExportable
    from planopt_assets.loop.workload_policies import with_untried, workload_policy

    stored = read_store(loaded)
    found = workload_policy(loaded, stored.snapshot, stored.standings)
    if found is not None and found.accepted:
        return with_untried(found, loaded, stored.snapshot)
    raise NotExportable(
        found.describe() if found else "no setting helped more than half of the queries",
        where="the workload policy",
        fix="try it on the whole workload: `planopt workload-policy --try`",
    )


def report(
    workload: WorkloadOption = DEFAULT,
    output: Annotated[Path | None, typer.Option(help="Default: .planopt/report.html beside the workload file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the HTML report, one self-contained file."""
    path = write_html(read(workload), output)
    if as_json:
        print_json({"report": str(path)})
    else:
        typer.echo(str(path))
