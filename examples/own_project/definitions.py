"""A Dagster project that has assets of its own, and planopt's loop beside them."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg
import pyarrow as pa
from deltalake import write_deltalake

from planopt_assets.dagster import planopt_definitions

FOLDER = Path(os.environ.get("SHOP_FOLDER", str(Path(__file__).parent)))


@dg.asset(key_prefix="raw", kinds={"deltalake"})
def sales() -> None:
    """The project's own asset: it writes the Delta table that the queries read."""
    rows = pa.table({"shop": [i % 17 for i in range(3000)], "amount": [float(i % 90) for i in range(3000)]})
    write_deltalake(FOLDER / "data" / "sales", rows, mode="append")


own = dg.Definitions(assets=[sales])

defs = dg.Definitions.merge(
    own,
    planopt_definitions(
        workload=FOLDER / "planopt.yaml",
        key_prefix=["tuning"],  # assets are tuning/verdicts and so on, jobs tuning_optimize and so on
        groups={"observe": "query_plans", "tables": "sources"},  # the other groups keep the names of the stages
        owners=["team:data"],
        tables={"sales": ["raw", "sales"]},  # the project's own asset; `shops` becomes an external asset
    ),
)
