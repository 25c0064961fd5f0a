"""What the stage itself puts into plan_artifacts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from planopt_assets.engine.execution.execute import Measured
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.observe import observe
from planopt_assets.model.bundle import Planned, bundle_hash
from planopt_assets.model.table_facts import TableFacts
from planopt_assets.model.workload import Query, Workload
from planopt_assets.observe.bundle import planned_parts, understand
from planopt_assets.observe.tables.contract import contract_hash, contract_of
from planopt_tests.loop.scripted_workspace import (
    DIGEST,
    ENVIRONMENT,
    FINAL,
    INITIAL,
    ORDERS,
    RULEPACK,
    SQL,
    Scripted,
)
from planopt_tests.measured import counters
from planopt_tests.observe.test_bundle import planned
from planopt_tests.rows import Row
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast


def observed(folder: Path, *plannings: Planned, read: Sequence[TableFacts] = (ORDERS,)) -> Row:
    """The stored row of a query that was planned like this, twice."""
    workload = Workload("demo", folder / "planopt.yaml", str(folder / "store"), (), (Query("q", sql=SQL),))
    run = Run(Scripted(workload, list(plannings), read), "run")  # type: ignore[arg-type]  # no Spark here
    observe(run, ["q"])
    [row] = StoredRows.of(run).rows("plan_artifacts")
    return row


def test_a_query_is_known_by_its_canonical_form(tmp_path: Path) -> None:
    told = planned()
    row = observed(tmp_path, told, told)
    canonical = understand(SQL, told, [ORDERS], 0).canonical
    assert (row["canonical_fingerprint"], row["canonical_form"], row["canonical_reason"]) == (
        canonical.fingerprint,
        "sqlglot",
        None,
    )


def test_imports_that_cannot_be_followed_are_said(tmp_path: Path) -> None:
    (tmp_path / "daily.py").write_text("import helpers\n")
    (tmp_path / "helpers.py").write_text("import_module(name)\n")
    query = Query("q", python="daily:build")
    workload = Workload("demo", tmp_path / "planopt.yaml", str(tmp_path / "store"), (), (query,), allow_python=True)
    told: list[str] = []
    run = Run(Scripted(workload, [planned()] * 2), "run", lambda stage, query_id, words: told.append(words))  # type: ignore[arg-type]  # no Spark here
    [result] = observe(run, ["q"])
    place = "helpers.py: import_module(…) in line 1"
    said = f"Imports that cannot be followed, so a change behind them is not noticed: {place}"
    assert said in told
    assert result.markdown.endswith(said)


def test_a_bundle_has_its_hash_its_parts_and_what_was_unstable(tmp_path: Path) -> None:
    first = planned(environment=ENVIRONMENT, rulepack=RULEPACK)
    second = replace(first, output=(("b", "int", True),))
    row = observed(tmp_path, first, second)
    parts = json.loads(row["bundle_parts"])
    planning = planned_parts(second, INITIAL, ())
    assert parts.items() > dict(planning).items()
    assert parts.keys() - dict(planning) == {"query", "snapshot", "contract", "lineage", "udfs"}
    assert [parts[name] for name in ("query", "snapshot", "contract")] == [
        row[name] for name in ("canonical_fingerprint", "snapshot_hash", "contract_hash")
    ]
    assert row["unstable_parts"] == ["output"]
    assert (row["planning_env_hash"], row["rulepack_hash"]) == (ENVIRONMENT.hash, RULEPACK.hash)
    assert row["bundle_hash"] == bundle_hash(tuple(parts.items())) == bundle_hash(tuple(parts.items())[::-1])


def test_the_counters_are_those_of_the_second_run_so_no_cold_jvm_is_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decide believes them whatever the model says (`decide/prices.py`)."""
    runs = [Measured(counters(cpu_s), DIGEST, FINAL, INITIAL, planned=planned()) for cpu_s in (9.0, 1.5)]
    monkeypatch.setattr(Scripted, "execute", lambda *_, **__: runs.pop(0))
    workload = Workload("demo", tmp_path / "planopt.yaml", str(tmp_path / "store"), (), (Query("q", sql=SQL),))
    run = Run(Scripted(workload, [], (ORDERS,)), "run")  # type: ignore[arg-type]  # no Spark here
    observe(run, ["q"])
    [row] = StoredRows.of(run).rows("runtime_counters")
    assert (row["cpu_ns"], row["cores"]) == (1_500_000_000, 2)


def test_the_contract_of_an_observation_is_that_of_its_tables_in_any_order(tmp_path: Path) -> None:
    nation = replace(ORDERS, name="nation")
    told = planned()
    here, there = (
        observed(tmp_path / name, told, told, read=read)
        for name, read in {"here": (ORDERS, nation), "there": (nation, ORDERS)}.items()
    )
    assert here["contract_hash"] == there["contract_hash"] == contract_hash(contract_of([ORDERS, nation]))
