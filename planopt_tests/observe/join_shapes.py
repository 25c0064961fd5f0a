"""Queries whose joins must be found again, from the physical plan that ran to the plan their author wrote.

`joins/` holds what Spark made of them; again after a change of Spark or of the queries:
`python -m planopt_tests.observe.record_joins`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.sessions.session import FIRST_EXPRESSION_ID
from planopt_assets.model.plan import Estimate, Operator, Plan
from planopt_assets.observe.plans.normalise import normalise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOINS = Path(__file__).parent / "joins"
DATA = "/data"  # stands in for the folder the tables were in
TABLES = {f"{DATA}/{name}": name for name in ("sales", "shops", "visits")}
SHUFFLED = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
SWITCHED = SHUFFLED | {"spark.sql.adaptive.autoBroadcastJoinThreshold": "10m"}
"""Planned with a shuffle, and turned into a broadcast once the sizes are known."""


def _frame(spark: SparkSession) -> DataFrame:
    sales = spark.table("sales").filter("amount > 3")
    return sales.join(spark.table("shops").alias("p"), "shop").groupBy("city").count()


@dataclass(frozen=True)
class JoinShape:
    name: str
    query: str | Callable[[SparkSession], DataFrame]
    settings: dict[str, str] = field(default_factory=lambda: SHUFFLED)


SHAPES = (
    JoinShape(
        "switched",
        "SELECT c.city, count(*) AS n FROM sales s JOIN shops c ON s.shop = c.shop GROUP BY c.city",
        SWITCHED,
    ),
    JoinShape("three", "SELECT * FROM sales s JOIN shops p ON s.shop = p.shop JOIN visits v ON v.day = p.shop"),
    JoinShape(
        "reordered", "SELECT count(*) FROM sales s, visits v, shops p WHERE s.shop = p.shop AND p.shop = v.visitors"
    ),
    JoinShape(
        "semi",
        "SELECT * FROM sales s JOIN shops p ON s.shop = p.shop "
        "WHERE s.shop IN (SELECT shop FROM shops WHERE city = 'c1')",
    ),
    JoinShape(
        "grouped",
        "SELECT * FROM (SELECT shop, sum(amount) AS total FROM sales GROUP BY shop) t JOIN visits v "
        "ON t.shop = v.visitors",
    ),
    JoinShape(
        "cte_twice",
        "WITH t AS (SELECT shop, sum(amount) s FROM sales GROUP BY shop) "
        "SELECT * FROM t a JOIN t b ON a.shop = b.shop AND a.s > b.s",
    ),
    JoinShape(
        "cte_once",
        "WITH t AS (SELECT p.shop, id FROM sales s JOIN shops p ON s.shop = p.shop) "
        "SELECT * FROM t JOIN visits v ON v.visitors = t.id",
    ),
    JoinShape("frame", _frame),
    JoinShape("unequal", "SELECT * FROM sales a LEFT JOIN shops b ON a.shop > b.shop", {}),
    JoinShape(
        "nested",
        "SELECT * FROM sales s JOIN shops p ON s.shop = p.shop WHERE s.amount < "
        "(SELECT avg(visitors) FROM visits v JOIN shops q ON v.shop = q.shop)",
    ),
    JoinShape("self", "SELECT a.id, b.note FROM sales a JOIN sales b ON a.id = b.id"),
    JoinShape(
        "renamed",
        "SELECT * FROM (SELECT shop AS place, amount FROM sales) a JOIN (SELECT shop AS spot FROM shops) b "
        "ON a.place = b.spot",
    ),
    JoinShape(
        "branches",
        "SELECT s.id FROM sales s JOIN shops p ON s.shop = p.shop "
        "UNION ALL SELECT v.visitors FROM visits v LEFT SEMI JOIN shops q ON v.shop = q.shop",
    ),
    JoinShape("hinted", "SELECT /*+ MERGE(p) */ s.id, p.city FROM sales s JOIN shops p ON s.shop = p.shop", {}),
    JoinShape(
        "common",
        "SELECT s.shop FROM sales s JOIN shops p ON s.shop = p.shop INTERSECT SELECT visitors FROM visits",
    ),
    JoinShape(
        "dropped",
        "SELECT s.id FROM sales s LEFT JOIN (SELECT DISTINCT shop FROM shops) d ON s.shop = d.shop "
        "JOIN visits v ON v.visitors = s.id",
    ),
    JoinShape("pruned", "SELECT * FROM visits v JOIN shops p ON v.day = p.shop WHERE p.city = 'c2'", {}),
    JoinShape("distinct", "SELECT shop, sum(amount), count(DISTINCT note) FROM sales WHERE id < 90 GROUP BY shop"),
)


@dataclass(frozen=True)
class RecordedRun:
    """One execution as Spark showed it: raw trees, and the same as planopt keeps them."""

    analyzed: list[dict[str, Any]]
    tree: dict[str, Any]
    initial: Plan
    final: Plan


def recorded_run(name: str) -> RecordedRun:
    content = json.loads((JOINS / f"{name}.json").read_text(encoding="utf-8"))
    values = {int(i): value for i, value in content["values"].items()}
    return RecordedRun(
        content["analyzed"],
        content["final"],
        *(
            normalise(
                content[phase],
                phase=phase,
                tables=TABLES,
                metric_values=values if phase == "final" else {},
                operators=[_operator(*o) for o in content[f"{phase}_operators"]],
                first_id=FIRST_EXPRESSION_ID,
            )
            for phase in ("initial", "final")
        ),
    )


def _operator(
    ids: list[int], rows: int | None, size: int | None, source: str, runtime: bool, width: int, spread: list[int] | None
) -> Operator:
    low_to_high = (spread[0], spread[1], spread[2]) if spread else None
    return Operator(tuple(ids), Estimate(rows, size, source, runtime), width, low_to_high)
