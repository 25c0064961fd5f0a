"""A table of many small files with two queries over it, and a layout for it: observed, and tried on a clone."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.maintaining import layout_trial
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.loop.stages.observe import observe
from planopt_assets.model.layout_proposal import ExpectedRead, LayoutProposal
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.model.workload import Maintenance, Query, Workload
from planopt_assets.store.codecs.maintaining import ACTIONS, PROPOSALS
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.engine.test_layouts_in_spark import bytes_of
from planopt_tests.lenient import LENIENT

FILES = 12
QUERIES = {
    "by_shop": "SELECT shop, count(*) AS n, max(id) AS newest FROM sales GROUP BY shop",
    "total": "SELECT sum(id) AS total, count(note) AS notes FROM sales",
    "cities": "SELECT city FROM shops",  # does not read the table
}


def workload(folder: Path, **changes: Any) -> Workload:
    # No test depends on a clock, however busy the machine.
    queries = [Query(name, sql=sql, runs_per_day=1000.0, max_loss=1e9) for name, sql in QUERIES.items()]
    made = workload_of(folder, queries, mode="auto", maintenance=Maintenance(pay_back_days=1e9), **changes)
    return maintained(made, "auto")


def maintained(made: Workload, how: Any) -> Workload:
    return replace(made, tables=tuple(replace(t, maintain=how) for t in made.tables))


def new_run(made: Workload) -> Run:
    return Run(Workspace(made), str(uuid.uuid4()), rules=LENIENT)


def proposal_of(run: Run) -> LayoutProposal:
    table = next(t for t in run.workspace.tables if t.name == "sales")
    reads = tuple(
        ExpectedRead(q, 1000.0, FILES, 10_000, files_after=1, bytes_after=5_000, saving_cpu_ns=1)
        for q in ("by_shop", "total")
    )
    return LayoutProposal(
        *("sales", table.table_id, table.version, "compact"),
        target_file_bytes=1 << 25,
        files_before=FILES,
        expected=reads,
        reason=f"{FILES} small files",
    )


def only_log(run: Run, action: Any, **more: Any) -> LayoutProposal:
    table = next(t for t in run.workspace.tables if t.name == "sales")
    return LayoutProposal("sales", table.table_id, table.version, action, **more)


def actions(run: Run) -> list[MaintenanceAction]:
    return run.store.newest().read(ACTIONS, table="sales")


@contextmanager
def any_rewrite_pays() -> Iterator[None]:
    """Whether 12 files of 20 rows save more than noise is a clock's word, and no test here depends on a clock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout_trial, "break_even_days", lambda *_: 1.0)
        yield


def make_observed(folder: Path) -> Path:
    """All queries observed, and a proposal stored."""
    make_tables(folder, files=FILES, rows=20)
    run = new_run(workload(folder))
    observe(run, list(QUERIES))
    run.append("propose", {PROPOSALS: [proposal_of(run)]})
    run.workspace.close()
    return folder


def make_tried(observed: Path, folder: Path) -> Path:
    """The same, with an accepted verdict: here the trial itself is looked at."""
    shutil.copytree(observed, folder, dirs_exist_ok=True)
    sales, run = folder / "data" / "sales", new_run(workload(folder))
    before = bytes_of(sales)
    with any_rewrite_pays():
        (result,) = maintain(run, ["sales"], apply=False)
    assert result.summary.startswith("accept: compact sales into files of 32 MiB"), result.summary
    assert bytes_of(sales) == before
    run.workspace.close()
    assert not list((folder / "store" / "_clones").iterdir())
    return folder
