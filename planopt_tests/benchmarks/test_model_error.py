"""The error of the cost model: given prices, stored ones, and those of a fit that has not seen the query."""

from __future__ import annotations

import doctest
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import benchmarks.model_error
from benchmarks.model_error import lines, main, summary, text, told
from benchmarks.store_scale.generate import generate
from planopt_assets.decide.price_fit import ENOUGH_QUERIES, fitted
from planopt_assets.model.cost_model import GIVEN, Prices, Work
from planopt_assets.model.work_units import Units
from planopt_assets.store.schemas import TABLES
from planopt_assets.workload import load_workload
from planopt_tests.decide.test_price_fit import HERE
from planopt_tests.loop.test_cost_models import ran_in

pytestmark = pytest.mark.fast

TRUE = replace(GIVEN, row_ns=60, task_ns=15_000_000, query_ns=200_000_000)


def ran(queries: int, prices: Prices = TRUE) -> list[Work]:
    """Each query ten times, with work of its own, and CPU as by the prices."""
    found = []
    for number in range(1, queries + 1):
        units = Units(4_500_000 * number, files=3 * number**2, tasks=40 + 7 * number, blocks=11 * (9 - number))
        found += [Work(f"q{number}", prices.query_ns + prices.of(units), units)] * 10
    return found


def test_a_fit_is_nearer_than_the_given_prices_also_where_it_has_not_seen_the_query() -> None:
    work = ran(8)
    found = lines(work, fitted(work))
    assert [(line.query, line.executions) for line in found] == [(f"q{n}", 10) for n in range(1, 9)]
    errors = summary(found)
    factors = {kind: one["median_factor"] for kind, one in errors.items() if one is not None}
    assert factors["given"] > 1.5 > factors["left_out"] >= factors["stored"] >= 1.0


def test_a_query_unlike_all_others_is_told_by_the_left_out_fit_alone() -> None:
    odd = [replace(w, cpu_ns=30 * w.cpu_ns) if w.query_id == "q8" else w for w in ran(8)]
    found = {line.query: line for line in lines(odd, fitted(odd))}
    assert found["q8"].left_out is not None
    assert found["q8"].left_out < 0.1


def test_the_share_of_near_queries_counts_both_ways() -> None:
    exact = ran(4, GIVEN)
    half, twice = (
        [replace(w, cpu_ns=round(w.cpu_ns * by)) for w in exact if w.query_id == q]
        for q, by in (("q1", 2), ("q2", 0.5))
    )
    errors = summary(lines([*half, *twice, *exact[20:]], GIVEN))["given"]
    assert errors is not None
    assert (errors["share_near"], errors["queries"]) == (0.5, 4)
    assert errors["largest_factor"] == pytest.approx(2.0)


def test_without_enough_queries_nothing_is_fitted_and_that_is_said() -> None:
    found = lines(ran(ENOUGH_QUERIES - 1), None)
    assert {(line.stored, line.left_out) for line in found} == {(None, None)}
    assert summary(found)["left_out"] is None
    place = {"store": "s", "workload": "w", "cores": 2, "engine": "spark 4.2.0", "prices": None}
    facts = {**place, "queries": [], "summary": summary(found)}
    assert "left out: too few executions or queries for a fit" in text(facts)


def test_a_store_of_two_environments_has_an_error_for_each(tmp_path: Path) -> None:
    store, elsewhere = str(tmp_path), replace(HERE, cores=16)
    for environment in (HERE, elsewhere):
        for name, rows in ran_in(environment, 120).items():
            write_deltalake(f"{store}/{name}", pa.Table.from_pylist(rows, schema=TABLES[name]), mode="append")
    first, second = told(store, "demo")
    assert [(one["cores"], one["engine"]) for one in (first, second)] == [(2, HERE.engine), (16, HERE.engine)]
    assert [len(one["queries"]) for one in (first, second)] == [20, 20]
    assert first["summary"]["left_out"]["queries"] == 20
    assert first["summary"]["left_out"]["median_factor"] < first["summary"]["given"]["median_factor"]


def test_executions_that_tell_no_cores_are_no_environment_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row | {"cores": None} for row in ran_in(HERE, 3)["runtime_counters"]]
    table = pa.Table.from_pylist(rows, schema=TABLES["runtime_counters"])
    write_deltalake(f"{tmp_path}/runtime_counters", table)
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path)])
    assert "tells its cores and its engine" in capsys.readouterr().err


def test_the_command_reads_stores_without_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = load_workload(generate(tmp_path, 2, 1)).store
    assert main([store, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [line["query"] for line in found["queries"]] == ["q0000", "q0001"]
    assert main([store]) == 0
    assert "within 1.5 times" in capsys.readouterr().out


def test_a_folder_without_executions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path)])
    assert "no executions in" in capsys.readouterr().err


def test_the_examples_are_true() -> None:
    assert doctest.testmod(benchmarks.model_error).failed == 0
