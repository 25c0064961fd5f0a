"""`planopt gate`: holds back a release whose queries got worse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planopt_assets.cli.command import (
    DEFAULT,
    JsonOption,
    QueriesArgument,
    WorkloadOption,
    answer,
    check_known,
    load,
    print_json,
    say,
)


def gate(
    queries: QueriesArgument = None,
    baseline: Annotated[
        str, typer.Option(help="A git commit, branch or tag, or the folder of a store.", show_default=True)
    ] = "HEAD",
    run: Annotated[bool, typer.Option("--run", help="Also run old and new in turns, and compare the cost.")] = False,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a summary for a pull request.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML for CI.")] = None,
    workload: WorkloadOption = DEFAULT,
    as_json: JsonOption = False,
) -> None:
    """Compare the workload file and its queries with a baseline. A regression exits with 3.

    Fails: a query that cannot be planned, a lost or changed column, a lost pushdown, a plan that the cost model finds
    1.25 times as dear, and with `--run` a slower query. Unchanged queries cost nothing: Spark starts only if one
    changed.
    """
    from planopt_assets.engine.sessions.thread_budget import limit_native_threads

    limit_native_threads()
    from planopt_assets.loop.release.baseline import baseline_of
    from planopt_assets.loop.release.gate import ReleaseGate
    from planopt_assets.report.release import lines, release_junit, release_markdown, summary

    after = load(workload)
    with baseline_of(after, baseline) as before:
        if unknown := [q for q in queries or [] if q not in {b.id for b in before.queries}]:
            check_known(after, workload, unknown)
        compared = ReleaseGate(before, after, run=run, tell=lambda query, words: say(f"{query}: {words}"))
        answers = compared.answers(queries or ())
    if markdown is not None:
        _write(markdown, release_markdown(answers, baseline))
    if junit is not None:
        _write(junit, release_junit(answers, after.name))
    if as_json:
        print_json({"workload": after.name, "baseline": baseline, "queries": [a.facts() for a in answers]})
    else:
        for one in answers:
            if one.change not in ("same", "spelling"):
                answer(f"{one.outcome:7} {one.query_id} ({one.change}: {one.words})")
                for line in lines(one):
                    answer(f"        {line}")
        answer(summary(answers))
    if any(one.outcome == "failed" for one in answers):
        raise typer.Exit(3)


def _write(file: Path, text: str) -> None:
    from planopt_assets.store.writable import not_writable

    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise not_writable(file, "the summary") from error
