"""Passes of the loop over a workload in mode `auto`, stage by stage, and what is in force after each."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.decide import decide_queries
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import promote
from planopt_assets.loop.stages.replan import replan
from planopt_assets.loop.stages.validate import validate
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.workload import Knobs, Query, Workload
from planopt_tests.conftest import workload_of
from planopt_tests.e2e.one_rule import RUNS_PER_DAY
from planopt_tests.lenient import LENIENT

WHOLE_LOOP = (observe, decide_queries, replan, validate, promote)
SHUFFLES = Knobs(
    allow=("spark.sql.shuffle.partitions", "spark.sql.adaptive.coalescePartitions.initialPartitionNum"),
)


def auto_workload(folder: Path, **texts: str) -> Workload:
    """Queries by their texts; only shuffles may be resized."""
    queries = [Query(name, sql=text, runs_per_day=RUNS_PER_DAY) for name, text in texts.items()]
    return workload_of(folder, queries, knobs=SHUFFLES, mode="auto")


def one_pass(workload: Workload, stages: Sequence[Callable[..., Any]], *only: str) -> dict[str, Promotion]:
    """A run of these stages, as a new process would start it; then the newest generation of every query."""
    run = Run(Workspace(workload), str(uuid.uuid4()), rules=LENIENT)
    for stage in stages:
        stage(run, only or [q.id for q in workload.queries])
    newest = {query: standing.active for query, standing in run.standings().items()}
    return {query: promotion for query, promotion in newest.items() if promotion is not None}
