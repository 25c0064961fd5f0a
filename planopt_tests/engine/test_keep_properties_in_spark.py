"""What Delta does with the properties that keep a layout: the evidence for them and their effect, on real tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from planopt_assets.delta.live_files import recent_commits
from planopt_assets.delta.log_files import LogFiles
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.rewriting import rewrite
from planopt_assets.engine.delta.undoing import put_back
from planopt_assets.maintain.permission import protocol_with
from planopt_assets.maintain.writes import Writes, writes
from planopt_assets.model.data_file import Commit
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.table_properties import AUTO_COMPACT, DELETION_VECTORS, OPTIMIZE_WRITE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ON = ((DELETION_VECTORS, "true"),)


def commits(table: Path) -> list[Commit]:
    log = LogFiles("t", str(table))
    return list(recent_commits(log, log.newest()))


def switch_on(spark: SparkSession, table: Path, properties: tuple[tuple[str, str], ...]) -> None:
    facts = read_table_facts("t", str(table))
    made = LayoutProposal("t", facts.table_id, facts.version, "properties", properties=properties)
    rewrite(spark, str(table), made, "mnt-1")


# Auto compaction


def fed(spark: SparkSession, table: Path, *appends: int, partitions: int = 1, **properties: str) -> list[Commit]:
    """Appends of so many files, each evenly to the partitions, into a new table with these properties."""
    for number, files in enumerate(appends):
        rows = spark.range(0, 10 * files, 1, files).selectExpr("id", f"id * {partitions} div {10 * files} AS part")
        if number == 0:
            rows.limit(0).write.format("delta").partitionBy("part").save(str(table))
            switch_on(spark, table, ((AUTO_COMPACT, "true"), *properties.items()))
        rows.write.format("delta").mode("append").save(str(table))
    return [c for c in commits(table) if c.added_files]


@pytest.mark.parametrize(("files", "partitions"), [(49, 1), (60, 2)], ids=["49", "30 + 30"])
def test_the_first_write_of_a_process_is_compacted_whatever_it_leaves(
    spark, tmp_path: Path, files: int, partitions: int
) -> None:
    """So the log alone does not tell whether auto compaction acts on appends of fewer than 50 files."""
    found = fed(spark, tmp_path / "t", files, partitions=partitions)
    assert [c.operation for c in found] == ["WRITE", "OPTIMIZE"]
    told = writes(found)
    assert (told.appends, told.compactable, told.most_small_files) == (1, 0, files // partitions)


def test_later_writes_are_compacted_from_50_small_files_on(spark, tmp_path: Path) -> None:
    found = fed(spark, tmp_path / "t", 2, 40, 50)
    assert [c.operation for c in found] == ["WRITE", "OPTIMIZE", "WRITE", "WRITE", "OPTIMIZE"]
    assert found[-1].removed_files == 1 + 40 + 50  # those of earlier writes too
    told = writes(found)
    assert (told.appends, told.compactable, told.most_small_files) == (3, 1, 50)


def test_optimized_writes_leave_one_file_which_nobody_has_to_merge(spark, tmp_path: Path) -> None:
    found = fed(spark, tmp_path / "t", 60, **{OPTIMIZE_WRITE: "true"})
    assert [(c.operation, c.added_files) for c in found] == [("WRITE", 1)]


# Deletion vectors


def changed(spark: SparkSession, table: Path) -> None:
    """One row deleted, one updated, one merged, in a table of 1,000 rows in one file."""
    from delta.tables import DeltaTable

    spark.range(0, 1000, 1, 1).write.format("delta").mode("append").save(str(table))
    found = DeltaTable.forPath(spark, str(table))
    found.delete("id = 3")
    found.update("id = 4", {"id": "id + 5000"})
    merge = found.alias("t").merge(spark.range(5, 6).alias("s"), "t.id = s.id")
    merge.whenMatchedUpdate(set={"id": "s.id + 7000"}).execute()


def test_the_log_tells_how_many_rows_were_only_copied_and_vectors_end_that(spark, tmp_path: Path) -> None:
    table = tmp_path / "t"
    changed(spark, table)
    _, *found = commits(table)
    changes = [c.row_change for c in found if c.row_change is not None]
    assert [(c.operation, r.changed_rows, r.copied_rows) for c, r in zip(found, changes, strict=True)] == [
        ("DELETE", 1, 999),
        ("UPDATE", 1, 998),
        ("MERGE", 1, 998),
    ]
    assert all(0 < r.copied_bytes <= c.added_bytes for c, r in zip(found, changes, strict=True))
    switch_on(spark, table, ON)
    before = len(commits(table))
    changed(spark, table)
    told = writes(commits(table)[before:])
    assert (told.row_changes, told.copied_rows, told.copied_bytes) == (3, 0, 0)
    assert told != Writes()


TABLES: dict[str, Callable[[SparkSession, str], object]] = {
    "plain": lambda spark, t: spark.range(5).write.format("delta").save(t),
    "column_mapping": lambda spark, t: spark.sql(
        f"CREATE TABLE delta.`{t}` (id BIGINT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    ),
    "clustered": lambda spark, t: spark.sql(f"CREATE TABLE delta.`{t}` (id BIGINT) USING delta CLUSTER BY (id)"),
    "checked": lambda spark, t: spark.sql(
        f"CREATE TABLE delta.`{t}` (id BIGINT) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_protocol_that_vectors_bring_is_the_one_that_was_foretold(spark, tmp_path: Path, kind: str) -> None:
    table = tmp_path / "t"
    TABLES[kind](spark, str(table))
    foretold = protocol_with(read_table_facts("t", str(table)).protocol, ON)
    switch_on(spark, table, ON)
    assert read_table_facts("t", str(table)).protocol == foretold
    put_back(spark, "t", str(table), properties={DELETION_VECTORS: None}, action_id="mnt-2")
    after = read_table_facts("t", str(table))
    assert (after.protocol, after.property(DELETION_VECTORS)) == (foretold, None)  # the protocol stays


@pytest.mark.parametrize("name", [OPTIMIZE_WRITE, AUTO_COMPACT])
def test_the_other_properties_leave_the_protocol_as_it_is(spark, tmp_path: Path, name: str) -> None:
    table = tmp_path / "t"
    TABLES["plain"](spark, str(table))
    before = read_table_facts("t", str(table)).protocol
    switch_on(spark, table, ((name, "true"),))
    assert read_table_facts("t", str(table)).protocol == before == protocol_with(before, ((name, "true"),))
