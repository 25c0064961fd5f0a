"""A suite as a planopt workload: its tables and all its queries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.tpc.adaptations import adapted
from benchmarks.tpc.data import TINY, make_tables
from benchmarks.tpc.texts import Suite, texts
from planopt_assets.model.workload import Query, Table, Workload


def workload(folder: Path, suite: Suite, scale: float = TINY, appends: Mapping[str, int] | None = None) -> Workload:
    """Every query of a suite over its tables in `folder`, which are written if they are not there yet."""
    folder = folder.resolve()
    tables = make_tables(folder, suite, scale, appends)
    return Workload(
        name=suite,
        file=folder / f"{suite}.yaml",
        store=str(folder / "store"),
        tables=tuple(Table(name, str(path)) for name, path in tables.items()),
        queries=tuple(Query(query_id, sql=adapted(query_id, text)) for query_id, text in texts(suite).items()),
        # TPC-DS q10 broadcasts all of `customer_demographics`, which has two million rows at any scale.
        spark_settings=(("spark.driver.memory", "4g"),),
    )
