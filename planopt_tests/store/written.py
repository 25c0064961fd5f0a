"""A store written by hand, without Spark: rows as a run would leave them, a minute apart."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.frames.callables import query_source
from planopt_assets.engine.sessions.java import java_release
from planopt_assets.loop.versions import contract
from planopt_assets.model.conditions import Circumstances, Conditions
from planopt_assets.model.inputs import (
    PinnedTable,
    QuerySource,
    input_fingerprint,
    older_input_fingerprint,
    query_fingerprint,
)
from planopt_assets.model.policy import Policy
from planopt_assets.model.promotion import Chain
from planopt_assets.model.signals import Signals
from planopt_assets.model.workload import Query, Workload
from planopt_assets.observe.bundle import schemas_of
from planopt_assets.observe.sql.canonical import canonical_form, canonical_from_analyzed
from planopt_assets.store.codecs.forms import dumped
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_tests.decide.cases import WORKED
from planopt_tests.promoted import promotion_row
from planopt_tests.rows import ALL_PASSED, stored

START = datetime(2024, 1, 1, tzinfo=UTC)
MIB = 1024 * 1024


class WrittenStore:
    """The store of a workload over one table, `sales`, whose evidence is the worked one of the shuffle rule."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.minutes = 0

    def append(self, table: str, row: dict[str, Any], *, run_id: str, days: float = 0) -> dict[str, Any]:
        self.minutes += 1
        moment = START + timedelta(minutes=self.minutes, days=days)
        common = {"schema_version": SCHEMA_VERSION, "workload": self.workload.name, "run_id": run_id}
        whole = stored(table, **{**row, **common, "recorded_at": moment})
        path = Path(self.workload.store) / table
        write_deltalake(path, pa.Table.from_pylist([whole], schema=TABLES[table]), mode="append")
        return whole

    def observe(
        self,
        query: Query,
        run_id: str,
        *,
        table_bytes: int = 10 * MIB,
        days: float = 0,
        engine: str = "java 17",
        metadata: str = "",
        older: bool = False,
    ) -> str:
        """The rows of an observation of the tables as they are now; returns its input fingerprint.

        `older`: as a planopt with schema version 5 would have left them.
        """
        (execution,) = WORKED.executions
        location = str(self.workload.tables[0].path)
        facts = Pins().facts("sales", location)
        pinned = Pins().pin("sales", location)
        source = query_source(self.workload, query)
        canonical = (
            canonical_from_analyzed("the plan", "a DataFrame query has no SQL text")
            if query.sql is None
            else canonical_form(query.sql, schemas_of([facts]))
        )
        versions = contract(self.workload.master)
        if older:
            pinned, source = replace(pinned, head=None), QuerySource(source.text)
            known_as = query_fingerprint(query, source)
            inputs = older_input_fingerprint(self.workload, query, known_as, (pinned,), versions, captured=True)
        else:
            known_as, java = query_fingerprint(query, source), java_release()
            inputs = input_fingerprint(self.workload, query, known_as, (pinned,), versions, captured=True, java=java)
        observation = f"obs-{run_id}-q-b0"
        counters = {name: getattr(execution.counters, name) for name in type(execution.counters).names()}
        self.append(
            "runtime_counters",
            {**counters, "execution_id": observation, "purpose": "observe", "table_bytes": table_bytes},
            run_id=run_id,
            days=days,
        )
        self.append(
            "plan_artifacts",
            {
                "observation_id": observation,
                "binding": 0,
                "parameters": json.dumps(dict(query.bindings[0]), sort_keys=True),
                "source": query.source,
                "status": "captured",
                "query_fingerprint": known_as,
                "input_fingerprint": inputs,
                "plan_fingerprint": "pln_1",
                "topology_hash": "top_1",
                "tables": json.dumps([_stored(pinned)]),
                "settings": json.dumps(dict(WORKED.settings)),
                "signals": dumped(asdict(Signals(exchanges=execution.exchanges))),
                "canonical_fingerprint": canonical.fingerprint,
                "canonical_form": canonical.form,
                "canonical_sql": canonical.sql,
                "contract_hash": "ctr_1",
                "statistics_source": "delta_log",
                "edits": [],
                "engine": engine,
            },
            run_id=run_id,
            days=days,
        )
        tables = {"observation_id": observation, "table": "sales", "metadata": metadata, "bytes": table_bytes}
        self.append("input_tables", tables, run_id=run_id, days=days)
        return inputs

    def judge(self, standing: Any, policy: Policy, outcome: str, run_id: str, **others: Any) -> str:
        """A verdict on a policy, on the inputs where the query stands."""
        verdict_id = f"ver-{run_id}-q-can_{policy.id[4:]}"
        gain = {"gain_metric": "cpu", "gain_ratio": 0.7, "gain_low": 0.6, "gain_high": 0.8, "gain_confidence": 0.92}
        row = {
            "verdict_id": verdict_id,
            "candidate_id": f"can_{policy.id[4:]}",
            "policy_id": policy.id,
            "policy": policy.to_json(),
            "outcome": outcome,
            "reason": f"the reason for {outcome}",
            "results_equal": True,
            "criteria": ALL_PASSED if outcome == "accept" else "[]",
            "pairs": 9,
            "input_fingerprint": standing.input_fingerprint,
            "canonical_fingerprint": standing.canonical_fingerprint,
            "context_hash": standing.context_hash,
            "input_bytes": standing.input_bytes,
            "conditions": dumped(self._conditions(standing).facts()),
            **gain,
        }
        self.append("verdicts", {**row, **others}, run_id=run_id)
        return verdict_id

    def _conditions(self, standing: Any) -> Conditions:
        """Sizes as they were observed; no part depends on them, so nothing is ever suspended."""
        location = str(self.workload.tables[0].path)
        states = (replace(Pins().state("sales", location), bytes=size) for size in standing.sizes.values())
        return Conditions(Circumstances(tables=tuple(states)))

    def promote(self, chain: Chain, run_id: str) -> None:
        """The last generation of a chain."""
        self.append("active_policies", promotion_row(chain[-1]), run_id=run_id)


def _stored(pinned: PinnedTable) -> dict[str, Any]:
    """As it stands in a row; an older planopt did not write the name of a fact it did not know."""
    return {name: value for name, value in asdict(pinned).items() if value is not None}
