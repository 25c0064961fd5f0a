"""One pass of the loop over one query, made once for the suite and kept as it was after each of its commits.

A test that starts where a stage ended, or where a process died between two commits, copies that moment: this takes
milliseconds, and the stages before it seconds.
"""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.decide import decide_queries
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import promote
from planopt_assets.loop.stages.replan import replan
from planopt_assets.loop.stages.validate import validate
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store import writer
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.lenient import LENIENT

STAGES = (observe, decide_queries, replan, validate, promote)
# 1000.0 as a workload file has it: 1000 would be other inputs than those of the same query read from a file.
BY_SHOP = Query("by_shop", sql="SELECT shop, count(*) AS n FROM sales GROUP BY shop", runs_per_day=1000.0)


def new_run(workload: Workload) -> Run:
    return Run(Workspace(workload), str(uuid.uuid4()), rules=LENIENT)


def run_all(workload: Workload, ids: list[str] | None = None) -> Run:
    """All five stages, with a judge for whom only results decide."""
    run = new_run(workload)
    for stage in STAGES:
        stage(run, ids or [q.id for q in workload.queries])
    return run


@dataclass(frozen=True, slots=True)
class OnePass:
    """The tables, the store after so many commits, and how many of them were made when a stage had ended."""

    folder: Path
    commits: dict[str, int]

    def copied(self, to: Path, *, after: str) -> Workload:
        """The workload in another folder, in mode auto, as the stage named `after` left it."""
        shutil.copytree(self.folder / "data", to / "data", dirs_exist_ok=True)
        shutil.copytree(self.folder / f"store-{self.commits[after]}", to / "store")
        return workload_of(to, [BY_SHOP], mode="auto")


def make_pass(folder: Path) -> OnePass:
    """Run the loop once in `folder`, with a copy of the store after each commit."""
    workload = workload_of(make_tables(folder), [BY_SHOP], mode="auto")
    write, commits, made = writer.write, {}, 0

    def kept(*args: Any, **named: Any) -> None:
        nonlocal made
        write(*args, **named)
        made += 1
        shutil.copytree(workload.store, folder / f"store-{made}")

    run = new_run(workload)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "write", kept)
        for stage in STAGES:
            stage(run, [BY_SHOP.id])
            commits[stage.__name__] = made
    return OnePass(folder, commits)
