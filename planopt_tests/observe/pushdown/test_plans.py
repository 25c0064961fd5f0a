"""Reading Spark's JSON: expressions, the filters over a relation, the scans of a physical plan."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.observe.pushdown.expressions import conjuncts, expressions, key, sql
from planopt_assets.observe.pushdown.logical_plan import relations
from planopt_assets.observe.pushdown.offers import column_offers
from planopt_assets.observe.pushdown.physical_plan import scan_nodes
from planopt_assets.observe.pushdown.pushed import list_with_gaps, was_pushed
from planopt_tests.observe.pushdown.facts import call, column, compare, literal

pytestmark = pytest.mark.fast

Node = dict[str, Any]


def node(kind: str, children: int = 0, /, **fields: Any) -> Node:
    return {"class": f"org.apache.spark.sql.catalyst.{kind}", "num-children": children, **fields}


def attribute(name: str, number: int, kind: Any = "long") -> Node:
    return node("AttributeReference", name=name, dataType=kind, exprId={"id": number})


def value(text: str | None, kind: str = "long") -> Node:
    return node("Literal", value=text, dataType=kind)


# Expressions


def test_a_field_of_a_struct_is_one_column_with_its_own_type() -> None:
    inner = {"type": "struct", "fields": [{"name": "b", "type": "string"}]}
    item = {"type": "struct", "fields": [{"name": "x", "type": "long"}, {"name": "a", "type": inner}]}
    (read,) = expressions(
        [
            node("IsNull", 1),
            node("GetStructField", 1, ordinal=0),
            node("GetStructField", 1, ordinal=1),
            attribute("item", 1, item),
        ]
    )
    assert (read.args[0].name, read.args[0].type, sql(read)) == ("item.a.b", "string", "item.a.b IS NULL")


def test_a_field_of_an_arrays_element_is_no_column() -> None:
    nodes = [
        node("GetStructField", 1, ordinal=0),
        node("GetArrayItem", 2),
        attribute("list", 1, {"type": "array"}),
        value("0"),
    ]
    (read,) = expressions(nodes)
    assert (read.op, read.args[0].op) == ("GetStructField", "GetArrayItem")


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([node("LessThan", 2), node("Rand", 1), value("-12345"), value("0.5", "double")], "rand() < 0.5"),
        ([node("EqualTo", 2), attribute("id", 7), node("ScalarSubquery", plan=[node("Project")])], "id = (subquery)"),
        ([node("Not", 1), node("EqualTo", 2), attribute("s", 7), value("x", "string")], "s != 'x'"),
        ([node("EqualNullSafe", 2), attribute("s", 7), value(None, "string")], "s <=> NULL"),
        ([node("In", 3, list=[1, 2]), attribute("id", 7), value("1"), value("2")], "id IN (1, 2)"),
        ([node("InSet", 1, hset=None), attribute("id", 7)], "id IN (…)"),
        ([node("Cast", 1, dataType="long"), attribute("s", 7)], "CAST(s AS bigint)"),
        ([node("PythonUDF", 1, name="odd", evalType=100), attribute("id", 7)], "odd(id)"),
        (
            [node("Or", 2), node("IsNull", 1), attribute("a", 1), node("LessThan", 2), attribute("b", 2), value("5")],
            "a IS NULL OR (b < 5)",
        ),
    ],
)
def test_an_expression_reads_like_sql_without_ids_and_seeds(nodes: list[Node], text: str) -> None:
    (read,) = expressions(nodes)
    assert sql(read) == text


def test_conjuncts_are_the_parts_of_nested_ands_only() -> None:
    a, b, c = compare("EqualTo", "id", 1), compare("EqualTo", "id", 2), compare("EqualTo", "id", 3)
    assert list(conjuncts(call("And", call("And", a, b), call("Or", b, c)))) == [a, b, call("Or", b, c)]


def test_a_chain_of_thousands_of_ors_is_one_or_and_does_not_exhaust_the_stack() -> None:
    chain = [node("Or", 2)] * 4999 + [node("EqualTo", 2), attribute("id", 1), value("1")] * 5000
    (read,) = expressions(chain)
    assert (read.op, len(read.args)) == ("Or", 5000)
    assert sql(read).count(" OR ") == 4999
    assert was_pushed(
        call("Or", *(compare("EqualTo", "id", i) for i in (1, 2, 3))),
        ["Or(Or(EqualTo(id,1),EqualTo(id,2)),EqualTo(id,3))"],
    )


def test_the_key_of_a_predicate_ignores_the_case_of_columns_but_not_of_values() -> None:
    upper = expressions([node("EqualTo", 2), attribute("CODE", 1, "string"), value("A", "string")])[0]
    lower = expressions([node("EqualTo", 2), attribute("code", 1, "string"), value("A", "string")])[0]
    other = expressions([node("EqualTo", 2), attribute("code", 1, "string"), value("a", "string")])[0]
    assert key(upper) == key(lower) != key(other)


# The optimized plan


def test_filters_are_those_over_the_relation_with_python_functions_put_back() -> None:
    plan = [
        node("Filter", 1, condition=[attribute("pythonUDF0", 9, "boolean")]),
        node(
            "BatchEvalPython",
            1,
            udfs=[[node("PythonUDF", 1, name="odd", evalType=100), attribute("id", 1)]],
            resultAttrs=[[attribute("pythonUDF0", 9, "boolean")]],
        ),
        node("Filter", 1, condition=[node("LessThan", 2), attribute("id", 1), value("5")]),
        node("LogicalRelation", output=[[attribute("id", 1)], [attribute("code", 2, "string")]]),
    ]
    (relation,) = relations(plan)
    assert relation.ids == {1, 2}
    assert [sql(e) for e in relation.filters] == ["id < 5", "odd(id)"]


def test_a_filter_over_a_join_belongs_to_no_relation_and_join_columns_are_known() -> None:
    on = [node("EqualTo", 2), attribute("id", 1), attribute("id", 2)]
    plan = [
        node("Filter", 1, condition=[node("LessThan", 2), attribute("id", 1), attribute("x", 3)]),
        node("Join", 2, condition=on),
        node("LogicalRelation", output=[[attribute("id", 1)]]),
        node("LogicalRelation", output=[[attribute("id", 2)], [attribute("x", 3)]]),
    ]
    left, right = relations(plan)
    assert (left.filters, right.filters) == ((), ())
    assert (left.join_columns, right.join_columns) == (frozenset({"id"}), frozenset({"id"}))


def test_relations_of_sub_queries_come_after_the_plans_own() -> None:
    inner = [
        node("Filter", 1, condition=[node("IsNull", 1), attribute("x", 2)]),
        node("LogicalRelation", output=[[attribute("x", 2)]]),
    ]
    plan = [
        node("Filter", 1, condition=[node("EqualTo", 2), attribute("id", 1), node("ScalarSubquery", plan=inner)]),
        node("LogicalRelation", output=[[attribute("id", 1)]]),
    ]
    outer, subquery = relations(plan)
    assert (outer.ids, subquery.ids) == ({1}, {2})
    assert [sql(e) for e in subquery.filters] == ["x IS NULL"]


# The physical plan


def operator(name: str, text: str, *children: Node, rows: int | None = None, **metadata: str) -> Node:
    metrics = [] if rows is None else [{"name": "number of output rows", "accumulatorId": rows}]
    return {
        "nodeName": name,
        "simpleString": text,
        "children": list(children),
        "metadata": metadata,
        "metrics": metrics,
    }


def file_scan(table: str, number: int, rows: int) -> Node:
    location = f"PreparedDeltaFileIndex(1 paths)[file:/data/{table}]"
    return operator("Scan parquet ", f"FileScan parquet [id#{number}L] Batched: true", rows=rows, Location=location)


def test_matched_rows_are_counted_by_the_topmost_filter_over_the_scan() -> None:
    below = operator("Filter", "Filter a", operator("ColumnarToRow", "ColumnarToRow", file_scan("t", 1, 10)), rows=20)
    plan = operator("Filter", "Filter b", operator("BatchEvalPython", "BatchEvalPython [odd(id#1L)]", below), rows=30)
    (scan,) = scan_nodes(plan)
    assert (scan.path, scan.ids, scan.matched) == ("/data/t", {1}, 30)


def test_without_a_filter_every_row_of_the_scan_matches() -> None:
    (scan,) = scan_nodes(operator("Project", "Project [id#1L]", file_scan("t", 1, 10)))
    assert scan.matched == 10


def test_a_filter_does_not_count_for_the_plan_of_its_sub_query_nor_across_a_join() -> None:
    joined = operator("BroadcastHashJoin", "BroadcastHashJoin", file_scan("a", 1, 10), file_scan("b", 2, 11))
    plan = operator("Filter", "Filter x", joined, operator("Subquery", "Subquery", file_scan("c", 3, 12)), rows=20)
    assert [(s.path, s.matched) for s in scan_nodes(plan)] == [("/data/a", 10), ("/data/b", 11), ("/data/c", 12)]


def test_the_same_scan_again_is_one_scan_and_another_of_the_same_table_is_not() -> None:
    plan = operator("Union", "Union", file_scan("t", 1, 10), file_scan("t", 1, 10), file_scan("t", 2, 11))
    assert [s.ids for s in scan_nodes(plan)] == [{1}, {2}]


# What the table offers, and what Parquet was given


def test_offers_are_leaves_with_their_physical_path_and_kind_of_statistics() -> None:
    def leaf(name: str, kind: Any, physical: str = "") -> Node:
        return {
            "name": name,
            "type": kind,
            "metadata": {"delta.columnMapping.physicalName": physical} if physical else {},
        }

    item = {"type": "struct", "fields": [leaf("a", "decimal(10,2)", "p-a")]}
    schema = {
        "fields": [leaf("item", item, "p-item"), leaf("flag", "boolean"), leaf("late", "long"), leaf("Day", "date")]
    }
    indexed = {"fields": [leaf("item", item, "p-item"), leaf("flag", "boolean")]}
    found = {o.path: (o.statistics, o.partition, o.physical) for o in column_offers(schema, indexed, ["day"])}
    assert found == {
        "item.a": ("min_max", False, "p-item.p-a"),
        "flag": ("null_count", False, "flag"),
        "late": ("none", False, "late"),
        "Day": ("none", True, "Day"),
    }


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (compare("EqualTo", "ts", "2024-01-01 00:00:00"), "EqualTo(ts,2024-01-01 00:00:00.0)"),
        (call("LessThan", literal(5), column("id")), "GreaterThan(id,5)"),
        (call("StartsWith", column("code"), literal("a", "string")), "StringStartsWith(code,a)"),
        (column("flag"), "EqualTo(flag,true)"),
        (call("Not", column("flag")), "Not(EqualTo(flag,true))"),
        (call("Or", compare("EqualTo", "id", 1), call("IsNull", column("code"))), "Or(EqualTo(id,1),IsNull(code))"),
        (call("InSet", column("id")), "In(id, [1,2])"),
    ],
)
def test_a_predicate_is_found_among_the_pushed_filters(predicate, text: str) -> None:
    assert was_pushed(predicate, ["IsNotNull(id)", text])
    assert not was_pushed(predicate, ["IsNotNull(id)", "LessThan(late,5)"])


def test_a_function_of_a_column_is_never_found_among_the_pushed_filters() -> None:
    year = call("EqualTo", call("Year", column("ts")), literal(2024))
    assert not was_pushed(year, ["EqualTo(ts,2024)", "IsNotNull(ts)"])


def test_gaps_of_a_long_list_are_read_from_the_pushed_filter() -> None:
    long_list = call("InSet", column("id"))
    assert list_with_gaps(long_list, ["In(id, [1,2,3,900])"]) == ("1", "900")
    assert list_with_gaps(long_list, ["In(id, [1,2,3,4])"]) is None
    assert list_with_gaps(long_list, []) is None


def test_gaps_of_dates_count_in_days_and_texts_have_none() -> None:
    def listed(kind: str, *values: str) -> tuple[str, str] | None:
        return list_with_gaps(call("In", column("day"), *(literal(v, kind) for v in values)), [])

    assert listed("date", "2024-01-01", "2024-06-01") == ("2024-01-01", "2024-06-01")
    assert listed("date", "2024-01-01", "2024-01-02") is None
    assert listed("string", "a", "z") is None
