"""Scans as the JVM knows them: predicates with their places, the funnel, and what the table offers."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from planopt_assets.model.scan import ScanFacts, Size
from planopt_tests.observe.pushdown.lab import Lab, build

pytestmark = pytest.mark.spark

NO_BROADCAST = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
}


@pytest.fixture(scope="module")
def lab(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return build(spark, tmp_path_factory.mktemp("scans"))


def scans(lab: Lab, sql: str, settings: dict[str, str] | None = None) -> list[ScanFacts]:
    return [facts for facts, _ in lab.scans(sql, settings)]


def asked(facts: ScanFacts) -> list[tuple[str, str]]:
    """Predicates the query asked for, with their places."""
    return [(c.place, c.text) for c in facts.conjuncts if not c.inferred]


def files(facts: ScanFacts) -> list[int | None]:
    funnel = facts.funnel
    return [step.files for step in (funnel.total, funnel.partition, funnel.scanned, funnel.read)]


def test_a_scan_has_its_predicates_with_places_and_the_whole_funnel(lab: Lab) -> None:
    (scan,) = scans(lab, "SELECT id FROM sales WHERE day = '2024-01-02' AND id = 250")
    assert (scan.table, scan.version, scan.position) == ("sales", 0, 0)
    assert (scan.file_index, scan.native, scan.columns) == ("PreparedDeltaFileIndex", True, ("id", "day", "region"))
    assert asked(scan) == [("partition", "day = '2024-01-02'"), ("data", "id = 250")]
    assert [c.text for c in scan.conjuncts if c.inferred] == ["day IS NOT NULL", "id IS NOT NULL"]
    assert scan.pushed_filters == ("IsNotNull(id)", "EqualTo(id,250)")
    assert scan.skipping_filters == ("id IS NOT NULL", "id = 250")
    assert files(scan) == [8, 2, 1, 1]
    assert (scan.funnel.total.rows, scan.funnel.read.rows, scan.funnel.matched) == (800, 100, Size(rows=1))
    assert scan.funnel.scanned.bytes == scan.funnel.read.bytes


def test_what_python_or_chance_decides_stays_above_the_scan(lab: Lab) -> None:
    (scan,) = scans(lab, "SELECT id FROM orders WHERE is_seven(id) AND rand() + 1 < 3 AND id < 100")
    assert set(asked(scan)) == {("data", "id < 100"), ("above", "(rand() + 1.0) < 3.0"), ("above", "is_seven(id)")}
    assert scan.funnel.matched.rows == 1


def test_without_data_skipping_the_scan_is_not_prepared_and_still_told_in_full(lab: Lab) -> None:
    off = {"spark.databricks.delta.stats.skipping": "false"}
    (scan,) = scans(lab, "SELECT id FROM sales WHERE day = '2024-01-02' AND is_seven(id) AND id < 250", off)
    assert (scan.file_index, scan.skipping_type) == ("TahoeLogFileIndex", "")
    assert asked(scan) == [("partition", "day = '2024-01-02'"), ("data", "id < 250"), ("above", "is_seven(id)")]
    assert files(scan) == [8, None, None, 2]


def test_dynamic_pruning_reads_less_than_was_planned(lab: Lab) -> None:
    sales, calendar = scans(lab, "SELECT s.id FROM sales s JOIN calendar c USING (day) WHERE c.w = 'y'")
    assert (sales.runtime_filters, files(sales)) == (("dynamic pruning on day",), [8, 8, 8, 2])
    assert asked(calendar) == [("data", "w = 'y'")]
    assert (sales.position, calendar.position) == (0, 1)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_both_sides_of_a_self_join_are_scans_of_their_own(lab: Lab, adaptive: str) -> None:
    sql = "SELECT a.code FROM orders a JOIN orders b ON a.id = b.mixed WHERE a.id < 50 AND b.id > 750"
    first, second = scans(lab, sql, {"spark.sql.adaptive.enabled": adaptive})
    assert asked(first) == [("data", "id < 50")]
    assert asked(second) == [("data", "id > 750"), ("data", "mixed < 50")]
    assert (first.funnel.matched.rows, second.funnel.matched.rows) == (50, 4)


def test_what_adaptive_execution_found_to_be_empty_and_threw_away_has_no_counters(lab: Lab) -> None:
    sql = "SELECT o.id FROM orders o JOIN calendar c ON o.id = c.id WHERE o.id < 300 AND length(c.w) = 7"
    found = {scan.table: scan for scan in scans(lab, sql)}
    assert files(found["orders"]) == [8, 8, 3, None]
    assert files(found["calendar"]) == [2, 2, 2, None]


def test_a_runtime_bloom_filter_is_named_and_no_predicate(lab: Lab) -> None:
    sql = "SELECT o.code FROM orders o JOIN calendar c ON o.id = c.id WHERE c.w = 'y'"
    orders, _ = scans(lab, sql, NO_BROADCAST)
    assert (asked(orders), orders.runtime_filters) == ([], ("bloom filter on id",))
    assert orders.funnel.matched.rows == 1


def test_a_scan_inside_a_scalar_sub_query_is_found_and_its_value_reaches_parquet(lab: Lab) -> None:
    outer, inner = scans(lab, "SELECT code FROM orders WHERE id = (SELECT max(id) + 200 FROM calendar WHERE w = 'y')")
    assert asked(outer) == [("data", "id = (subquery)")]
    assert "EqualTo(id,ScalarSubquery)" in outer.pushed_filters
    assert (inner.table, asked(inner)) == ("calendar", [("data", "w = 'y'")])


def test_an_in_sub_query_became_a_join(lab: Lab) -> None:
    outer, _ = scans(lab, "SELECT code FROM orders WHERE id IN (SELECT id FROM calendar WHERE w = 'y')")
    assert asked(outer) == [("join", "id IN (subquery)")]


def test_under_a_limit_delta_tells_nothing_about_partitions(lab: Lab) -> None:
    (scan,) = scans(lab, "SELECT id FROM orders LIMIT 3")
    assert (files(scan), scan.skipping_type) == ([8, None, 1, 1], "filteredLimit")


def test_rows_that_deletion_vectors_hide_are_not_counted_and_no_filter_of_delta_shows(lab: Lab) -> None:
    (scan,) = scans(lab, "SELECT id FROM deleted WHERE id < 100")
    assert asked(scan) == [("data", "id < 100")]
    assert (scan.funnel.total.rows, scan.funnel.scanned.rows, scan.funnel.matched.rows) == (720, 90, 90)
    assert not [text for text in (*scan.pushed_filters, *scan.columns) if "__delta_internal" in text]


def test_the_facts_are_the_same_in_every_run(lab: Lab) -> None:
    sql = "SELECT id FROM orders WHERE rand() + 1 < 3 AND id = (SELECT max(id) FROM calendar) AND ID IN (1, 3)"
    assert scans(lab, sql) == scans(lab, sql)


def test_a_table_that_is_not_registered_is_not_reported(lab: Lab, spark: SparkSession, tmp_path) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "other"))
    sql = f"SELECT o.id FROM orders o JOIN delta.`{tmp_path / 'other'}` x ON o.id = x.id"
    assert [scan.table for scan in scans(lab, sql)] == ["orders"]


def test_offers_tell_statistics_partitions_and_physical_names(lab: Lab) -> None:
    offered = {
        facts.table: info
        for sql in ("SELECT * FROM narrow", "SELECT * FROM sales", "SELECT * FROM mapped", "SELECT * FROM orders")
        for facts, info in lab.scans(sql)
    }
    assert {c.path: c.statistics for c in offered["narrow"].columns} == {
        "id": "min_max",
        "price": "min_max",
        "late": "none",
        "late_code": "none",
    }
    assert offered["sales"].partition_columns == ("day", "region")
    assert (offered["sales"].files, offered["orders"].version) == (8, 0)
    label = offered["mapped"].column("LABEL")
    assert label is not None
    assert (label.path, label.statistics) == ("label", "min_max")
    assert label.physical.startswith("col-")
    kinds = {c.path: (c.type, c.statistics) for c in offered["orders"].columns}
    assert kinds["item.a"] == ("integer", "min_max")
    assert kinds["flag"] == ("boolean", "null_count")
    assert kinds["price"] == ("decimal(10,2)", "min_max")
