"""The workload file, whole: read, parse, judge, resolve, and only then build."""

from __future__ import annotations

import os
from pathlib import Path

from planopt_assets.model.workload import Budgets, Knobs, Query, Table, Workload
from planopt_assets.workload.consistency import check_consistency, check_version
from planopt_assets.workload.mistakes import Mistakes
from planopt_assets.workload.parse import parse
from planopt_assets.workload.read import Unreadable, read_text
from planopt_assets.workload.secrets import learn_secrets
from planopt_assets.workload.shape import check_shape
from planopt_assets.workload.sources import Sources, resolve_sources
from planopt_assets.workload.spec import QueryFields, TableFields, WorkloadFile


def load_workload(path: str | os.PathLike[str]) -> Workload:
    """Read and check the workload file; its mistakes are reported together, each with line, column and fix.

    One mistake is raised as its own `WorkloadError`, several as one `WorkloadErrors`. Neither Spark nor the tables
    are touched: `load_workload("planopt.yaml").query("daily_revenue").runs_per_day` is 24.0 without a JVM.
    """
    file = os.fspath(path)
    text = read_text(file)
    if isinstance(text, Unreadable):
        raise text.kind(text.why, file=file, line=text.line, column=text.column, nearest=text.nearest, fix=text.fix)
    # The folder as the user names it: a mounted file may itself be a link into some versioned folder.
    folder = Path(file).absolute().parent.resolve()
    mistakes = Mistakes(file)
    document = parse(text, mistakes)
    check_version(document, mistakes)
    fields, misspelt = check_shape(document, mistakes)
    check_consistency(document, misspelt, mistakes)
    sources = resolve_sources(document, str(folder), mistakes)
    mistakes.raise_all()
    assert fields is not None, "a file that is not well-formed was not reported"
    workload = _build(fields, sources, folder / Path(file).name)
    learn_secrets(workload)
    return workload


def _build(fields: WorkloadFile, sources: Sources, file: Path) -> Workload:
    return Workload(
        name=fields.name,
        file=file,
        store=sources.places[fields.store],
        tables=tuple(_table(name, table, sources) for name, table in fields.tables.items()),
        queries=tuple(_query(query, sources) for query in fields.queries),
        master=fields.spark.master,
        spark_settings=tuple(sorted(fields.spark.settings.items())),
        objective=fields.objective,
        mode=fields.mode,
        budgets=Budgets(fields.budgets.per_candidate, fields.budgets.per_query, fields.budgets.per_run),
        knobs=Knobs(tuple(fields.knobs.allow), tuple(fields.knobs.deny), tuple(sorted(fields.knobs.pin.items()))),
        capture=fields.capture,
        debug_sample=fields.debug_sample,
        allow_python=fields.allow_python,
        seed=fields.seed,
    )


def _table(name: str, fields: TableFields, sources: Sources) -> Table:
    path = None if fields.path is None else sources.places[fields.path]
    return Table(name, path=path, catalog=fields.catalog)


def _query(fields: QueryFields, sources: Sources) -> Query:
    return Query(
        fields.id,
        sql=fields.sql if fields.sql_file is None else sources.sql[fields.sql_file],
        python=fields.python,
        bindings=tuple(tuple(sorted(binding.items())) for binding in fields.parameters),
        runs_per_day=fields.runs_per_day,
        debug_sample=fields.debug_sample,
    )
