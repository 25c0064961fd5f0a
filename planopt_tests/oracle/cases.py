"""Tables and predicates, each predicate written twice: in SQL for Spark, and as ranges for the oracle."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from planopt_tests.oracle.skipping import ANYTHING, Col, Predicate


@dataclass(frozen=True, slots=True)
class Difference:
    """What Delta goes by instead of the ranges, and why: `weaker` reads more files, `stronger` fewer."""

    direction: Literal["weaker", "stronger"]
    predicate: Predicate
    why: str


@dataclass(frozen=True, slots=True)
class Case:
    """One scan of one table; `ranges` is the predicate as the log alone can answer it."""

    table: str
    where: str
    ranges: Predicate
    delta: Difference | None = None

    @property
    def id(self) -> str:
        return f"{self.table}: {self.where if len(self.where) < 70 else self.where[:70] + '…'}"

    @property
    def sql(self) -> str:
        return f"SELECT id FROM {self.table} WHERE {self.where}"

    @property
    def read(self) -> Predicate:
        return self.delta.predicate if self.delta else self.ranges


def all_files(why: str) -> Difference:
    return Difference("weaker", ANYTHING, why)


def moment(day_of_january: int, hour: int, micros: int = 0) -> dt.datetime:
    return dt.datetime(2024, 1, day_of_january, hour, 0, 0, micros, tzinfo=dt.UTC)


def january(day_of_january: int) -> dt.date:
    return dt.date(2024, 1, day_of_january)


id_, signed, price, ratio, part = Col("id"), Col("signed"), Col("price"), Col("ratio"), Col("part")
name, long_name, flag, late = Col("name"), Col("long_name"), Col("flag"), Col("late")
at, local, day, hidden = Col("at"), Col("local"), Col("day"), Col("hidden")
x, city, bucket, extra = Col("nested.inner.x"), Col("city"), Col("bucket"), Col("extra")

MILLISECOND = pa.scalar(1000, pa.duration("us"))
X31 = "x" * 31
EVEN = tuple(range(0, 80, 2))
NOT_BARE = "ranges are of the bare column; what Delta cannot take apart, here a function of it, keeps every file"
CUT = "the log cuts times to milliseconds, so Delta takes every upper end to be one millisecond later"
IN_LIST = "of an IN list Delta compares the smallest and the largest value only"

NUMBERS = (
    Case("events", "id = 17", id_ == 17),
    Case("events", "349 < id", id_ > 349),
    Case("events", "id >= 0", id_ >= 0),
    Case("events", "id = 1000", id_ == 1000),
    Case("events", "id BETWEEN 90 AND 160", id_.between(90, 160)),
    Case("events", "NOT (id < 100 OR id > 320)", ~((id_ < 100) | (id_ > 320))),
    Case("events", "id IN (10, 170)", id_.one_of(10, 170), Difference("weaker", id_.between(10, 170), IN_LIST)),
    Case("events", f"id IN {EVEN}", id_.one_of(*EVEN)),
    Case("events", f"id IN {(*EVEN, 390)}", id_.one_of(*EVEN, 390), all_files(IN_LIST)),
    Case("events", "id = 17 OR id = 390", (id_ == 17) | (id_ == 390)),
    Case("events", "id < 60 OR price > 20", (id_ < 60) | (price > Decimal(20))),
    Case("events", "id = 17 OR length(name) = 3", (id_ == 17) | ANYTHING),
    Case("events", "id < 100 AND length(name) = 8", (id_ < 100) & ANYTHING),
    Case("events", "signed < -100", signed < -100),
    Case("events", "price > 6.125", price > Decimal("6.125")),
    Case("events", "ratio < 12.5D", ratio < 12.5),
    Case("events", "ratio > 1000D", ratio > 1000.0),  # NaN is above every number
    Case("events", "abs(signed) < 10", signed.between(-9, 9), all_files(NOT_BARE)),
    Case("events", "id = '17'", id_ == 17),
    Case("events", "id < 17.5", id_ < Decimal("17.5")),
    Case("events", "CAST(signed AS BIGINT) = 17", signed == 17),
    Case("events", "CAST(id AS INT) = 17", id_ == 17, all_files("Spark only moves casts that can lose nothing")),
)
NULLS = (
    Case("events", "part IS NULL", part.is_null()),
    Case("events", "part IS NOT NULL", ~part.is_null()),
    Case("events", "part != 120", part != 120),  # not the file that holds nothing but NULL
    Case("events", "id <=> 17", id_ == 17),
    Case("events", "NOT (part <=> 17)", (part != 17) | part.is_null()),
    Case("events", "flag", flag == pa.scalar(True)),  # of booleans Spark keeps no range
    Case("events", "flag IS NULL", flag.is_null()),  # but it counts their NULLs
    Case("growing", "late", late == pa.scalar(True), all_files("delta-rs keeps ranges of booleans, Spark uses none")),
    Case("events", "hidden = 17 AND id < 100", (hidden == 17) & (id_ < 100)),
    Case("events", "nested.inner.x > 3490", x > 3490),
)
TEXTS_AND_TIMES = (
    Case("events", "name LIKE 'name-1%'", name.starts_with("name-1")),
    Case("events", "name NOT LIKE 'name-0%'", ~name.starts_with("name-0"), all_files("Delta negates no prefix")),
    Case("events", "name LIKE '%-120'", ANYTHING),
    Case("events", f"long_name = '{X31}010'", long_name == f"{X31}010"),  # two files: the log keeps 32 characters
    Case("events", "day = '2024-01-05'", day == january(5)),
    Case("events", "year(day) = 2023", day < january(1), all_files(NOT_BARE)),
    Case("events", "at < TIMESTAMP '2024-01-03 02:00:00'", at < moment(3, 2)),
    Case(
        "events",
        "at > TIMESTAMP '2024-01-15 13:00:00.0005'",
        at > moment(15, 13, 500),
        Difference("weaker", Col("at", MILLISECOND) > moment(15, 13, 500), CUT),
    ),
    Case("events", "at > TIMESTAMP '2024-01-15 13:00:00.001'", at > moment(15, 13, 1000)),
    Case(
        "events",
        "local > TIMESTAMP_NTZ '2024-01-15 13:00:00.0005'",
        local > moment(15, 13, 500).replace(tzinfo=None),
        Difference("weaker", Col("local", MILLISECOND) > moment(15, 13, 500).replace(tzinfo=None), CUT),
    ),
    Case("events", "CAST(at AS DATE) = DATE '2024-01-05'", (at >= moment(5, 0)) & (at < moment(6, 0))),
)
PARTITIONS = (
    Case("by_day", "day = '2024-01-02'", day == january(2)),
    Case("by_day", "day > DATE '2024-01-02' AND id < 220", (day > january(2)) & (id_ < 220)),
    Case("by_day", "dayofmonth(day) = 3", day.exactly(lambda days: pc.equal(pc.day(days), 3))),
    Case("by_day", "id = 120", id_ == 120),
    Case(
        "by_day",
        "day = DATE '2024-01-02' OR id = 399",
        (day == january(2)) | (id_ == 399),
        all_files("an OR over a partition and another column is neither filter, and Delta uses no part of it"),
    ),
    Case("by_city", "city = 'x=y/z'", city == "x=y/z"),
    Case("by_city", "city LIKE '%20'", city.exactly(lambda cities: pc.ends_with(cities, "20"))),
    Case("by_city", "city = 'it''s' OR city IS NULL", (city == "it's") | city.is_null()),
    Case("by_city", "city <=> NULL AND id > 10", city.is_null() & (id_ > 10)),
    Case("by_city", "city != 'c:d'", city != "c:d"),
    Case("by_bucket", "bucket > 2", bucket > 2),  # 10 too, whose text is smaller
    Case("by_bucket", "bucket NOT IN (0, 1)", ~bucket.one_of(0, 1)),
    Case("by_bucket", "bucket * 50 = id", ~bucket.is_null() & ~id_.is_null()),
    Case(
        "generated",
        "at >= TIMESTAMP '2024-01-05 12:00:00'",
        at >= moment(5, 12),
        Difference("stronger", day >= january(5), "the log has no range of it, but Delta knows how the day is made"),
    ),
)
FEATURES = (
    Case("deleted", "id = 80", id_ == 80),  # one file: the range stays that of all rows, also deleted ones
    Case("deleted", "id = 320", id_ == 320),  # none: a file without rows left is removed
    Case("deleted", "part IS NULL", part.is_null()),  # one file, whose NULLs are all deleted
    Case("deleted", "id >= 0", id_ >= 0),
    Case("renamed", "id = 120", id_ == 120),
    Case("renamed", "part >= 2 AND id < 260", (part >= 2) & (id_ < 260)),
    Case("renamed", "extra < 0", extra < 0),  # files from before the column have no range of it
    Case("checkpointed", "id < 220", id_ < 220),
    Case("checkpointed", "id < 40", id_ < 40),  # was in a file that the checkpoint no longer has
    Case("optimized", "id BETWEEN 120 AND 260", id_.between(120, 260)),
)
CASES = NUMBERS + NULLS + TEXTS_AND_TIMES + PARTITIONS + FEATURES
