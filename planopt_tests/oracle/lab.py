"""All tables of the oracle behind one workspace, with the log of each as the workspace pinned it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from planopt_assets.engine.execution.execute import Measured
from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.ids import content_id
from planopt_assets.model.workload import Query
from planopt_tests.conftest import workload_of
from planopt_tests.oracle import tables
from planopt_tests.oracle.comparison import ExpectedScan, expected_scan
from planopt_tests.oracle.log_reader import Snapshot, read_log
from planopt_tests.oracle.skipping import ANYTHING, Predicate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Lab:
    """Runs queries through planopt, and asks the oracle about the same versions of the tables."""

    data: Path
    workspace: Workspace
    pinned: dict[str, Snapshot]

    def run(self, sql: str) -> Measured:
        query = Query(content_id("qry", sql), sql=sql)
        return self.workspace.execute(query, 0, self.workspace.baseline, timeout_s=60, tier="always_on")

    def expect(self, table: str, predicate: Predicate, at_run_time: Predicate = ANYTHING) -> ExpectedScan:
        return expected_scan(table, self.pinned[table], predicate, at_run_time)

    def rows(self, table: str) -> pa.Table:
        """The rows of a table without partitions or deletion vectors, out of its files."""
        return pa.concat_tables(
            pq.read_table(self.data / table / path) for path in self.pinned[table].paths.to_pylist()
        )


def build(spark: SparkSession, folder: Path) -> Lab:
    """Write the tables, pin them, and let one of them grow afterwards."""
    data = folder / "data"
    data.mkdir()
    tables.write_all(spark, data)
    workspace = Workspace(workload_of(folder, []))
    pinned = {table.name: read_log(data / table.name, table.version) for table in workspace.tables}
    tables.grow(data)
    return Lab(data, workspace, pinned)
