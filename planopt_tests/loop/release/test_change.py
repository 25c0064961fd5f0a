"""What counts as a change of a query, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planopt_assets.loop.release.change import changes
from planopt_assets.model.workload import Knobs, Query, Table, Workload

pytestmark = pytest.mark.fast

SCHEMAS = {"sales": [("id", "bigint"), ("shop", "bigint")], "shops": [("shop", "bigint")]}
TEXT = "SELECT shop, count(*) AS n FROM sales WHERE id > 5 GROUP BY shop"


def workload(*queries: Query) -> Workload:
    tables = (Table("sales", "/data/sales"), Table("shops", "/data/shops"))
    return Workload("w", Path("/w/planopt.yaml"), "/w/store", tables, queries)


def kind(before: Workload, after: Workload) -> dict[str, str]:
    def by_text(_: Workload, query: Query) -> str:
        return f"{query.sql} {query.python} {query.bindings}"

    return {c.query_id: c.kind for c in changes(before, after, SCHEMAS, by_text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TEXT, "same"),
        ("select s.shop,\n  COUNT(*) n -- per shop\nfrom sales s where s.id > 5 group by s.shop", "spelling"),
        (TEXT.replace("> 5", "> 6"), "changed"),
        (TEXT.replace("SELECT shop", "SELECT /*+ MERGE(sales) */ shop"), "changed"),
    ],
)
def test_a_text_is_the_same_spelled_differently_or_changed(text: str, expected: str) -> None:
    assert kind(workload(Query("q", sql=TEXT)), workload(Query("q", sql=text))) == {"q": expected}


def test_new_and_removed_queries_are_named() -> None:
    found = kind(workload(Query("old", sql=TEXT)), workload(Query("new", sql=TEXT)))
    assert found == {"new": "added", "old": "removed"}


def test_other_parameters_are_a_change_and_another_rate_is_none() -> None:
    one = Query("q", sql="SELECT id FROM sales WHERE id > :a", bindings=((("a", 1),),))
    assert kind(workload(one), workload(replace(one, bindings=((("a", 2),),)))) == {"q": "changed"}
    assert kind(workload(one), workload(replace(one, runs_per_day=99.0))) == {"q": "same"}


def test_a_moved_table_changes_only_the_queries_that_name_it() -> None:
    queries = (Query("q", sql=TEXT), Query("other", sql="SELECT shop FROM shops"))
    before = workload(*queries)
    after = replace(before, tables=(Table("sales", "/data/sales_2"), before.tables[1]))
    assert kind(before, after) == {"q": "changed", "other": "same"}


def test_another_setting_of_spark_changes_every_query() -> None:
    before = workload(Query("q", sql=TEXT))
    after = replace(before, spark_settings=(("spark.sql.shuffle.partitions", "7"),))
    (found,) = changes(before, after, SCHEMAS, lambda _, q: q.id)
    assert (found.kind, found.words) == ("changed", "spark.sql.shuffle.partitions was not set and is 7")


def test_a_pinned_knob_is_a_setting_of_spark_too() -> None:
    before = workload(Query("q", sql=TEXT))
    after = replace(before, knobs=Knobs(pin=(("spark.sql.autoBroadcastJoinThreshold", "-1"),)))
    (found,) = changes(before, after, SCHEMAS, lambda _, q: q.id)
    assert (found.kind, found.words) == ("changed", "spark.sql.autoBroadcastJoinThreshold was not set and is -1")


def test_who_may_maintain_a_table_moves_it_nowhere() -> None:
    before = workload(Query("q", sql=TEXT))
    after = replace(before, tables=(replace(before.tables[0], maintain="auto"), before.tables[1]))
    assert kind(before, after) == {"q": "same"}
