"""A cost model and the decisions that name it are the same bytes, made again from stored rows in another process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.loop.cost_models import new_models, prices_now
from planopt_assets.loop.decisions import decisions_for
from planopt_assets.loop.run import read_standings
from planopt_assets.model.cost_model import GIVEN, Environment, Prices
from planopt_assets.model.workload import Budgets, Query, Table, Workload
from planopt_assets.store.codecs.deciding import DECISIONS
from planopt_assets.store.codecs.observing import SHARED
from planopt_assets.store.prices import stored_prices
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.fresh_python import output_of
from planopt_tests.loop.test_cost_models import ran_in
from planopt_tests.store.written import WrittenStore

pytestmark = pytest.mark.fast

QUERY = Query("q", sql="SELECT shop, count(*) AS n FROM sales GROUP BY shop", runs_per_day=24)
HERE = Environment(2, "java 17")  # as the observation of the written store has it


def workload(folder: Path) -> Workload:
    tables = (Table("sales", str(folder / "sales")),)
    quiet = Budgets(explore=0.0)
    store = str(folder / "store")
    return Workload("demo", folder / "planopt.yaml", store, tables, (QUERY,), master="local[2]", budgets=quiet)


def decided(folder: Path) -> str:
    """What the rows in a folder lead to: the prices fitted to them, and the decisions, as they would be stored."""
    asked = workload(folder)
    snapshot = Snapshot(asked.store, asked.name)
    prices = prices_now(snapshot, HERE)
    decisions = decisions_for(asked, snapshot, read_standings(asked)["q"])
    rows = [json.dumps(DECISIONS.to_row(d), default=str, sort_keys=True) for d in decisions]
    return "\n".join([prices.id, prices.to_json(), *rows])


def in_another_process(folder: Path, hash_seed: int) -> str:
    code = f"""
from pathlib import Path
from planopt_tests.loop.test_cost_models_again import decided
print(decided(Path({str(folder)!r})))
"""
    return output_of(code, hash_seed=hash_seed).rstrip("\n")


@pytest.fixture
def written(tmp_path: Path) -> WrittenStore:
    """A query that was observed, beside 120 executions of 20 others."""
    rows = pa.table({"shop": pa.array([1, 2], pa.int64()), "amount": pa.array([1.0, 2.0])})
    write_deltalake(tmp_path / "sales", rows)
    store = WrittenStore(workload(tmp_path))
    store.observe(QUERY, "r1")
    append(store, ran_in(HERE, 120))
    return store


def append(written: WrittenStore, tables: dict[str, list[dict[str, Any]]]) -> None:
    for name, rows in tables.items():
        write_deltalake(
            f"{written.workload.store}/{name}", pa.Table.from_pylist(rows, schema=TABLES[name]), mode="append"
        )


def keep(written: WrittenStore) -> Prices:
    """Decisions, and the model that they name, as the decide stage stores them."""
    snapshot = Snapshot(written.workload.store, "demo")
    decisions = decisions_for(written.workload, snapshot, read_standings(written.workload)["q"])
    for model in new_models(snapshot, decisions):
        written.append("provenance", SHARED.to_row(model), run_id="r1")
    for decision in decisions:
        written.append("policy_decisions", DECISIONS.to_row(decision), run_id="r1")
    return prices_now(snapshot, HERE)


def test_the_same_stored_rows_give_the_same_prices_and_decisions_in_another_process(
    written: WrittenStore, tmp_path: Path
) -> None:
    here = decided(tmp_path)
    prices = Prices.from_json(here.splitlines()[1])
    assert (prices.executions, prices.queries, prices.environment) == (120, 20, HERE)
    assert prices.id in here.splitlines()[2]
    assert in_another_process(tmp_path, 1) == in_another_process(tmp_path, 2) == here


def test_one_more_row_gives_other_prices(written: WrittenStore, tmp_path: Path) -> None:
    """Else the test above would prove nothing."""
    before = decided(tmp_path)
    more = ran_in(HERE, 1, execution_id="obs-more", cpu_ns=7 * 10**9)
    more["plan_artifacts"][0]["observation_id"] = "obs-more"
    append(written, more)
    assert decided(tmp_path).splitlines()[0] != before.splitlines()[0]


def test_a_decision_that_names_prices_is_decided_again_by_those_after_newer_ones_were_fitted(
    written: WrittenStore, tmp_path: Path
) -> None:
    first = keep(written)
    before = decided(tmp_path).splitlines()[2:]
    append(written, moved(ran_in(HERE, 120), "later"))
    newer = prices_now(Snapshot(written.workload.store, "demo"), HERE)
    assert (newer.executions, newer.id != first.id) == (240, True)
    assert [p.id for p in stored_prices(Snapshot(written.workload.store, "demo"))] == [first.id]
    again = in_another_process(tmp_path, 3).splitlines()
    assert again[0] == newer.id
    assert again[2:] == before
    assert all(first.id in row for row in before)


def test_a_decision_that_names_no_prices_is_decided_again_by_the_given_ones(tmp_path: Path) -> None:
    rows = pa.table({"shop": pa.array([1, 2], pa.int64()), "amount": pa.array([1.0, 2.0])})
    write_deltalake(tmp_path / "sales", rows)
    store = WrittenStore(workload(tmp_path))
    store.observe(QUERY, "r1")
    assert keep(store) == GIVEN
    before = decided(tmp_path).splitlines()
    append(store, ran_in(HERE, 120))
    again = in_another_process(tmp_path, 4).splitlines()
    assert (again[0] != before[0], again[2:] == before[2:]) == (True, True)


def moved(tables: dict[str, list[dict[str, Any]]], suffix: str) -> dict[str, list[dict[str, Any]]]:
    """The same executions once more, dearer, as those of a later run."""
    for row in tables["runtime_counters"]:
        row["execution_id"] += suffix
        row["cpu_ns"] *= 2
    for row in tables["plan_artifacts"]:
        row["observation_id"] += suffix
    return tables
