"""Three small Delta tables with every kind of column, for tests that look at names and columns."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOP_SCHEMAS: dict[str, list[tuple[str, str]]] = {
    "sales": [
        *(("id", "bigint"), ("shop", "bigint"), ("amount", "decimal(10,2)"), ("note", "string"), ("day", "date")),
        *(("tags", "array<string>"), ("attrs", "map<string,string>")),
        ("address", "struct<city:string,geo:struct<lat:int,lon:int>>"),
    ],
    "shops": [("shop", "bigint"), ("city", "string"), ("region", "bigint")],
    "regions": [("region", "bigint"), ("name", "string"), ("Boss name", "string")],
}


def write_shop_tables(folder: Path) -> dict[str, Path]:
    """Write the tables without Spark; returns where each of them is."""
    from deltalake import write_deltalake

    paths = {name: folder / name for name in SHOP_SCHEMAS}
    for name, rows in _rows().items():
        write_deltalake(paths[name], rows)
    return paths


def shop_session(spark: SparkSession, folder: Path) -> SparkSession:
    """A session of its own in which the tables are views, as planopt registers them."""
    session = spark.newSession()
    for name, path in write_shop_tables(folder).items():
        session.read.format("delta").option("versionAsOf", 0).load(str(path)).createOrReplaceTempView(name)
    return session


def _rows() -> dict[str, pa.Table]:
    ids = range(60)
    geo = pa.struct([("lat", pa.int32()), ("lon", pa.int32())])
    sales = {
        "id": pa.array(ids, pa.int64()),
        "shop": pa.array([i % 7 for i in ids], pa.int64()),
        "amount": pa.array([Decimal(i * 37 % 1000) / 4 for i in ids], pa.decimal128(10, 2)),
        "note": pa.array([None if i % 5 == 0 else f"n{i % 4}" for i in ids]),
        "day": pa.array([date(2024, 1, 1) + timedelta(days=i % 40) for i in ids]),
        "tags": pa.array([[f"a{i % 3}", f"b{i % 2}"][: i % 3] for i in ids], pa.list_(pa.string())),
        "attrs": pa.array([[("k", f"v{i % 3}"), ("K", "other")] for i in ids], pa.map_(pa.string(), pa.string())),
        "address": pa.array(
            [{"city": f"c{i % 4}", "geo": {"lat": i % 9, "lon": i % 5}} for i in ids],
            pa.struct([("city", pa.string()), ("geo", geo)]),
        ),
    }
    shops = {
        "shop": pa.array(range(6), pa.int64()),
        "city": pa.array([f"c{i % 4}" for i in range(6)]),
        "region": pa.array([i % 3 for i in range(6)], pa.int64()),
    }
    regions = {
        "region": pa.array(range(3), pa.int64()),
        "name": pa.array(["north", "south", "west"]),
        "Boss name": pa.array(["Ann", None, "Bob"]),
    }
    return {"sales": pa.table(sales), "shops": pa.table(shops), "regions": pa.table(regions)}
