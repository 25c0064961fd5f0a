"""Measures A/A executions: each query against itself under another policy id, interleaved as in a trial."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.aa_sample import TWIN, Ran, RecordedPair
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.observe.plans.fingerprint import topology_hash
from planopt_assets.validate.round_order import round_order

if TYPE_CHECKING:
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.model.workload import Query

_TIMEOUT_S = 300.0


def record(
    workspace: Workspace, queries: Sequence[Query], *, pairs: int, seconds_per_query: float
) -> dict[str, list[RecordedPair]]:
    """Per query one warm-up round and up to `pairs` counted ones, back to back; fewer when its time is up."""
    found = {}
    for query in queries:
        _round(workspace, query, 0)
        end = time.monotonic() + seconds_per_query
        rounds: list[RecordedPair] = []
        while len(rounds) < pairs and (len(rounds) < 2 or time.monotonic() < end):
            rounds.append(_round(workspace, query, 1 + len(rounds)))
        found[query.id] = rounds
    return found


def _round(workspace: Workspace, query: Query, number: int) -> RecordedPair:
    policies = {ORIGINAL.id: ORIGINAL, TWIN.id: TWIN}
    order = round_order(list(policies), workspace.workload.seed, query.id, number)
    ran = {policy_id: _run(workspace, query, policies[policy_id]) for policy_id in order}
    return RecordedPair(ran[ORIGINAL.id], ran[TWIN.id])


def _run(workspace: Workspace, query: Query, policy: Policy) -> Ran:
    done = workspace.execute(query, 0, workspace.arm(policy), timeout_s=_TIMEOUT_S)
    return Ran(done.counters, topology_hash(done.final))
