"""The labelled set: what really happens to each predicate, why, and what a person could do about it.

Written from Delta's and Parquet's rules and from what the runs show; the classifier is measured against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SKIPPING_OFF = {"spark.databricks.delta.stats.skipping": "false"}
PUSHDOWN_OFF = {"spark.sql.parquet.filterPushdown": "false"}
SHUFFLED = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
}
LONG_LIST = ", ".join(str(i) for i in range(201, 214))
FULL, RESIDUAL = "full_pushdown", "expected_residual"
PARTIAL, MISSED, NOTHING = "partial_pushdown", "pushdown_missed", "no_predicate"


@dataclass(frozen=True, slots=True)
class Case:
    """One query; `table` is the scan that is looked at, `predicate` its WHERE unless `sql` says everything."""

    table: str
    predicate: str
    outcome: str
    because: str
    cause: str = ""
    finding: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    sql: str = ""

    @property
    def query(self) -> str:
        return self.sql or f"SELECT id FROM {self.table}" + (f" WHERE {self.predicate}" if self.predicate else "")

    @property
    def name(self) -> str:
        return " ".join([self.table, self.predicate, *(f"{k.rsplit('.', 1)[1]}={v}" for k, v in self.settings.items())])


CASES = (
    # No predicate
    Case("orders", "", NOTHING, "nothing was asked for"),
    Case(
        "orders",
        "LIMIT 3",
        NOTHING,
        "a limit is no predicate; Delta opens one file",
        sql="SELECT id FROM orders LIMIT 3",
    ),
    Case(
        "orders",
        "joined to calendar, bloom filter",
        NOTHING,
        "the filter comes from the join and is tested row by row",
        settings=SHUFFLED,
        sql="SELECT o.code FROM orders o JOIN calendar c ON o.id = c.id WHERE c.w = 'y'",
    ),
    # Comparisons of a column with a value
    Case("orders", "id = 250", FULL, "one file's range holds 250"),
    Case("orders", "id >= 0", FULL, "compared with every file, and every file has such rows"),
    Case("orders", "id BETWEEN 210 AND 240", FULL, "two comparisons on one column"),
    Case("orders", "250 = id", FULL, "the order of the sides does not matter"),
    Case("orders", "NOT (id < 700)", FULL, "Spark turns it into id >= 700"),
    Case("orders", "id != 250", FULL, "Delta skips files that hold nothing but 250; there is none"),
    Case("orders", "mixed = 7", FULL, "compared, but the values lie in most files"),
    Case("orders", "price = 312.5", FULL, "decimals have statistics"),
    Case("orders", "price > 312.505", FULL, "Spark rounds the value to the column's scale"),
    Case("orders", "ratio = 25.0", FULL, "floating point has statistics"),
    Case("orders", "code = 'k0250'", FULL, "strings have statistics"),
    Case(
        "orders", "long_text = concat(repeat('x', 40), '0250')", FULL, "statistics keep 32 characters, all alike here"
    ),
    Case("orders", "day = '2023-07-05'", FULL, "the text becomes a date once"),
    Case("single", "id = 250", FULL, "used, and the only file has the row"),
    # Nulls
    Case("orders", "optional IS NULL", FULL, "statistics count nulls"),
    Case("orders", "optional IS NOT NULL", FULL, "statistics count nulls"),
    Case("orders", "id <=> 250", FULL, "Delta reads it as id IS NOT NULL AND id = 250"),
    Case("orders", "optional <=> NULL", FULL, "the same as IS NULL"),
    # Types: Spark moves the cast to the value where it can
    Case("orders", "id = '250'", FULL, "the text becomes a number once"),
    Case("orders", "number = 250L", FULL, "Spark takes the cast off the column"),
    Case("orders", "number > 249.5D", FULL, "Spark takes the cast off the column"),
    Case("orders", "CAST(id AS STRING) = '250'", MISSED, "the column is cast", "cast", finding=True),
    Case(
        "orders", "digits = 250", MISSED, "a text column is compared with a number, so it is cast", "cast", finding=True
    ),
    Case("single", "CAST(id AS STRING) = '250'", MISSED, "the column is cast; one file leaves nothing to skip", "cast"),
    # Time
    Case("orders", "ts >= '2024-01-30'", FULL, "the text becomes a timestamp in the session's time zone"),
    Case(
        "orders",
        "ts >= '2024-01-30'",
        FULL,
        "the same text five hours later, and one file less",
        settings={"spark.sql.session.timeZone": "America/New_York"},
    ),
    Case("orders", "ts >= DATE'2024-01-30'", FULL, "the date becomes a timestamp in the session's time zone"),
    Case("orders", "day >= TIMESTAMP'2024-08-01 00:00:00'", FULL, "Spark takes the cast off the column"),
    Case("orders", "to_date(ts) = '2024-01-03'", FULL, "Spark makes it a range of timestamps"),
    Case("orders", "CAST(ts AS DATE) >= '2024-01-30'", FULL, "Spark makes it a range of timestamps"),
    Case("orders", "year(day) = 2023", MISSED, "a function of the column", "date_function", finding=True),
    Case(
        "orders",
        "trunc(day, 'MM') = DATE'2023-09-01'",
        MISSED,
        "a function of the column",
        "date_function",
        finding=True,
    ),
    Case("orders", "date_format(ts, 'yyyy-MM-dd') = '2024-01-03'", MISSED, "a function", "date_function", finding=True),
    Case(
        "orders",
        "date_trunc('MONTH', ts) = TIMESTAMP'2024-01-01 00:00:00'",
        MISSED,
        "a function of the column; but most rows match, so nothing is lost",
        "date_function",
    ),
    Case("orders", "month(day) = 9", RESIDUAL, "every year has a September: no range says it", "function"),
    Case(
        "orders",
        "from_utc_timestamp(ts, 'Europe/Vienna') >= TIMESTAMP'2024-01-30 00:00:00'",
        MISSED,
        "the column is moved to another time zone, not the value",
        "time_zone",
        finding=True,
    ),
    # Text patterns
    Case("orders", "code LIKE 'k02%'", FULL, "a prefix is compared with the files' ranges"),
    Case("orders", "code LIKE '%50'", RESIDUAL, "ranges say nothing about how a text ends", "pattern"),
    Case("orders", "code LIKE '%25%'", RESIDUAL, "ranges say nothing about the middle of a text", "pattern"),
    Case("orders", "code LIKE 'k02%9'", RESIDUAL, "the prefix is used, the ending cannot be", "pattern"),
    Case("orders", "code LIKE 'k02_0%'", MISSED, "Spark does not see the prefix of it", "pattern_prefix", finding=True),
    Case("orders", "code RLIKE '^k02'", MISSED, "Spark does not see the prefix of it", "pattern_prefix", finding=True),
    # Functions and arithmetic
    Case("orders", "substring(code, 1, 3) = 'k02'", MISSED, "a prefix as a function", "prefix_function", finding=True),
    Case("orders", "left(code, 3) = 'k02'", MISSED, "a prefix as a function", "prefix_function", finding=True),
    Case("orders", "upper(code) = 'K0250'", RESIDUAL, "several spellings are equal to it", "function"),
    Case("orders", "length(code) = 5", RESIDUAL, "the range of texts says nothing about lengths", "function"),
    Case("orders", "id + 1 = 251", MISSED, "arithmetic on the column", "arithmetic", finding=True),
    Case("orders", "id * 2 = 500", MISSED, "arithmetic on the column", "arithmetic", finding=True),
    Case("orders", "id % 2 = 0", RESIDUAL, "a remainder is no range", "function"),
    Case("orders", "coalesce(optional, 0) = 500", MISSED, "nulls are replaced first", "null_replacement", finding=True),
    Case(
        "orders",
        "CASE WHEN id > 600 THEN 1 ELSE 0 END = 1",
        MISSED,
        "the condition is hidden in a value",
        "condition_as_value",
        finding=True,
    ),
    Case("orders", "is_seven(id)", MISSED, "Python decides, row by row", "udf", finding=True),
    Case("orders", "is_seven(id) AND id < 100", PARTIAL, "Python decides, but another predicate skips", "udf"),
    Case("orders", "rand() < 0.5 AND id < 100", RESIDUAL, "chance cannot be decided for a file", "nondeterministic"),
    Case("orders", "id < mixed", RESIDUAL, "two columns of one row are compared", "column_comparison"),
    # AND, OR, IN
    Case("orders", "id = 5 OR price = 900", FULL, "both sides have statistics"),
    Case("orders", "id = 5 OR id = 250", FULL, "both sides have statistics"),
    Case("orders", "id < 50 OR code LIKE '%99'", RESIDUAL, "one side can be in any file", "or_leg"),
    Case("orders", "id IN (5, 6, 7)", FULL, "the list's range is compared"),
    Case("orders", f"id IN ({LONG_LIST})", FULL, "longer than both thresholds: still the list's range"),
    Case(
        "orders",
        "id IN (5, 795)",
        PARTIAL,
        "only the list's range is compared, and it spans all files",
        "in_list_range",
        True,
    ),
    Case("orders", "id NOT IN (5, 795)", RESIDUAL, "no file holds nothing but the list", "negation"),
    # Columns inside others
    Case("orders", "item.a = 250", FULL, "fields of structs have statistics"),
    Case("orders", "item.b LIKE 'b25%'", FULL, "fields of structs have statistics"),
    Case("orders", "tags[0] = 't250'", RESIDUAL, "elements of arrays have none", "inside_collection"),
    Case("orders", "array_contains(tags, 't250')", RESIDUAL, "elements of arrays have none", "inside_collection"),
    Case("orders", "props['k'] = 'v250'", RESIDUAL, "values of maps have none", "inside_collection"),
    Case("orders", "flag", RESIDUAL, "Delta keeps no range of booleans; Parquet's row groups do", "no_min_max"),
    Case("orders", "NOT flag", RESIDUAL, "Delta keeps no range of booleans; Parquet's row groups do", "no_min_max"),
    # Partition columns
    Case("sales", "day = '2024-01-02'", FULL, "whole partitions"),
    Case("sales", "region = 'eu'", FULL, "whole partitions"),
    Case("sales", "day = '2024-01-02' AND id = 250", FULL, "partitions first, then files"),
    Case("sales", "day IN ('2024-01-02', '2024-01-03')", FULL, "each value is compared"),
    Case("sales", "day IS NULL", FULL, "no such partition"),
    Case("sales", "year(day) = 2023", FULL, "a partition's value is known, so any function of it is"),
    Case("sales", "CAST(day AS STRING) = '2024-01-02'", FULL, "the same with a cast"),
    Case("sales", "region LIKE '%u'", FULL, "the same with a pattern"),
    Case("sales", "is_new_year(day)", MISSED, "Python runs after the files are chosen", "udf", finding=True),
    Case(
        "sales",
        "day = '2024-01-02' OR id = 700",
        MISSED,
        "neither alone can rule a file out",
        "or_with_partition",
        True,
    ),
    Case("sales", "(day = '2024-01-02' AND id = 250) OR (day = '2024-01-03' AND id = 450)", FULL, "each side has both"),
    Case("generated", "ts >= '2024-01-08'", FULL, "Delta derives the partitions from the timestamp"),
    # Sub-queries and joins
    Case(
        "sales",
        "day of the calendar's marked days",
        FULL,
        "the join's other side picks the partitions while it runs",
        sql="SELECT s.id FROM sales s JOIN calendar c USING (day) WHERE c.w = 'y'",
    ),
    Case(
        "sales",
        "day = (SELECT max(day) FROM calendar WHERE w = 'y')",
        FULL,
        "its value picks the partitions before the scan starts",
    ),
    Case(
        "orders",
        "id = (SELECT max(id) + 200 FROM calendar WHERE w = 'y')",
        RESIDUAL,
        "files are chosen before the value is known; Parquet's row groups get it",
        "subquery",
    ),
    Case("orders", "id IN (SELECT id FROM calendar WHERE w = 'y')", RESIDUAL, "it became a join", "join"),
    Case(
        "orders",
        "EXISTS (SELECT 1 FROM calendar c WHERE c.id = orders.id AND w = 'y')",
        RESIDUAL,
        "it became a join",
        "join",
    ),
    # The table
    Case("narrow", "late = 250", MISSED, "statistics end before this column", "no_statistics", finding=True),
    Case("narrow", "late_code = 'k0250'", MISSED, "statistics end before this column", "no_statistics", finding=True),
    Case("narrow", "id = 250 AND late = 250", PARTIAL, "statistics of one column only", "no_statistics"),
    Case("narrow", "id = 250 OR late = 250", MISSED, "one side has no statistics", "or_leg", finding=True),
    Case("mapped", "label = 'k0250'", FULL, "the renamed column keeps its statistics"),
    Case("deleted", "id = 250", FULL, "deleted rows are left out after the scan"),
    Case(
        "orders",
        "id = 250 over a view",
        FULL,
        "the view's own predicate joins the query's",
        sql="SELECT id FROM recent WHERE id = 250",
    ),
    # Settings
    Case("orders", "id = 250", MISSED, "data skipping is off", "skipping_off", True, SKIPPING_OFF),
    Case(
        "sales",
        "day = '2024-01-02' AND id = 250",
        PARTIAL,
        "only partitions are skipped",
        "skipping_off",
        False,
        SKIPPING_OFF,
    ),
    Case("orders", "is_seven(id)", MISSED, "Python decides, with or without skipping", "udf", True, SKIPPING_OFF),
    Case(
        "orders",
        "id = 250",
        PARTIAL,
        "files are skipped, row groups are not",
        "parquet_pushdown_off",
        False,
        PUSHDOWN_OFF,
    ),
    Case("orders", "flag", MISSED, "row groups were all there was", "parquet_pushdown_off", True, PUSHDOWN_OFF),
)
