"""The workload file, whole: read it, check it, and only then build the `Workload`."""

from __future__ import annotations

import os
from pathlib import Path

from planopt_assets.model.alerts import Destination
from planopt_assets.model.automation import Automation, TrialWindow
from planopt_assets.model.workload import Budgets, Knobs, Maintenance, Query, Table, Workload
from planopt_assets.workload.consistency import POOL, QUEUE, check_consistency, check_version
from planopt_assets.workload.files import Bounds, read_text
from planopt_assets.workload.findings import check_fields
from planopt_assets.workload.page import ANY, Page
from planopt_assets.workload.secrets import learn_secrets
from planopt_assets.workload.spec import AlertFields, QueryFields, SparkFields, TableFields, WorkloadFile
from planopt_assets.workload.yaml_reader import read_yaml


def load_workload(path: str | os.PathLike[str]) -> Workload:
    """Read and check the workload file; its mistakes are reported together, each with line, column and fix.

    One mistake is raised as its own `WorkloadError`, several as one `WorkloadErrors`. Neither Spark nor the tables
    are touched: `load_workload("planopt.yaml").query("daily_revenue").runs_per_day` is 24.0 without a JVM.
    """
    page = Page(os.fspath(path))
    read_yaml(read_text(page.file), page)
    check_version(page)
    # The folder as the user names it: a mounted file may itself be a link into some versioned folder.
    folder = Path(page.file).absolute().parent.resolve()
    bounds = Bounds(str(folder), [text for _, text in page.texts("roots", ANY)])
    fields = check_fields(page, bounds)
    check_consistency(page, bounds)
    if fields is None or page.found:
        raise page.error()
    workload = _build(fields, folder / Path(page.file).name, tuple(bounds.sql_files))
    learn_secrets(workload)
    return workload


def _build(fields: WorkloadFile, file: Path, sql_files: tuple[str, ...]) -> Workload:
    budgets, knobs = fields.budgets, fields.knobs
    return Workload(
        name=fields.name,
        file=file,
        store=fields.store,
        tables=tuple(_table(name, table) for name, table in fields.tables.items()),
        queries=tuple(_query(query) for query in fields.queries),
        master=fields.spark.master,
        spark_settings=tuple(sorted(_settings(fields.spark).items())),
        objective=fields.objective,
        mode=fields.mode,
        budgets=Budgets(**dict(budgets)),
        knobs=Knobs(tuple(knobs.allow), tuple(knobs.deny), tuple(sorted(knobs.pin.items()))),
        maintenance=Maintenance(fields.maintenance.trial_bytes, fields.maintenance.pay_back_days),
        capture=fields.capture,
        debug_sample=fields.debug_sample,
        control_share=fields.control_share,
        allow_python=fields.allow_python,
        seed=fields.seed,
        similar_within=fields.similar_within,
        automation=Automation(**dict(fields.automation)),
        trial_window=TrialWindow(**dict(fields.trial_window)) if fields.trial_window else None,
        alerts=tuple(_destination(alert) for alert in fields.alerts),
        owners=tuple(fields.owners),
        docs_url=fields.docs_url,
        sql_files=sql_files,
    )


def _settings(fields: SparkFields) -> dict[str, str]:
    """A pool needs the fair scheduler: with Spark's own there is only one."""
    pool = {POOL: fields.pool, "spark.scheduler.mode": "FAIR"} if fields.pool else {}
    queue = {QUEUE: fields.queue} if fields.queue else {}
    return {**pool, **queue, **fields.settings}


def _table(name: str, fields: TableFields) -> Table:
    return Table(
        name,
        fields.path or None,
        fields.catalog or None,
        maintain=fields.maintain,
        features=tuple(fields.features),
        index=fields.index == "allow",
        owners=tuple(fields.owners),
    )


def _query(fields: QueryFields) -> Query:
    return Query(
        fields.id,
        sql=fields.sql or fields.sql_file or None,
        python=fields.python or None,
        bindings=tuple(tuple(sorted(binding.items())) for binding in fields.parameters),
        runs_per_day=fields.runs_per_day,
        debug_sample=fields.debug_sample,
        any_values=fields.any_values,
        max_loss=fields.max_loss,
        owners=tuple(fields.owners),
    )


def _destination(fields: AlertFields) -> Destination:
    return Destination(**{**dict(fields), "name": fields.name or fields.kind, "to": tuple(fields.to)})
