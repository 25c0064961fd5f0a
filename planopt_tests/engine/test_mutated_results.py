"""Over drawn schemas of every Spark type: any single change of a result is found, and equal results are equal."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from planopt_assets.engine.results.compare import difference
from planopt_assets.engine.results.digest import digest_metrics, digest_of
from planopt_assets.errors import ResultIncomparable
from planopt_assets.validate.equality import compare
from planopt_tests.engine.drawn_results import Type, Value, drawn_types, drawn_value, mutations, sql, the_same

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.model.trial import Digest

pytestmark = pytest.mark.spark

ROWS = 4
CHANGED = 120  # results with one change, per schema
ONE_BY_ONE = 4  # of those that digests leave open, compared row by row
Rows = list[tuple[Value, ...]]


class Drawn:
    """One schema, one result, and many others of it, as one frame: `result` says which rows belong together."""

    def __init__(self, spark: SparkSession, seed: int) -> None:
        random = Random(seed)
        self.types = drawn_types(random)
        self.rows: Rows = [tuple(drawn_value(random, kind) for kind in self.types) for _ in range(ROWS)]
        changes = [*_changed_cells(random, self.types, self.rows), *_changed_rows(random, self.types, self.rows)]
        self.changed = random.sample(changes, min(CHANGED, len(changes)))
        equal = [tuple(the_same(kind, v) for kind, v in zip(self.types, row, strict=True)) for row in self.rows]
        self.equal: list[Rows] = [self.rows[::-1], equal, random.sample(equal, ROWS)]
        # Kept: whoever asks for one result would have thousands of literals planned and evaluated again.
        self.frame = self._frame(spark, [self.rows, *self.equal, *self.changed]).localCheckpoint()
        self.schema = self.frame.drop("result").schema
        found = self.frame.groupBy("result").agg(*digest_metrics(self.schema)).collect()
        self.digests: dict[int, Digest] = {row["result"]: digest_of(row.asDict(), self.schema) for row in found}

    def _frame(self, spark: SparkSession, results: list[Rows]) -> DataFrame:
        """Every value is written once, in an array per column; the rows say which one they have."""
        texts = [[sql(kind, row[i]) for rows in results for row in rows] for i, kind in enumerate(self.types)]
        known = [{text: place for place, text in enumerate(dict.fromkeys(column), start=1)} for column in texts]
        numbers = [number for number, rows in enumerate(results) for _ in rows]
        places = zip(*[[at[text] for text in column] for at, column in zip(known, texts, strict=True)], strict=True)
        names = [f"c{i}" for i in range(len(texts))]
        index = spark.createDataFrame(
            [(number, *row) for number, row in zip(numbers, places, strict=True)],
            ", ".join(f"{name} int" for name in ("result", *names)),
        )
        arrays = ", ".join(f"array({', '.join(values)}) AS v{i}" for i, values in enumerate(known))
        taken = [F.element_at(f"v{i}", F.col(name)).alias(name) for i, name in enumerate(names)]
        return index.crossJoin(spark.sql(f"SELECT {arrays}")).select("result", *taken)

    def result(self, number: int) -> DataFrame:
        return self.frame.filter(self.frame.result == number).drop("result")

    def words(self, number: int) -> str:
        rows = self.changed[number - 1 - len(self.equal)]
        return f"{[t.text for t in self.types]}\n{self.rows}\n{rows}"


def _changed_cells(random: Random, types: list[Type], rows: Rows) -> list[Rows]:
    """One cell of one row is another value."""
    found: list[Rows] = []
    for column, kind in enumerate(types):
        for number, row in enumerate(rows):
            others = list(mutations(kind, row[column]))
            found += [
                [*rows[:number], (*row[:column], other, *row[column + 1 :]), *rows[number + 1 :]]
                for other in random.sample(others, min(2, len(others)))
            ]
    return found


def _changed_rows(random: Random, types: list[Type], rows: Rows) -> list[Rows]:
    """A row less, a row twice, a row instead of another, and two rows that exchange one value."""
    found: list[Rows] = [rows[1:], [*rows, rows[0]], [rows[0], rows[0], *rows[2:]]]
    for column in range(len(types)):
        first, second, *rest = rows
        if repr(first[column]) != repr(second[column]):
            swapped = [(*a[:column], b[column], *a[column + 1 :]) for a, b in ((first, second), (second, first))]
            found.append([*swapped, *rest])
    return found


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.sql.preserveCharVarcharTypeInfo", "true")
    own.conf.set("spark.sql.timeType.enabled", "true")
    return own


@settings(max_examples=5, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_every_single_change_is_found_and_nothing_else(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    drawn = Drawn(session, seed)
    expected = drawn.digests[0]
    equal = range(1, 1 + len(drawn.equal))
    alarms = [
        compare(expected, drawn.digests[n]) for n in equal if compare(expected, drawn.digests[n])[0] == "different"
    ]
    assert alarms == []
    open_ones = []
    for number in range(1 + len(drawn.equal), len(drawn.digests)):
        found, _ = compare(expected, drawn.digests[number])
        assert found != "same", drawn.words(number)
        if found != "different":
            open_ones.append(number)
    scratch = tmp_path_factory.mktemp("scratch")
    for number in open_ones[:ONE_BY_ONE]:
        assert _difference(session, drawn, number, scratch) != "", drawn.words(number)
    assert _difference(session, drawn, equal[-1], scratch) == ""


def _difference(spark: SparkSession, drawn: Drawn, number: int, scratch: Path) -> str:
    return difference(
        spark, lambda: drawn.result(0), lambda: drawn.result(number).repartition(3), str(scratch / str(number))
    )


def digests(*frames: DataFrame) -> list[Digest]:
    return [digest_of(f.agg(*digest_metrics(f.schema)).head().asDict(), f.schema) for f in frames]


def test_sums_in_another_order_are_equal_at_any_depth(session: SparkSession, tmp_path: Path) -> None:
    """Terms of either sign and of sizes from 1 to 10^6: partial sums depend on who adds them up."""
    size = (F.hash("id") % 1000) * F.pow(10, F.col("id") % 4) / 7
    numbers = session.range(20_000).select((F.col("id") % 40).alias("k"), size.alias("x"))

    def sums(partitions: int) -> DataFrame:
        total, mean = F.sum("x"), F.avg("x")
        nested = F.struct(F.array(total, mean).alias("a"), F.map_from_arrays(F.array("k"), F.array(mean)).alias("m"))
        grouped = numbers.repartition(partitions, F.hash("x")).groupBy("k")
        return grouped.agg(total.alias("t"), nested.alias("n"), total.cast("float").alias("f"))

    one, many = sums(1), sums(7)
    left, right = digests(one, many)
    assert left.bits != right.bits, "sums that do not differ prove nothing"
    assert compare(left, right)[0] == "same_within_tolerance"
    assert difference(session, lambda: one, lambda: many, str(tmp_path / "scratch")) == ""


def test_user_defined_types_are_compared_as_they_are_stored(session: SparkSession) -> None:
    vectors = [(Vectors.dense([1.0, 2.0]),), (Vectors.dense([2.0, 1.0]),), (Vectors.dense([1.0, float("nan")]),)]
    frames = [session.createDataFrame([vector], ["v"]) for vector in vectors]
    base, moved, special = digests(*frames)
    assert base.columns.startswith("v pyspark.ml.linalg.VectorUDT<struct<")
    assert compare(base, base) == ("same", "")
    assert len({base.bits, moved.bits, special.bits}) == 3
    assert compare(base, special)[0] == "different"


def test_a_type_that_nobody_knows_is_refused(session: SparkSession) -> None:
    class Unheard(DataType):
        pass

    with pytest.raises(ResultIncomparable, match="PLN-217"):
        digest_metrics(StructType([StructField("u", Unheard())]))
