"""Observations written into a store by hand, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planopt_assets.observe.plans.stored_plan import pack
from planopt_assets.store.writer import append
from planopt_tests.no_spark import no_spark

HASH_JOIN, SORT_JOIN = "BroadcastHashJoin", "SortMergeJoin"


def observe_by_hand(folder: Path, run: str, join: str, query: str = "by_shop", **columns: Any) -> str:
    """One captured observation whose plan has this join; returns its id. `columns` are those of `plan_artifacts`."""
    tree = [[-1, join, join], [0, "Scan", "Scan parquet"]]
    plan, _ = pack({"initial": tree, "final": tree})
    known = {
        "status": "captured",
        "query_fingerprint": "qry_1",
        "input_fingerprint": "inp_1",
        "snapshot_hash": "snp_1",
        "planning_env_hash": "env_1",
        "rulepack_hash": "rul_1",
        "engine": "spark 4.2.0",
        "extractor": "spark-plan-info@2",
        "topology_hash": f"top_{join}",
        "final_topology_hash": f"top_{join}",
        "plan": plan,
        "bundle_hash": f"bun_{run}",
        "bundle_parts": "{}",
        "unstable_parts": [],
        "other_scans": [],
        "misled_joins": "[]",
        "tables": "[]",
    }
    return _store(folder, run, query, {**known, **columns})


def fail_by_hand(folder: Path, run: str, query: str = "by_shop") -> str:
    """An observation that failed before there was a plan."""
    known = {"status": "failed", "error_code": "PLN-207", "error": "PLN-207 no space left", "tables": "[]"}
    return _store(folder, run, query, known)


def _store(folder: Path, run: str, query: str, columns: dict[str, Any]) -> str:
    observation = f"obs-{run}-{query}-b0"
    row = {"query_id": query, "observation_id": observation, "binding": 0, **columns}
    write(folder, run, {"plan_artifacts": [row]})
    return observation


def write(folder: Path, run: str, rows: dict[str, list[dict[str, Any]]]) -> None:
    append(no_spark, str(folder / "store"), workload="tests", run_id=run, stage="observe", rows=rows)
