"""What a run of observe leaves behind, written without Spark: enough to tell whether a query is due."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.frames.callables import query_source
from planopt_assets.engine.sessions.java import java_release
from planopt_assets.loop.versions import contract
from planopt_assets.model.inputs import input_fingerprint, query_fingerprint
from planopt_assets.model.workload import Query, Workload
from planopt_assets.observe.bundle import schemas_of
from planopt_assets.observe.sql.canonical import canonical_form
from planopt_assets.observe.sql.named_tables import named_tables
from planopt_assets.store.writer import append
from planopt_tests.no_spark import no_spark
from planopt_tests.rows import stored


def observe_without_spark(workload: Workload, query_ids: list[str], run_id: str) -> None:
    """One run over these queries, on the tables as they are now."""
    rows = [_artifact(workload, workload.query(q), run_id) for q in query_ids]
    append(
        no_spark, workload.store, workload=workload.name, run_id=run_id, stage="observe", rows={"plan_artifacts": rows}
    )


def _artifact(workload: Workload, query: Query, run_id: str) -> dict[str, Any]:
    names = named_tables(query.sql or "")
    pins = Pins()
    read = [t for t in workload.tables if t.name.lower() in names]
    pinned = tuple(pins.pin(t.name, str(t.path)) for t in read)
    known_as = query_fingerprint(query, query_source(workload, query))
    versions, java = contract(workload.master), java_release()
    canonical = canonical_form(str(query.sql), schemas_of([pins.facts(t.name, str(t.path)) for t in read]))
    row = stored(
        "plan_artifacts",
        query_id=query.id,
        observation_id=f"obs-{run_id}-{query.id}-b0",
        binding=0,
        parameters="{}",
        source="sql",
        status="captured",
        query_fingerprint=known_as,
        input_fingerprint=input_fingerprint(workload, query, known_as, pinned, versions, captured=True, java=java),
        plan_fingerprint="pln_1",
        topology_hash="top_1",
        tables=json.dumps([asdict(p) for p in pinned]),
        canonical_fingerprint=canonical.fingerprint,
        canonical_form=canonical.form,
        canonical_sql=canonical.sql,
        contract_hash="ctr_1",
        statistics_source="delta_log",
        edits=[],
        engine="java 17",
    )
    return {name: value for name, value in row.items() if value is not None and name not in ("workload", "run_id")}


def commit(table: Path) -> None:
    """One more version of a table."""
    rows = pa.table({"shop": pa.array([1, 2], pa.int64()), "amount": pa.array([1.0, 2.0])})
    write_deltalake(table, rows, mode="append")
