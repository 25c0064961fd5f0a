"""What the arms run: queries of the demo, of TPC-H or of TPC-DS, over tables made of many small appends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from benchmarks.gains import RUNS_PER_DAY
from benchmarks.tpc.adaptations import adapted
from benchmarks.tpc.data import TPCDS_APPENDS
from benchmarks.tpc.texts import texts
from benchmarks.tpc.workload import workload as tpc_workload
from planopt_assets.cli.demo_tables import prepare
from planopt_assets.model.workload import Budgets, Query, Workload
from planopt_assets.workload.load import load_workload

Queries = Literal["demo", "tpch", "tpcds"]


def workload_of(
    queries: Queries, scale: float, folder: Path, only: Sequence[str], budget_s: int, note: Callable[[str], None]
) -> Workload:
    """All queries or some, over tables that are made where they are missing; no arm writes to these."""
    chosen = _tpcds(folder, scale, note) if queries == "tpcds" else _over_the_demo(queries, folder, scale, note)
    if unknown := set(only) - {q.id for q in chosen.queries}:
        raise SystemExit(f"no such query: {', '.join(sorted(unknown))}")
    if only:
        chosen = replace(chosen, queries=tuple(q for q in chosen.queries if q.id in only))
    tables = tuple(replace(t, maintain="never") for t in chosen.tables)
    return replace(chosen, store=str(folder / "store"), mode="auto", budgets=Budgets(per_run=budget_s), tables=tables)


def _over_the_demo(queries: Queries, folder: Path, scale: float, note: Callable[[str], None]) -> Workload:
    """The demo's queries, or the 22 of TPC-H over the same tables, with the demo's memory and else Spark's defaults."""
    chosen = load_workload(prepare(folder / f"data-{scale:g}", scale, note))
    if queries == "demo":
        return chosen
    tpch = (Query(q, sql=adapted(q, text), runs_per_day=RUNS_PER_DAY) for q, text in texts("tpch").items())
    memory = tuple((name, value) for name, value in chosen.spark_settings if name == "spark.driver.memory")
    return replace(chosen, queries=tuple(tpch), spark_settings=memory)


def _tpcds(folder: Path, scale: float, note: Callable[[str], None]) -> Workload:
    """All 99 queries. Those that Spark reads in other words than DuckDB are adapted."""
    note(f"TPC-DS tables at scale {scale:g} as Delta, {sum(TPCDS_APPENDS.values())} appends, unless they are there")
    chosen = tpc_workload(folder / "data", "tpcds", scale, TPCDS_APPENDS)
    return replace(chosen, queries=tuple(replace(q, runs_per_day=RUNS_PER_DAY) for q in chosen.queries))
