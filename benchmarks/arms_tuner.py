"""Runs the simple tuners of the benchmark: every run is checked against original, and one that fails is out.

So is one that takes half more CPU than original: it is stopped, as a candidate of planopt is.

A query that is done is in a file beside the arm, and what a stopped call has spent is charged: the next one goes on
with the query it was in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.arms_knobs import Ran, best
from benchmarks.arms_tables import Charge, charged
from benchmarks.gains import executions
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PlanoptError
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.trial import Digest
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.validate.equality import compare
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.race import outdone_limit

Next = Callable[[Query, Sequence[Ran]], Policy | None]
Say = Callable[[str, str, str], None]
_TIMEOUT_S = 600.0


def executions_of(snapshot: Snapshot) -> int:
    """All that a loop has executed: observations, trials of policies and layouts, and comparisons row by row."""
    observed = snapshot.table("runtime_counters", ["execution_id"], purpose="observe").num_rows
    return observed + sum(executions(snapshot).values()) + snapshot.table("layout_trials", ["trial_id"]).num_rows


def tuned_by(name: str, workload: Workload, folder: Path, choose: Next, say: Say) -> tuple[dict[str, Policy], Charge]:
    """A policy for each query that gains from one, and what finding them took."""
    done = folder / f"{name}.queries.json"
    known = json.loads(done.read_text()) if done.exists() else {}
    with charged(folder / f"{name}.spent.json") as charge:
        workspace = Workspace(workload)
        for query in workload.queries:
            if query.id in known:
                continue
            ran = tuned(query, choose, _Runs(workspace, query).cpu_s)
            known[query.id] = {"policy": best(ran).to_json(), "executions": len(ran) * len(query.bindings)}
            done.write_text(json.dumps(known, indent=1))
            failed = sum(r.cpu_s is None for r in ran)
            say(name, query.id, f"{best(ran).describe()}, after {len(ran)} runs, {failed} of them failed")
        workspace.close()
    charge.executions = sum(one["executions"] for one in known.values())
    chosen = {query: Policy.from_json(one["policy"]) for query, one in known.items()}
    return {query: policy for query, policy in chosen.items() if policy != ORIGINAL}, charge


def tuned(query: Query, choose: Next, cpu_s: Callable[[Policy], float | None]) -> list[Ran]:
    """Every run of a query, until nothing is left to choose."""
    ran: list[Ran] = []
    while (policy := choose(query, ran)) is not None:
        ran.append(Ran(policy, cpu_s(policy)))
    return ran


class _Runs:
    """Runs of one query in one session. The first one, of original, tells what it has to return."""

    def __init__(self, workspace: Workspace, query: Query) -> None:
        self._workspace, self._query = workspace, query
        self._expected: dict[int, Digest] = {}
        self._original: dict[int, list[float]] = {}

    def cpu_s(self, policy: Policy) -> float | None:
        """CPU of all bindings. None: one failed, or returned something else."""
        try:
            return sum(self._ran(binding, policy) for binding in range(len(self._query.bindings)))
        except (PlanoptError, _OtherResult):
            return None

    def _ran(self, binding: int, policy: Policy) -> float:
        known = self._original.setdefault(binding, [])
        done = self._workspace.execute(
            self._query,
            binding,
            self._workspace.arm(policy),
            timeout_s=_TIMEOUT_S,
            cpu_limit_s=None if policy == ORIGINAL else outdone_limit(known, Rules()),
        )
        assert done.digest is not None
        assert done.counters.cpu_ns is not None
        same, _ = compare(self._expected.setdefault(binding, done.digest), done.digest)
        if same == "different":
            raise _OtherResult
        spent = done.counters.cpu_ns / 1e9
        if policy == ORIGINAL:
            known.append(spent)
        return spent


class _OtherResult(Exception):
    """A run that returned something else than original."""
