"""Small Delta tables in which every kind of predicate has something to skip, or provably has not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from planopt_assets.engine.capture.capture import Capture
from planopt_assets.engine.capture.scans import ScanReader
from planopt_assets.model.scan import ScanFacts, TableScanInfo

FILES, ROWS = 8, 100

# 800 rows in 8 files of disjoint ids; everything but `mixed` follows the id.
_ORDERS = """
    id,
    CAST(id AS INT) AS number,
    id / 10.0D AS ratio,
    CAST(id * 1.25 AS DECIMAL(10, 2)) AS price,
    date_add(DATE'2023-07-01', CAST(id DIV 100 AS INT) * 61 + CAST(id % 60 AS INT)) AS day,
    timestamp_seconds(1704067200 + id * 3600) AS ts,
    concat('k', lpad(CAST(id AS STRING), 4, '0')) AS code,
    CAST(id AS STRING) AS digits,
    id >= 700 AS flag,
    named_struct('a', CAST(id AS INT), 'b', concat('b', id)) AS item,
    array(concat('t', id)) AS tags,
    map('k', concat('v', id)) AS props,
    IF(id < 400, NULL, id) AS optional,
    id * 7919 % 800 AS mixed,
    concat(repeat('x', 40), lpad(CAST(id AS STRING), 4, '0')) AS long_text
"""


@dataclass(frozen=True, slots=True)
class Lab:
    """The tables, and a way to run a query over them and look at its scans."""

    spark: SparkSession
    folder: Path
    _sessions: dict[frozenset[tuple[str, str]], SparkSession] = field(default_factory=dict)

    def scans(self, sql: str, settings: Mapping[str, str] | None = None) -> list[tuple[ScanFacts, TableScanInfo]]:
        """Every scan of the query after it ran, with what its table offers."""
        session = self._session(settings or {})
        execution: Any = session.sql(sql)._jdf.queryExecution()
        plan = execution.executedPlan()
        capture = Capture(session, {str(path): path.name for path in self._tables()})
        reader = ScanReader(capture.jvm, capture.tables)
        tree = capture.read(plan, "initial").tree
        with self._active(session):
            planned = reader.planned(plan, capture.scans(plan), tree, capture.jvm.tree(execution.optimizedPlan()))
            execution.toRdd().count()
        done = capture.read(plan, "final")
        return [(facts, planned.offers[facts.table]) for facts in reader.measured(planned, done.tree, done.metrics)]

    def _session(self, settings: Mapping[str, str]) -> SparkSession:
        """One session for each set of settings, with the tables as views."""
        asked = frozenset(settings.items())
        if asked not in self._sessions:
            session = self.spark.newSession()
            for name, value in settings.items():
                session.conf.set(name, value)
            for path in self._tables():
                session.read.format("delta").load(str(path)).createOrReplaceTempView(path.name)
            session.sql("CREATE TEMPORARY VIEW recent AS SELECT * FROM orders WHERE id >= 100")
            _register_functions(session)
            self._sessions[asked] = session
        return self._sessions[asked]

    @contextmanager
    def _active(self, session: SparkSession) -> Iterator[None]:
        """Where Delta did not prepare a scan it lists files while the query runs, by the active session's settings."""
        jvm: Any = self.spark._jvm
        jvm.SparkSession.setActiveSession(session._jsparkSession)
        yield
        jvm.SparkSession.setActiveSession(self.spark._jsparkSession)

    def _tables(self) -> list[Path]:
        return sorted(p for p in self.folder.iterdir() if (p / "_delta_log").is_dir())


def build(spark: SparkSession, folder: Path) -> Lab:
    """Write every table once."""
    rows = spark.range(0, FILES * ROWS, 1, FILES)
    orders = rows.selectExpr(*_columns(_ORDERS))
    _write(orders, folder / "orders")
    _write(orders.coalesce(1), folder / "single")
    _write(
        rows.selectExpr(
            "id",
            "date_add(DATE'2024-01-01', CAST(id DIV 200 AS INT)) AS day",
            "IF(id % 200 < 100, 'eu', 'us') AS region",
        ),
        folder / "sales",
        partitions=["day", "region"],
    )
    _create(
        spark,
        folder / "narrow",
        "id BIGINT, price DECIMAL(10, 2), late BIGINT, late_code STRING",
        {"delta.dataSkippingNumIndexedCols": "2"},
    )
    _write(orders.selectExpr("id", "price", "id AS late", "code AS late_code"), folder / "narrow")
    _create(spark, folder / "mapped", "id BIGINT, code STRING", {"delta.columnMapping.mode": "name"})
    _write(orders.select("id", "code"), folder / "mapped")
    spark.sql(f"ALTER TABLE delta.`{folder / 'mapped'}` RENAME COLUMN code TO label")
    _create(spark, folder / "deleted", "id BIGINT, code STRING", {"delta.enableDeletionVectors": "true"})
    _write(orders.select("id", "code"), folder / "deleted")
    spark.sql(f"DELETE FROM delta.`{folder / 'deleted'}` WHERE id % 10 = 3")
    _generated(spark, orders, folder / "generated")
    _write(
        spark.range(4).selectExpr(
            "date_add(DATE'2024-01-01', CAST(id AS INT)) AS day", "id", "IF(id = 1, 'y', 'n') AS w"
        ),
        folder / "calendar",
    )
    return Lab(spark, folder)


def _columns(text: str) -> list[str]:
    """Split at commas outside parentheses."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _write(frame: DataFrame, path: Path, partitions: list[str] | None = None) -> None:
    frame.write.format("delta").mode("append").partitionBy(*partitions or []).save(str(path))


def _create(spark: SparkSession, path: Path, columns: str, properties: Mapping[str, str]) -> None:
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta TBLPROPERTIES ({listed})")


def _generated(spark: SparkSession, orders: DataFrame, path: Path) -> None:
    from delta.tables import DeltaTable

    builder = DeltaTable.create(spark).location(str(path)).addColumn("id", "BIGINT").addColumn("ts", "TIMESTAMP")
    builder.addColumn("day", "DATE", generatedAlwaysAs="CAST(ts AS DATE)").partitionedBy("day").execute()
    _write(orders.where("id % 24 < 3 AND id < 240").select("id", "ts").coalesce(1), path)


def _register_functions(session: SparkSession) -> None:
    from pyspark.sql.functions import udf

    row_wise = {"is_seven": lambda value: value == 7, "is_new_year": lambda day: (day.month, day.day) == (1, 1)}
    for name, function in row_wise.items():
        session.udf.register(name, udf(function, "boolean", useArrow=False))
