"""Small Delta tables, each with something that makes skipping interesting.

Every file of a table carries a padding of its own size, so that the bytes of a scan tell which files it read, not only
how many.
"""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 50  # of every file
FIRST_DAY = dt.date(2024, 1, 1)

# Every row of file n holds 8 * 2^n random characters: no two sets of files have the same size.
PADDING = (
    "left(array_join(transform(sequence(0, (1 << int(id div 50)) div 8), i -> sha2(concat(id, '/', i), 256)), ''),"
    " 8 << int(id div 50)) AS padding"
)


def padding(file: int) -> list[str]:
    """The same for tables that Spark does not write."""
    draw = random.Random(file)
    return ["".join(draw.choices("0123456789abcdef", k=8 << file)) for _ in range(ROWS)]


def write_all(spark: SparkSession, folder: Path) -> None:
    """All tables, each in a folder of its own name; about half of them by Spark, half by delta-rs."""
    for name, write in {
        "events": _events,
        "by_city": _by_city,
        "deleted": _deleted,
        "renamed": _renamed,
        "generated": _generated,
    }.items():
        write(spark, str(folder / name))
    for name, append in {"by_day": _by_day, "by_bucket": _by_bucket, "growing": _growing}.items():
        for file in range(8):
            append(str(folder / name), file)
    _days(str(folder / "days"))
    _checkpointed(str(folder / "checkpointed"))
    _optimized(str(folder / "optimized"))


def _write(spark: SparkSession, path: str, select: str, *, partition_by: str = "", properties: str = "") -> None:
    """A table of eight files with the rows `id` 0 to 399, fifty in each."""
    partitioned = f"PARTITIONED BY ({partition_by})" if partition_by else ""
    tblproperties = f"TBLPROPERTIES ({properties})" if properties else ""
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta {partitioned} {tblproperties} AS {select} FROM range(0, 400, 1, 8)"
    )


def _events(spark: SparkSession, path: str) -> None:
    """Every type Delta keeps ranges of, and one column beyond those it indexes."""
    _write(
        spark,
        path,
        """SELECT id,
            int(id) - 200 AS signed,
            CAST((id - 200) / 8 AS DECIMAL(10, 3)) AS price,
            CASE WHEN id >= 350 AND id % 7 = 0 THEN double('NaN') ELSE id / 4 END AS ratio,
            concat('name-', lpad(id, 3, '0')) AS name,
            concat(repeat('x', 31), lpad(id, 3, '0')) AS long_name,
            CASE WHEN id BETWEEN 100 AND 149 THEN NULL WHEN id >= 200 AND id % 3 = 0 THEN NULL ELSE int(id) END AS part,
            id < 100 AS flag,
            timestamp_micros(1704067200000000 + id * 3600000000 + 700) AS at,
            CAST(timestamp_micros(1704067200000000 + id * 3600000000 + 700) AS TIMESTAMP_NTZ) AS local,
            date_add(DATE '2024-01-01', int(id div 20)) AS day,
            named_struct('depth', int(id), 'inner', named_struct('x', id * 10)) AS nested,
            id AS hidden, """
        + PADDING,
        properties="'delta.dataSkippingNumIndexedCols' = '13'",
    )


def _by_city(spark: SparkSession, path: str) -> None:
    """A partition column of texts that must be escaped in paths, and NULL; seven and eight share a value."""
    cities = "'a b', 'x=y/z', 'Zürich%20', 'it''s', NULL, 'A B', 'c:d', 'c:d'"
    _write(
        spark,
        path,
        f"SELECT id, element_at(array({cities}), int(id div 50) + 1) AS city, {PADDING}",
        partition_by="city",
    )


def _deleted(spark: SparkSession, path: str) -> None:
    """Deletion vectors: the top half of one file, all NULLs of another, and one file whole."""
    _write(
        spark,
        path,
        f"SELECT id, CASE WHEN id BETWEEN 100 AND 110 THEN NULL ELSE id END AS part, {PADDING}",
        properties="'delta.enableDeletionVectors' = 'true'",
    )
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id BETWEEN 75 AND 110 OR id BETWEEN 300 AND 349")


def _renamed(spark: SparkSession, path: str) -> None:
    """Column mapping by name: a data and a partition column renamed, one column added later."""
    _write(
        spark,
        path,
        f"SELECT id AS old_id, int(id div 100) AS old_part, {PADDING}",
        partition_by="old_part",
        properties="'delta.columnMapping.mode' = 'name'",
    )
    for change in (
        "RENAME COLUMN old_id TO id",
        "RENAME COLUMN old_part TO part",
        "ADD COLUMN extra BIGINT",
    ):
        spark.sql(f"ALTER TABLE delta.`{path}` {change}")
    spark.sql(f"INSERT INTO delta.`{path}` SELECT id, 4, {PADDING}, id * 2 FROM range(400, 450, 1, 1)")


def _generated(spark: SparkSession, path: str) -> None:
    """A partition column generated from a timestamp, of which itself no statistics are kept."""
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, at TIMESTAMP, padding STRING,"
        " day DATE GENERATED ALWAYS AS (CAST(at AS DATE))) USING delta PARTITIONED BY (day)"
        " TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '1')"
    )
    spark.sql(
        f"INSERT INTO delta.`{path}` (id, at, padding) SELECT id, timestamp_seconds(1704067200 + id div 50 * 86400"
        f" + id % 50 * 60), {PADDING} FROM range(0, 400, 1, 8)"
    )


def _append(path: str, file: int, columns: dict[str, pa.Array], partition_by: list[str] | None = None) -> None:
    from deltalake import write_deltalake

    ids = pa.array(range(file * ROWS, (file + 1) * ROWS), pa.int64())
    data = pa.table({"id": ids, **columns, "padding": pa.array(padding(file), pa.string())})
    write_deltalake(path, data, mode="append", partition_by=partition_by)


def _by_day(path: str, file: int) -> None:
    """Two files for each of four days."""
    day = FIRST_DAY + dt.timedelta(days=file // 2)
    _append(path, file, {"day": pa.array([day] * ROWS, pa.date32())}, ["day"])


def _by_bucket(path: str, file: int) -> None:
    """Numbers whose order as texts differs: 10 before 2."""
    bucket = [-1, 0, 1, 2, 9, 10, 11, None][file]
    _append(path, file, {"bucket": pa.array([bucket] * ROWS, pa.int32())}, ["bucket"])


def _growing(path: str, file: int) -> None:
    """One file a commit, the way small appends leave a table."""
    twice = pa.array(range(file * 100, file * 100 + 100, 2), pa.int64())
    _append(path, file, {"twice": twice, "late": pa.array([file > 3] * ROWS)})


def grow(folder: Path) -> None:
    """One commit more on `growing`, after its version was pinned."""
    _growing(str(folder / "growing"), 8)


def _days(path: str) -> None:
    """What `by_day` is joined with: two of its days are holidays."""
    from deltalake import write_deltalake

    days = [FIRST_DAY + dt.timedelta(days=n) for n in range(4)]
    data = {"day": pa.array(days, pa.date32()), "holiday": pa.array([True, False, True, False])}
    write_deltalake(path, pa.table({**data, "kind": pa.array(["new year", "work", "bank", "work"])}))


def _checkpointed(path: str) -> None:
    """Five commits in a checkpoint whose own files are gone, three after it, and one of the first files removed."""
    from deltalake import DeltaTable

    for file in range(5):
        _growing(path, file)
    DeltaTable(path).delete("id < 50")
    DeltaTable(path).create_checkpoint()
    for commit in range(5):
        (Path(path) / "_delta_log" / f"{commit:020d}.json").unlink()
    for file in range(5, 8):
        _growing(path, file)


def _optimized(path: str) -> None:
    """Four files made into one, then four more: the first four are still in the log, and on disk."""
    from deltalake import DeltaTable

    for file in range(4):
        _growing(path, file)
    DeltaTable(path).optimize.compact()
    for file in range(4, 8):
        _growing(path, file)
