"""Predicted file skipping against Delta's own: the layouts are made on clones, and Delta tells which files it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.table_log import read_table_log
from planopt_assets.delta.table_sample import table_sample
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.maintain.layouts import Layout, layout_of_bins, scales_of, sorted_layout
from planopt_assets.maintain.predicates import AllOf, columns_of, range_test

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MAX_FILE = "spark.databricks.delta.optimize.maxFileSize"
PREDICATES = {
    "point": ("customer = 4711",),
    "band": ("customer >= 10000", "customer < 12000"),
    "day": ("day = '2026-01-05'",),
    "text": ("name LIKE 'c12%'",),
    "both": ("customer < 30000", "day >= '2026-02-20'"),
    "useless": ("status = 'done'",),
    "opaque": ("upper(name) = 'C12'",),
    "either": ("customer = 1 OR customer = 99000",),
}


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60,000 rows in 30 files: days in the order of arrival, customers at random, a status that says nothing."""
    folder = tmp_path_factory.mktemp("skipping") / "source"
    frame = spark.range(0, 60_000, 1, 30).selectExpr(
        "id",
        "cast(pmod(xxhash64(id), 100000) AS int) AS customer",
        "date_add('2026-01-01', cast(id / 1000 AS int)) AS day",
        "concat('c', cast(pmod(xxhash64(id, 1), 1000) AS int)) AS name",
        "if(id % 100 = 0, 'open', 'done') AS status",
    )
    frame.write.format("delta").save(str(folder))
    return folder


def kept_by_delta(spark: SparkSession, table: Path, predicates: tuple[str, ...]) -> int:
    """Files that are left after skipping, as the scan itself says."""
    frame = spark.read.format("delta").load(str(table)).where(" AND ".join(f"({p})" for p in predicates))
    java: Any = frame
    scan = java._jdf.queryExecution().sparkPlan().collectLeaves().head()
    return int(scan.relation().location().preparedScan().scanned().files().get())


def kept_here(layout: Layout, predicates: tuple[str, ...]) -> float:
    return float(layout.ranges.kept(AllOf(tuple(map(range_test, predicates)))).sum()) * layout.scale


def layouts(table: Path, columns: tuple[str, ...], target: int) -> tuple[Layout, Layout]:
    facts = read_table_facts("t", str(table))
    files = read_table_log(facts).files
    asked = tuple(dict.fromkeys(c for ps in PREDICATES.values() for p in ps for c in columns_of(range_test(p))))
    sample = table_sample(LogFiles("t", str(table)).folder, facts, files, asked)
    scales = scales_of(facts, asked, files, sample)
    return layout_of_bins([[f] for f in files], scales), sorted_layout(files, sample, scales, columns, target)


def test_the_files_of_today_are_kept_exactly_as_delta_keeps_them(spark: SparkSession, source: Path) -> None:
    now, _ = layouts(source, ("customer",), 2**20)
    here = {name: kept_here(now, predicates) for name, predicates in PREDICATES.items()}
    assert here == {name: kept_by_delta(spark, source, predicates) for name, predicates in PREDICATES.items()}
    assert here["day"] < 3 < here["point"]


@pytest.mark.parametrize("columns", [("customer",), ("customer", "day")], ids=["one column", "two columns"])
def test_a_sorted_layout_is_predicted_before_anything_is_rewritten(
    spark: SparkSession, source: Path, tmp_path: Path, columns: tuple[str, ...]
) -> None:
    size = sum(f.stat().st_size for f in source.glob("*.parquet"))
    clone, target = tmp_path / "clone", size // 16
    _, predicted = layouts(source, columns, target)
    spark.sql(f"CREATE TABLE delta.`{clone}` SHALLOW CLONE delta.`{source}`")
    before = spark.conf.get(MAX_FILE, None)
    spark.conf.set(MAX_FILE, str(target))
    try:
        spark.sql(f"OPTIMIZE delta.`{clone}` ZORDER BY ({', '.join(columns)})")
    finally:
        if before is None:
            spark.conf.unset(MAX_FILE)
        else:
            spark.conf.set(MAX_FILE, before)
    files = len(read_table_log(read_table_facts("t", str(clone)), most_bytes=0).files)
    for name, predicates in PREDICATES.items():
        share = kept_by_delta(spark, clone, predicates) / files
        told = kept_here(predicted, predicates) / predicted.files
        assert abs(share - told) <= 0.25, (name, share, told)
    assert kept_by_delta(spark, clone, PREDICATES["point"]) <= files / 5
