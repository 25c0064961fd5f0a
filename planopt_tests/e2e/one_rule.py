"""One rule through the whole loop on real data: observe, decide, re-plan, validate, with no other rule in the way."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from planopt_assets.decide.stage import decide_queries
from planopt_assets.engine.execute import Execution
from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.plan import PlanNode
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Knobs, Query, Workload
from planopt_assets.observe.stage import observe
from planopt_assets.observe.tasks import task_rows
from planopt_assets.replan.stage import replan
from planopt_assets.run import Run
from planopt_assets.store.reader import StoreReader
from planopt_assets.validate.rules import Rules
from planopt_assets.validate.stage import validate
from planopt_tests.conftest import workload_of

RUNS_PER_DAY = 1000  # so that small data is worth a trial

COUNTERS_DECIDE = Rules(
    confidence=0.5,
    min_gain=-1000.0,
    wall_limit=1000.0,
    noise_limit=1000.0,
    min_pairs=1,
    max_pairs=1,
)
"""One pair, and no clock is asked: the plan must change, and every counter stay within its real limit."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What the loop stored about its queries."""

    workload: Workload
    rule: str

    def rows(self, table: str, query: str) -> list[dict[str, Any]]:
        return StoreReader(self.workload.store, self.workload.name).rows(table, query_id=query)

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
        """One counter of every trial: of the query as it is, and of what the rule proposed."""
        wanted = self.proposed(query).id
        trials = [c for c in self.rows("runtime_counters", query) if c["purpose"] == "trial"]
        before = [c[name] for c in trials if c["policy_id"] == ORIGINAL.id]
        after = [c[name] for c in trials if c["policy_id"] == wanted]
        assert before
        assert after
        return before, after

    def again(self, query: str) -> tuple[Execution, Execution]:
        """Run once more, as it is and as proposed, for what no trial stores: operators and single tasks."""
        workspace, found = Workspace(self.workload), self.workload.query(query)
        policies = (ORIGINAL, self.proposed(query))
        before, after = (workspace.execute(found, 0, p, timeout_s=60, tier="debug", digest=False) for p in policies)
        return before, after


def operators(execution: Execution, kind: str) -> list[PlanNode]:
    """Of one kind, in the plan as it ran."""
    return [node for node in execution.final.nodes if node.kind == kind]


def largest_task(execution: Execution, counter: str) -> int:
    """The most that one task had of a counter of `task_counters`."""
    return max(row[counter] for row in task_rows("", "", execution.tasks))


def try_rule(
    folder: Path,
    rule: str,
    queries: Sequence[Query],
    *,
    allow: Sequence[str] = (),
    rules: Rules = COUNTERS_DECIDE,
    **changes: Any,
) -> Tried:
    """The loop over `queries` on the tables in `folder`/data; `allow` names the only knobs that may be touched."""
    done = workload_of(folder, list(queries), knobs=Knobs(allow=tuple(allow)), mode="advise", **changes)
    run = Run(Workspace(done), str(uuid.uuid4()), rules=rules)
    for stage in (observe, decide_queries, replan, validate):
        stage(run, [q.id for q in queries])
    return Tried(done, rule)


def random_bytes(draw: np.random.Generator, rows: int, size: int) -> pa.Array:
    """Values that no encoding makes smaller, so that files and shuffles are as large as what is in them."""
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(size), rows, [None, pa.py_buffer(draw.bytes(rows * size))]
    ).cast(pa.binary())


def write_table(folder: Path, name: str, columns: Mapping[str, pa.Array], files: int = 1) -> None:
    """A Delta table of so many files, each with the next share of the rows."""
    from deltalake import write_deltalake

    table = pa.table(dict(columns))
    share = -(-table.num_rows // files)
    for start in range(0, table.num_rows, share):
        write_deltalake(folder / "data" / name, table.slice(start, share), mode="append")
