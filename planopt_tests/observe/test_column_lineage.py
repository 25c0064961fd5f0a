"""Column lineage of small plans written by hand; what Spark writes is tested with Spark."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.model.column_lineage import ColumnLineage
from planopt_assets.observe.plans.column_lineage import column_lineage

pytestmark = pytest.mark.fast

TABLES = {"Orders": "orders"}


def node(kind: str, children: int, **fields: Any) -> dict[str, Any]:
    return {"class": f"org.apache.spark.sql.catalyst.plans.logical.{kind}", "num-children": children, **fields}


def column(name: str, number: int) -> list[dict[str, Any]]:
    return [node("AttributeReference", 0, name=name, exprId={"id": number})]


def table(*columns: list[dict[str, Any]], name: str = "orders") -> list[dict[str, Any]]:
    alias = node("SubqueryAlias", 1, identifier={"name": name, "qualifier": []})
    return [alias, node("LogicalRelation", 0, relation=None, output=list(columns))]


A, B, C = column("a", 1), column("b", 2), column("c", 3)


def test_a_column_nobody_uses_is_not_required() -> None:
    plan = [node("Project", 1, projectList=[A]), node("Filter", 1, condition=B), *table(A, B, C)]
    assert column_lineage(plan, TABLES) == ColumnLineage({"orders": ("a", "b")}, (("a", ("orders.a",)),))


def test_a_column_that_is_computed_and_thrown_away_is_not_required() -> None:
    alias = [node("Alias", 1, name="x", exprId={"id": 9}), *C]
    plan = [node("Project", 1, projectList=[A]), node("Project", 1, projectList=[A, alias]), *table(A, B, C)]
    assert column_lineage(plan, TABLES).required == {"orders": ("a",)}


def test_an_operator_that_is_not_known_may_use_everything() -> None:
    plan = [node("BrandNew", 1, output=[column("x", 9)]), *table(A, B)]
    everything = ("orders.a", "orders.b")
    assert column_lineage(plan, TABLES) == ColumnLineage({"orders": ("a", "b")}, (("x", everything),))


def test_a_definition_nobody_uses_requires_nothing() -> None:
    other = column("d", 4)
    definition = [node("CTERelationDef", 1, id=7), node("Filter", 1, condition=other), *table(other, name="unused")]
    used = [node("CTERelationDef", 1, id=8), node("Filter", 1, condition=B), *table(A, B)]
    reference = node("CTERelationRef", 0, cteId=8, output=[column("a", 11), column("b", 12)])
    project = node("Project", 1, projectList=[column("a", 11)])
    plan = [node("WithCTE", 3), *definition, *used, project, reference]
    assert column_lineage(plan, {**TABLES, "unused": "unused"}) == ColumnLineage(
        {"orders": ("a", "b")}, (("a", ("orders.a",)),)
    )


def test_a_correlation_is_required_but_nothing_is_made_from_it() -> None:
    outer = node("OuterReference", 0, e=A)
    inner = [node("Project", 1, projectList=[column("z", 8)]), node("Filter", 1, condition=[outer])]
    inner += table(column("z", 8), name="inner")
    scalar = node("ScalarSubquery", 1, plan=inner)
    alias = [node("Alias", 1, name="x", exprId={"id": 9}), scalar, *A]
    plan = [node("Project", 1, projectList=[alias]), *table(A, B)]
    assert column_lineage(plan, {**TABLES, "inner": "inner"}) == ColumnLineage(
        {"inner": ("z",), "orders": ("a",)}, (("x", ("inner.z",)),)
    )


def test_a_name_further_up_is_not_the_name_of_a_table() -> None:
    outer = node("SubqueryAlias", 1, identifier={"name": "orders", "qualifier": []})
    plan = [outer, node("Project", 1, projectList=[A]), *table(A, name="elsewhere")]
    assert column_lineage(plan, TABLES).required == {"unregistered": ("a",)}


def test_a_qualified_name() -> None:
    alias = node("SubqueryAlias", 1, identifier={"name": "orders", "qualifier": "[spark_catalog, sales]"})
    plan = [alias, node("LogicalRelation", 0, output=[A])]
    assert column_lineage(plan, {"spark_catalog.sales.orders": "o"}).required == {"o": ("a",)}


def test_a_deep_plan_is_no_danger() -> None:
    plan = [node("Filter", 1, condition=B)] * 20_000 + table(A, B, C)
    assert column_lineage([node("Project", 1, projectList=[A]), *plan], TABLES).required == {"orders": ("a", "b")}
