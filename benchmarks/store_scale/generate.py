"""Writes a workload with a store of so many queries and so many nightly observations of each, without Spark.

Rows go to Delta as they are, past planopt's own writer: the store is what its readers are measured on, so it must not
change with them. What a night adds is what planopt adds: everything is tried on the first night; the second confirms
what was promoted; later ones observe new table versions, and remember the verdicts until they are old. The last night
saw the tables as they are now.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from benchmarks.store_scale.decisions import Judged, beyond, decide_rows, decisions
from benchmarks.store_scale.experiments import candidate, judged, replan_rows, validate_rows
from benchmarks.store_scale.nights import Night, Row
from benchmarks.store_scale.observed import Inputs, Known, observe_rows
from benchmarks.store_scale.planning import ENVIRONMENT, RULEPACK
from benchmarks.store_scale.promotions import production_rows, promote_rows
from benchmarks.store_scale.queries import specs, write_workload
from benchmarks.store_scale.sources import write_sources
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.workload import load_workload

if TYPE_CHECKING:
    from planopt_assets.model.workload import Workload

SEED = 20_240_101
Rows = dict[str, list[Row]]
STAGES = {
    "observe": (
        "plan_nodes",
        "runtime_counters",
        "scan_outcomes",
        "input_tables",
        "provenance",
        "lineage",
        "plan_artifacts",
    ),
    "decide": ("lineage", "policy_decisions"),
    "replan": ("lineage", "candidate_plans"),
    "validate": ("runtime_counters", "trials", "lineage", "verdicts"),
    "promote": ("active_policies", "lineage"),
    "production": ("runtime_counters", "lineage"),
}
"""What each stage writes, in its order: the table that says "done" comes last."""


def generate(folder: Path, queries: int, observations: int, seed: int = SEED) -> Path:
    """The workload file of a new folder; whatever was there before is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder = folder.resolve()
    made = specs(queries, seed)
    write_sources(folder, observations, seed)
    file = write_workload(folder, made, seed)
    workload = load_workload(file)
    known = [Known.of(query, declared) for query, declared in zip(made, workload.queries, strict=True)]
    verdicts: dict[str, Judged] = {}
    for number in range(observations):
        _write_night(workload, known, folder, Night(workload, number), verdicts)
    readiness(Run(Workspace(workload, _no_spark), "tables"), [table.name for table in workload.tables])
    return file


def _no_spark() -> NoReturn:
    raise AssertionError("looking at tables starts no Spark")


def _write_night(
    workload: Workload, known: list[Known], folder: Path, night: Night, verdicts: dict[str, Judged]
) -> None:
    rows: dict[str, Rows] = {stage: {table: [] for table in tables} for stage, tables in STAGES.items()}
    if night.number == 0:
        rows["observe"]["provenance"] = [ENVIRONMENT.row, RULEPACK.row]
    for one in known:
        for stage, found in _query_rows(one, Inputs.of(workload, one, folder, night), night, verdicts).items():
            for table, new in found.items():
                rows[stage][table] += new
    for stage, tables in rows.items():
        for table, new in tables.items():
            _append(workload, night, stage, table, new)


def _query_rows(known: Known, inputs: Inputs, night: Night, verdicts: dict[str, Judged]) -> dict[str, Rows]:
    """All that one night adds for one query; `verdicts` keeps the last one of each."""
    query, last = known.query, verdicts.get(known.query.id)
    decided = decisions(known, inputs, night, last)
    asked = (*decided, *beyond(known, inputs, night)) if query.fate == "accept" else decided
    found = {"observe": observe_rows(known, inputs, night), "decide": decide_rows(asked)}
    for proposal in (d for d in decided if d.kind == "proposal"):
        tried = candidate(known, inputs, proposal)
        found |= {"replan": replan_rows(tried), "validate": validate_rows(known, inputs, night, tried)}
        verdicts[query.id] = judged(tried, night)
    if query.fate == "accept":
        if last is None:
            found["promote"] = promote_rows(query, night, verdicts[query.id])
        elif night.number == 1:
            found["validate"] = validate_rows(known, inputs, night, last.tried, purpose="confirm")
        found["production"] = production_rows(query, night)
    return found


def _append(workload: Workload, night: Night, stage: str, table: str, rows: list[Row]) -> None:
    """One commit, under the transaction id that a run of planopt would give it."""
    from deltalake import CommitProperties, Transaction, write_deltalake

    if not rows:
        return
    common = {
        "schema_version": SCHEMA_VERSION,
        "workload": workload.name,
        "run_id": night.run_id,
        "recorded_at": night.at(stage),
    }
    write_deltalake(
        f"{workload.store}/{table}",
        pa.Table.from_pylist([{**common, **row} for row in rows], schema=TABLES[table]),
        mode="append",
        commit_properties=CommitProperties(app_transactions=[Transaction(f"planopt:{night.run_id}:{stage}", 1)]),
    )
