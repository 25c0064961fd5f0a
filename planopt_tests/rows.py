"""Nouns as the store gives them, made by hand from rows with only what they are about spelled out."""

from __future__ import annotations

import json
from typing import Any

from planopt_assets.loop.standing import Standing
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.conditions import Conditions
from planopt_assets.model.decision import Decision
from planopt_assets.model.observation import Observation, PlanArtifact
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import GENESIS, Promotion
from planopt_assets.model.scan import Funnel, ScanFacts
from planopt_assets.model.stamp import NOT_STORED
from planopt_assets.model.verdict import Verdict
from planopt_assets.observe.plans.stored_plan import pack
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, VERDICTS
from planopt_assets.store.codecs.observing import ARTIFACTS, INPUT_TABLES, SCANS
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES

FEWER = Policy.of({"spark.sql.shuffle.partitions": "2"})
OTHER = Policy.of({"spark.sql.files.openCostInBytes": "65536"})

Row = dict[str, Any]


def criteria(**passed: bool | None) -> str:
    """Criteria as a verdict stores them; `objective__cpu` is `objective:cpu`."""
    unsaid = {"baseline": None, "candidate": None, "threshold": ""}
    return json.dumps([{"name": name.replace("__", ":"), "passed": found, **unsaid} for name, found in passed.items()])


ALL_PASSED = criteria(results_equal=True, work_ns=None, objective__cpu=True)
"""What every accept has at least."""


def artifact(status: str = "captured", **others: Any) -> PlanArtifact:
    found = {"captured": None, "refused": "PLN-101 query q: `INSERT` writes", "failed": "PLN-207 query q: no space"}
    known = {
        "query_id": "q",
        "observation_id": "obs-run-q-b0",
        "binding": 0,
        "status": status,
        "error": found[status],
        "plan_fingerprint": "pln_1",
        "topology_hash": "top_1",
    }
    return ARTIFACTS.from_row({**known, **others})


def decision(kind: str = "proposal", policy: Policy = FEWER, **others: Any) -> Decision:
    proposes = kind == "proposal"
    known = {
        "query_id": "q",
        "kind": kind,
        "rule": "right_size_shuffle",
        "reason": "the largest shuffle is small" if proposes else f"the reason for {kind}",
        "policy_before": ORIGINAL.to_json(),
        "policy_after": (policy if proposes else ORIGINAL).to_json(),
        "expected_gain_cpu_ns": 480_000_000 if proposes else 0,
        "arithmetic": json.dumps({"saving_cpu_ns_per_run": 480_000_000} if proposes else {"shuffles": 0}),
    }
    return DECISIONS.from_row({**known, **others})


def nothing_beyond(policy: Policy = FEWER, **others: Any) -> Decision:
    """The answer to what the query needs beyond a policy that was accepted: nothing."""
    stays = {"policy_before": policy.to_json(), "policy_after": policy.to_json()}
    return decision("no_change", **{**stays, **others})


def candidate(policy: Policy = FEWER, *, kept: bool = True, **others: Any) -> Candidate:
    known = {
        "query_id": "q",
        "policy": policy.to_json(),
        "kept": kept,
        "reason": "the plan changes" if kept else "dropped: plan and partitioning stay the same",
        "diff": "-Exchange hashpartitioning 200\n+Exchange hashpartitioning 2" if kept else "",
    }
    return CANDIDATES.from_row({**known, **others})


def verdict(policy: Policy = FEWER, outcome: str = "accept", **others: Any) -> Verdict:
    """On the candidate that `candidate` makes of the same policy, unless told."""
    measured = outcome != "inconclusive"
    known = {
        "query_id": "q",
        "verdict_id": f"ver-run-q-{policy.id[4:]}",
        "candidate_id": candidate(policy).id,
        "policy": policy.to_json(),
        "outcome": outcome,
        "reason": f"the reason for {outcome}",
        "results_equal": True,
        "criteria": ALL_PASSED if outcome == "accept" else "[]",
        "gain_metric": "cpu" if measured else None,
        "gain_ratio": 0.7 if measured else None,
        "gain_low": 0.6 if measured else None,
        "gain_high": 0.8 if measured else None,
        "gain_confidence": 0.92 if measured else None,
        "pairs": 9,
        "input_fingerprint": "inp_1",
    }
    return VERDICTS.from_row({**known, **others})


def promotion(policy: Policy = FEWER, verdict_id: str = "ver-run-q-can_1", generation: int = 1) -> Promotion:
    return Promotion(
        "demo",
        "q",
        generation,
        policy,
        "accepted",
        "cpu -30%",
        verdict_id,
        "can_1",
        "inp_1",
        GENESIS,
        conditions=Conditions(),
    )


def standing(
    artifacts: list[PlanArtifact] | None = None,
    decisions: list[Decision] | None = None,
    candidates: list[Candidate] | None = None,
    verdicts: list[Verdict] | None = None,
    active: Promotion | None = None,
    **others: Any,
) -> Standing:
    """A query that was observed, and of which nothing else is known unless told."""
    known: dict[str, Any] = {"query_id": "q", "query_fingerprint": "qry_1", "input_fingerprint": "inp_1"}
    return Standing(
        **{
            **known,
            "mode": "advise",
            "artifacts": [artifact()] if artifacts is None else artifacts,
            "decisions": decisions or [],
            "candidates": candidates or [],
            "verdicts": verdicts or [],
            "chain": (active,) if active else (),
            **others,
        }
    )


# Observations: rows with every column of their table, null unless told, and the nouns made of them


def stored(name: str, /, **columns: Any) -> Row:
    assert not columns.keys() - set(TABLES[name].names)
    common = {"schema_version": SCHEMA_VERSION, "workload": "demo", "query_id": "q"}
    return dict.fromkeys(TABLES[name].names) | common | {"recorded_at": NOT_STORED.recorded_at} | columns


def packed_plan(*operators: str, final: tuple[str, ...] | None = None) -> bytes:
    """A chain of operators, as `plan_artifacts.plan` holds it."""
    trees = {
        phase: [[i - 1, text.split(" ")[0], text] for i, text in enumerate(chain)]
        for phase, chain in (("initial", operators), ("final", final or operators))
    }
    packed, _ = pack(trees)
    assert packed is not None
    return packed


def captured_row(run: str, binding: int = 0, **columns: Any) -> Row:
    """A captured binding as this planopt records it."""
    known = {
        "run_id": run,
        "observation_id": f"obs-{run}-q-b{binding}",
        "binding": binding,
        "status": "captured",
        "query_fingerprint": "qry_1",
        "input_fingerprint": "inp_1",
        "snapshot_hash": "snp_1",
        "planning_env_hash": "env_1",
        "rulepack_hash": "rul_1",
        "engine": "spark 4.2.0",
        "extractor": "spark-plan-info@2",
        "topology_hash": "top_1",
        "final_topology_hash": "top_2",
        "plan": packed_plan("Sort", "Exchange hashpartitioning(a#0, 200)"),
        "bundle_hash": "bun_1",
        "bundle_parts": '{"plan": "pln_1", "topology": "top_1"}',
        "unstable_parts": [],
        "other_scans": [],
        "misled_joins": "[]",
        "worst_error_factor": 2.0,
        "tables": json.dumps([{"name": "orders", "location": "/data/orders", "table_id": "id-1", "version": 12}]),
    }
    return stored("plan_artifacts", **{**known, **columns})


def unsuccessful_row(run: str, status: str, code: str) -> Row:
    told = {"status": status, "error_code": code, "error": f"{code} query q: why"}
    return stored("plan_artifacts", run_id=run, observation_id=f"obs-{run}-q-b0", binding=0, tables="[]", **told)


def older_row(run: str, **columns: Any) -> Row:
    """A binding captured by planopt with schema version 1: what was added since is null."""
    first = ("run_id", "observation_id", "binding", "status", "query_fingerprint", "input_fingerprint", "snapshot_hash")
    first += ("topology_hash", "final_topology_hash", "plan", "tables")
    known = {name: value for name, value in captured_row(run).items() if name in first}
    return stored("plan_artifacts", **{**known, **columns})


def scan_row(table: str = "orders", **columns: Any) -> Row:
    known = {
        "table": table,
        "table_version": 12,
        "native": True,
        "file_index": "PreparedDeltaFileIndex",
        "outcome": "full_pushdown",
        "reason": "all predicates were pushed",
        "pruned_share": 0.5,
    }
    return stored("scan_outcomes", **{**known, **columns})


def table_row(table: str = "orders", **columns: Any) -> Row:
    """A table with one column, `id` of type `long`."""
    contract = {
        table: {
            "columns": [{"name": "id", "type": "long", "nullable": False}],
            "defaults": {},
            "constraints": [],
            "partitioned_by": [],
        }
    }
    known = {
        "table": table,
        "unknown_reader_features": [],
        "unknown_writer_features": [],
        "contract": json.dumps(contract),
    }
    return stored("input_tables", **{**known, **columns})


def observation(*artifacts: Row, scans: tuple[Row, ...] = (), tables: tuple[Row, ...] = ()) -> Observation:
    """What one run saw of `q`; the rows say which run."""
    return Observation(
        "q",
        artifacts[0]["run_id"],
        tuple(map(ARTIFACTS.from_row, artifacts)),
        tuple(map(SCANS.from_row, scans)),
        tuple(map(INPUT_TABLES.from_row, tables)),
    )


def scan_facts(table: str = "orders", **changes: Any) -> ScanFacts:
    """A native scan without predicates."""
    known = {
        "table": table,
        "version": 12,
        "position": 0,
        "file_index": "PreparedDeltaFileIndex",
        "native": True,
        "columns": ("id",),
        "conjuncts": (),
        "pushed_filters": (),
        "skipping_filters": (),
        "unused_filters": (),
        "runtime_filters": (),
        "skipping_type": "noSkippingV1",
        "funnel": Funnel(),
    }
    return ScanFacts(**{**known, **changes})
