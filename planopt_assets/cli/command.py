"""Shared by all commands: options, loading the workload, reading the store, printing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from planopt_assets.errors import PlanoptError, UnknownQuery
from planopt_assets.model.printable import printable, printable_json

WorkloadOption = Annotated[
    Path, typer.Option("--workload", "-w", envvar="PLANOPT_WORKLOAD", help="The workload file.", show_default=True)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
QueriesArgument = Annotated[list[str] | None, typer.Argument(help="Query ids; none means all.", metavar="[QUERY]...")]
DEFAULT = Path("planopt.yaml")


def load(file: Path) -> Any:
    """Load the workload file."""
    from planopt_assets.workload import load_workload

    return load_workload(file)


def check_known(loaded: Any, file: Path, queries: list[str] | None) -> None:
    """Refuse a query that is not in the workload, and name the nearest one."""
    known = [q.id for q in loaded.queries]
    for query in queries or []:
        if query not in known:
            import difflib

            near = difflib.get_close_matches(query, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise UnknownQuery(f"the workload has no query {query!r}", where=str(file), fix=hint)


@dataclass(frozen=True, slots=True)
class Read:
    """A workload, one snapshot of its store, and the standing of each query."""

    workload: Any
    snapshot: Any
    standings: dict[str, Any]
    pins: Any = None  # the versions of the tables that the standings are of

    def agenda(self, queries: list[str], named: list[str] | None = None) -> Any:
        """What these queries still need, and in which order. A person has `named` some of them."""
        from planopt_assets.loop.agenda import agenda_of
        from planopt_assets.loop.table_standing import table_standings

        tables = table_standings(self.workload, self.snapshot, self.pins)
        return agenda_of(self.workload, self.snapshot, self.standings, queries, named or (), tables)

    @property
    def layouts(self) -> tuple[Any, ...]:
        """All that planopt has ever put on tables, and nobody took back."""
        from planopt_assets.loop.laid_out import laid_out

        found: tuple[Any, ...] = self.snapshot.once("laid_out", lambda: laid_out(self.snapshot))
        return found

    @property
    def layouts_on_tables(self) -> list[Any]:
        """Of these, what is on the tables now."""
        from planopt_assets.loop.laid_out import on_tables, seen_table_ids

        return on_tables(self.layouts, seen_table_ids(self.snapshot)) if self.layouts else []

    def gates(self, queries: list[str]) -> dict[str, dict[str, Any]]:
        """The answer of each gate for each of these queries, from stored rows."""
        from planopt_assets.loop.gates import evaluate

        return evaluate(queries, self.snapshot, self.standings)


def load_known(file: Path, queries: list[str] | None) -> Any:
    """Load the workload file, and check that it has these queries."""
    loaded = load(file)
    check_known(loaded, file, queries)
    return loaded


def read(file: Path, queries: list[str] | None = None) -> Read:
    """Read the store of a workload for these queries, or for all if none is named."""
    return read_store(load_known(file, queries), queries)


def read_store(workload: Any, queries: list[str] | None = None, pins: Any = None, *, to_write: bool = False) -> Read:
    """What the store knows. One that a newer planopt wrote is read, with a note; `to_write` it is an error."""
    load_arrow()
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.loop.run import read_standings
    from planopt_assets.store.snapshot import Snapshot

    snapshot, pinned = Snapshot(workload.store, workload.name, only_read=not to_write), pins or Pins()
    standings = read_standings(workload, pinned, snapshot=snapshot, query_ids=queries or None)
    say_if_newer(snapshot)
    return Read(workload, snapshot, standings, pinned)


def say_if_newer(snapshot: Any) -> None:
    """A note if a newer planopt wrote rows that were read."""
    from planopt_assets.store.schemas import SCHEMA_VERSION

    if snapshot.newest_schema > SCHEMA_VERSION:
        say(
            f"note: a newer planopt wrote this store (schema version {snapshot.newest_schema}, this one knows "
            f"{SCHEMA_VERSION}). It is only read: upgrade planopt to run, promote or pin"
        )


def load_arrow() -> None:
    """Load Arrow for commands that read a store: 0.3 s faster, and with less memory, than it loads by itself."""
    _take_memory_from_malloc()
    _load_without_pandas()


def know_pandas() -> None:
    """Let Arrow look for pandas after all, before queries run: they may exchange frames with it."""
    import pyarrow

    pyarrow.table({}).to_pandas()


class _NoPandas:
    """While this stands in `sys.meta_path`, pandas cannot be imported."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _load_without_pandas() -> None:
    """Arrow's datasets import pandas while they are loaded, which takes 0.3 s, and reading a store needs none of it."""
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        import pyarrow.dataset  # noqa: F401
    finally:
        sys.meta_path.remove(_NoPandas)


def _take_memory_from_malloc() -> None:
    """Load Arrow with `malloc` for its memory: its own allocator keeps pages that are free, 80 MiB of a large store.

    The variable is read once, while Arrow is loaded, and is gone before a process is started that would inherit it.
    `planopt run` has loaded Arrow before: what is measured keeps the allocator that users' jobs have.
    """
    variable = "ARROW_DEFAULT_MEMORY_POOL"
    if variable in os.environ:
        return
    os.environ[variable] = "system"
    import pyarrow  # noqa: F401

    del os.environ[variable]


def write_html(found: Read, output: Path | None = None, *, unless_shown: bool = False) -> Path:
    """Write the HTML report. The default is `.planopt/report.html` beside the workload file."""
    from planopt_assets.report.html import made_of, shows, write_report
    from planopt_assets.store.writable import not_writable

    path = output or report_of(found.workload)
    layouts = found.layouts_on_tables
    content = made_of(found.workload, found.snapshot, found.standings, layouts)
    if unless_shown and shows(path, content):
        return path
    try:
        return write_report(found.workload, found.standings, path, content, layouts)
    except OSError as error:
        raise not_writable(path, "the report") from error


def refresh_html(file: Path) -> None:
    """Rewrite the report, if there is one, after a person changed what is in force.

    The change is already stored. If the report cannot be written, the command says so and does not fail.
    """
    loaded = load(file)
    if report_of(loaded).is_file():
        try:
            write_html(read_store(loaded))
        except PlanoptError as error:
            say(f"the report is not up to date: {error}")


def report_of(workload: Any) -> Path:
    """The report's usual path, beside the workload file."""
    folder: Path = workload.file.parent
    return folder / ".planopt" / "report.html"


def print_json(facts: Any) -> None:
    """Print one JSON object on standard output."""
    typer.echo(_json_text(facts))


def print_json_list(head: dict[str, Any], name: str, elements: Iterable[Any]) -> None:
    """Print a JSON object that ends with a long list, element by element."""
    from planopt_assets.job.json_stream import json_object

    for piece in json_object(head, name, elements, _json_text):
        typer.echo(piece, nl=False)
    typer.echo()


def _json_text(facts: Any) -> str:
    import orjson

    return printable_json(orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode())


def say(words: str) -> None:
    """Print a message for a person on standard error."""
    typer.echo(printable(words), err=True)


def answer(words: str) -> None:
    """Print a message for a person on standard output."""
    typer.echo(printable(words))
