"""One rule through the whole loop on real data: observe, decide, re-plan, validate, with no other rule in the way."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from planopt_assets.decide import materiality
from planopt_assets.engine.execution.execute import Measured
from planopt_assets.engine.sessions.session import open_session
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.decide import decide_queries
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.replan import replan
from planopt_assets.loop.stages.validate import validate
from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Knobs, Query, Workload
from planopt_assets.observe.plans.tasks import task_records
from planopt_assets.validate.judge_rules import Rules
from planopt_tests.conftest import workload_of
from planopt_tests.stored_rows import StoredRows

RUNS_PER_DAY = 1000  # so that small data is worth a trial

COUNTERS_DECIDE = Rules(
    min_gain=-1000.0,
    wall_limit=1000.0,
    cpu_limit=1000.0,
    cpu_limit_latency=1000.0,
    noise_limit=1000.0,
    slack_gc_ns=10**12,
    min_pairs=1,
    max_pairs=1,
)
"""One pair, and no clock is asked: the plan must change, and every counter stay within its real limit."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What the loop stored about its queries, and the workspace it ran in."""

    workload: Workload
    rule: str
    workspace: Workspace

    def rows(self, table: str, query: str) -> list[dict[str, Any]]:
        return StoredRows(self.workload.store, self.workload.name).rows(table, query_id=query)

    def decision(self, query: str) -> dict[str, Any]:
        (one,) = [d for d in self.rows("policy_decisions", query) if d["rule"] == self.rule]
        return one

    def proposed(self, query: str) -> Policy:
        decision = self.decision(query)
        assert decision["kind"] == "proposal", decision["reason"]
        return Policy.from_json(decision["policy_after"])

    def accepted(self, query: str) -> dict[str, Any]:
        """The verdict on what the rule proposed: accepted, with equal results."""
        wanted = self.proposed(query).id
        kept = {c["policy_id"]: (c["kept"], c["reason"]) for c in self.rows("candidate_plans", query)}
        assert kept[wanted][0], kept[wanted][1]
        (verdict,) = [v for v in self.rows("verdicts", query) if v["policy_id"] == wanted]
        assert (verdict["outcome"], verdict["results_equal"]) == ("accept", True), verdict["reason"]
        return verdict

    def left_alone(self, query: str) -> str:
        """The reason nothing was proposed by the rule, and so nothing was tried."""
        decision = self.decision(query)
        assert decision["kind"] == "no_change", decision["reason"]
        assert self.rows("candidate_plans", query) == []
        return str(decision["reason"])

    def counter(self, query: str, name: str) -> tuple[list[int], list[int]]:
        """One counter of every trial: of the baseline, and of what the rule proposed."""
        wanted = self.proposed(query).id
        trials = [c for c in self.rows("runtime_counters", query) if c["purpose"] == "trial"]
        before = [c[name] for c in trials if c["policy_id"] == ORIGINAL.id]
        after = [c[name] for c in trials if c["policy_id"] == wanted]
        assert before
        assert after
        return before, after

    def again(self, query: str) -> tuple[Measured, Measured]:
        """Run once more, as it is and as proposed, for what no trial stores: operators and single tasks."""
        one, arms = self.workload.query(query), map(self.workspace.arm, (ORIGINAL, self.proposed(query)))
        before, after = (self.workspace.execute(one, 0, arm, timeout_s=60, tier="debug") for arm in arms)
        return before, after

    def ran(self, query: str) -> tuple[Plan, Plan]:
        """The plans of both, with metrics."""
        before, after = self.again(query)
        return before.final, after.final


def operators(execution: Measured, kind: str) -> list[PlanNode]:
    """Of one kind, in the plan as it ran."""
    return [node for node in execution.final.nodes if node.kind == kind]


def largest_task(execution: Measured, counter: str) -> int:
    """The most that one task had of a counter of `task_counters`."""
    return max(getattr(task, counter) for task in task_records("", "", execution.tasks))


def try_rule(
    folder: Path,
    rule: str,
    queries: Sequence[Query],
    *,
    allow: Sequence[str] = (),
    rules: Rules = COUNTERS_DECIDE,
    settings: Mapping[str, str] | None = None,
    **changes: Any,
) -> Tried:
    """The loop over `queries` on the tables in `folder`/data; `allow` names the only knobs that may be touched.

    `settings` are those of the user's own session, in which the queries are as they are.
    """
    done = workload_of(folder, list(queries), knobs=Knobs(allow=tuple(allow)), mode="advise", **changes)
    session = open_session(done)
    workspace = Workspace(done, session.newSession)
    run = Run(workspace, str(uuid.uuid4()), rules=rules, by_hand=True)  # one round: the rule, and nothing beyond it
    # What one rule saves alone is weighed against measured CPU, and other work on the machine makes that larger.
    alone = patch.object(materiality, "TRIAL_SHARE", materiality.FLOOR_SHARE)
    with _in_new_sessions(session, settings or {}), alone:
        for stage in (observe, decide_queries, replan, validate):
            stage(run, [q.id for q in queries])
    return Tried(done, rule, workspace)


def random_bytes(draw: np.random.Generator, rows: int, size: int) -> pa.Array:
    """Values that no encoding makes smaller, so that files and shuffles are as large as what is in them."""
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(size), rows, [None, pa.py_buffer(draw.bytes(rows * size))]
    ).cast(pa.binary())


@contextmanager
def _in_new_sessions(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """As if Spark had been started with these settings: a new session begins with what the application's conf holds."""
    java: Any = spark
    java._jsparkSession.sessionState()  # Spark copies the conf once, when it is first needed: that must be before
    conf = java.sparkContext._jsc.sc().conf()
    for name, value in settings.items():
        conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            conf.remove(name)


def write_table(
    folder: Path,
    name: str,
    columns: Mapping[str, pa.Array],
    files: int = 1,
    *,
    rows_per_group: int | None = None,
    dictionaries: bool = True,
) -> None:
    """A Delta table of so many files, each with the next share of the rows, in row groups of a size."""
    from deltalake import ColumnProperties, WriterProperties, write_deltalake

    table = pa.table(dict(columns))
    share = -(-table.num_rows // files)
    encoded = ColumnProperties(dictionary_enabled=dictionaries)
    how = WriterProperties(max_row_group_size=rows_per_group, default_column_properties=encoded)
    for start in range(0, table.num_rows, share):
        part = table.slice(start, share)
        write_deltalake(folder / "data" / name, part, mode="append", writer_properties=how)
