"""Three queries, observed with real Spark and Delta, and what the store then says of them."""

from __future__ import annotations

import uuid
from typing import Any

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.gates import evaluate
from planopt_assets.loop.run import Run, read_standings
from planopt_assets.loop.stages.observe import observe
from planopt_assets.model.gate import Gate
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.stored_rows import StoredRows

QUERIES = [
    Query("by_shop", sql="SELECT shop, sum(amount) AS total FROM sales WHERE id < 900 GROUP BY shop"),
    Query("joined", sql="SELECT c.city, count(*) AS n FROM sales s JOIN shops c ON s.shop = c.shop GROUP BY c.city"),
    Query(
        "bound",
        sql="SELECT count(*) AS n FROM sales WHERE id >= :least",
        bindings=((("least", 10),), (("least", 1700),)),
    ),
]


def observed(workload: Workload, ids: list[str] | None = None) -> Run:
    run = Run(Workspace(workload), str(uuid.uuid4()))
    observe(run, ids or [q.id for q in workload.queries])
    return run


def gates(workload: Workload, name: str) -> dict[str, Gate]:
    snapshot = Snapshot(workload.store, workload.name)
    standings = read_standings(workload, snapshot=snapshot)
    return evaluate([q.id for q in workload.queries], snapshot, standings, [name])[name]


def one(workload: Workload, table: str, **equals: str) -> dict[str, Any]:
    (row,) = StoredRows(workload.store, workload.name).rows(table, **equals)
    return row
