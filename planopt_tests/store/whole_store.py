"""A small store with rows in every table, as runs and people leave it: written by planopt, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from planopt_assets.loop.run import read_standings
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import GENESIS, Promotion
from planopt_assets.model.records import Edge
from planopt_assets.model.workload import Query, Workload
from planopt_assets.promote.transitions import Fix, Revert, next_generation
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, EDGES
from planopt_assets.store.compaction import compact_store
from planopt_assets.store.lineage import promotion_edges
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.store import Store
from planopt_assets.store.writer import append
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.no_spark import no_spark
from planopt_tests.promoted import UNCONDITIONAL
from planopt_tests.rows import FEWER, OTHER, candidate, decision, scan_row, stored
from planopt_tests.store.written import WrittenStore

IN_FORCE: dict[str, Policy] = {"proven": FEWER, "pinned": OTHER, "rolled_back": ORIGINAL, "untouched": ORIGINAL}
"""What is in force for each query: by a verdict, by a pin, by a rollback, and because nothing was ever promoted."""

# Tables that no function below writes.
_OTHERS: dict[str, dict[str, Any]] = {
    "plan_nodes": {"observation_id": "obs-1", "phase": "final", "node": 1, "kind": "Sort"},
    "explains": {"observation_id": "obs-1", "position": 0, "text": "Sort"},
    "task_counters": {"observation_id": "obs-1", "stage": 1, "task": 1},
    "provenance": {"kind": "env", "hash": "env_1", "content": "{}"},
    "accepted_topologies": {"observation_id": "obs-1", "topology_hashes": ["top_1"], "reason": "it is right"},
    "trials": {"trial_id": "tri-1", "policy_id": FEWER.id, "warm_up": False},
    "table_readiness": {"table": "sales", "table_id": "t-1", "version": 0, "integrity": "verified"},
    "layout_proposals": {
        "table": "sales",
        "table_id": "t-1",
        "version": 0,
        "action": "compact",
        "reason": "small files",
    },
    "layout_trials": {"trial_id": "tri-2", "proposal_id": "lay_1", "table": "sales", "warm_up": False},
    "layout_verdicts": {"verdict_id": "ver-9", "proposal_id": "lay_1", "table": "sales", "outcome": "accept"},
    "maintenance_actions": {
        "action_id": "mnt-1",
        "table": "sales",
        "table_id": "t-1",
        "action": "compact",
        "status": "applied",
        "reason": "small files",
    },
}


class Written(WrittenStore):
    """Through the real writer, which keeps heads."""

    query_id = ""

    def append(self, table: str, row: dict[str, Any], *, run_id: str, days: float = 0) -> dict[str, Any]:
        whole = {name: value for name, value in stored(table, **row).items() if value is not None}
        whole = {**whole, "query_id": self.query_id}
        whole.pop("workload")
        self.minutes += 1
        run = f"{run_id}-{self.query_id}-{self.minutes}"
        append(no_spark, self.workload.store, workload="tests", run_id=run, stage="test", rows={table: [whole]})
        return whole


def write_whole_store(folder: Path) -> Workload:
    """Four queries in mode `auto`; one table is compacted, so that it has a checkpoint and files that were replaced."""
    make_tables(folder, files=1)
    queries = [Query(q, sql=f"SELECT shop, {n} AS n FROM sales") for n, q in enumerate(IN_FORCE)]
    workload = workload_of(folder, queries, mode="auto")
    sales = tuple(t for t in workload.tables if t.name == "sales")
    workload = replace(workload, tables=sales)
    for query in queries:
        _write_query(workload, query)
    store = Store(workload.store, "tests", no_spark)
    for place in range(4):
        if place == 3:
            (compacted,) = compact_store(workload.store, most=7)
            assert compacted.table == "lineage"
        store.append(f"run-{place}", "validate", {EDGES: [Edge("proven", "validate", f"ver-{place}", "tri-1")]})
    assert {path.name for path in Path(workload.store).iterdir()} == {*TABLES, "_heads"}
    return workload


def _write_query(workload: Workload, query: Query) -> None:
    written = Written(workload)
    written.query_id = query.id
    written.observe(query, f"run-{query.id}")
    if query.id in ("proven", "pinned"):
        for table, row in _OTHERS.items():
            written.append(table, row, run_id="run")
        written.append("scan_outcomes", _known(scan_row()), run_id="run")
        written.append("policy_decisions", DECISIONS.to_row(decision(query_id=query.id)), run_id="run")
        written.append("candidate_plans", CANDIDATES.to_row(candidate(query_id=query.id)), run_id="run")
    standing = read_standings(workload)[query.id]
    verdict_id = written.judge(standing, FEWER, "accept" if query.id != "untouched" else "reject", f"run-{query.id}")
    store = Store(workload.store, "tests", no_spark)
    for promotion in _promotions(workload, query.id, verdict_id):
        store.commit(promotion, f"run-{query.id}-{promotion.generation}")
        store.append(f"run-{query.id}-{promotion.generation}", "promote", {EDGES: promotion_edges(promotion)})


def _promotions(workload: Workload, query_id: str, verdict_id: str) -> list[Promotion]:
    name = workload.name
    accepted = Promotion(
        name,
        query_id,
        1,
        FEWER,
        "accepted",
        "cpu -30%",
        verdict_id,
        "can_1",
        "inp_1",
        GENESIS,
        conditions=UNCONDITIONAL,
    )
    if query_id == "pinned":
        return [accepted, next_generation(name, query_id, (accepted,), Fix(OTHER, "I know it", "ada"))]
    if query_id == "rolled_back":
        back = Revert("original", "too slow", "ada", (verdict_id,))
        return [accepted, next_generation(name, query_id, (accepted,), back)]
    return [accepted] if query_id == "proven" else []


def _known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None and name not in ("workload", "query_id")}
