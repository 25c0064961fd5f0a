"""What another plan may answer in another way, read from small plans as Spark writes them."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.observe.plans.plan_dependent import plan_dependent

pytestmark = pytest.mark.fast

Flat = list[dict[str, Any]]


def tree(kind: str, *children: Flat, **fields: Any) -> Flat:
    return [{"class": f"org.x.{kind}", "num-children": len(children), **fields}, *[n for c in children for n in c]]


COLUMN = tree("AttributeReference", name="a")
TABLE = tree("LogicalRelation", output=[COLUMN, COLUMN])


METADATA = tree("AttributeReference", name="_metadata")


def field(name: str) -> Flat:
    return tree("GetStructField", METADATA, name=name)


def aggregate(expression: Flat, grouped_by: tuple[Flat, ...] = (COLUMN,)) -> Flat:
    return tree("Aggregate", TABLE, groupingExpressions=list(grouped_by), aggregateExpressions=[expression])


def call(function: Flat) -> Flat:
    return tree("AggregateExpression", function)


FIRST = call(tree("First", COLUMN))
LIST = call(tree("CollectList", COLUMN))
SORTED = tree("SortOrder", COLUMN)


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        (aggregate(tree("Alias", FIRST)), ("first",)),
        (aggregate(tree("Alias", tree("Add", LIST, tree("Rand")))), ("collect_list", "rand")),
        (aggregate(tree("Size", LIST)), ()),
        (aggregate(tree("SortArray", LIST, tree("Literal"))), ()),
        (aggregate(tree("Size", FIRST)), ("first",)),
        (aggregate(tree("Add", tree("Size", LIST), LIST)), ("collect_list",)),
        (aggregate(tree("WindowExpression", FIRST, tree("WindowSpecDefinition", SORTED))), ()),
        (aggregate(tree("WindowExpression", FIRST, tree("WindowSpecDefinition", COLUMN))), ("first",)),
        (aggregate(call(tree("ListAgg", COLUMN, SORTED))), ()),
        (aggregate(call(tree("ListAgg", COLUMN))), ("listagg",)),
        (tree("Project", TABLE, projectList=[tree("ScalarSubquery", plan=aggregate(FIRST))]), ("first",)),
        (tree("GlobalLimit", tree("LocalLimit", TABLE)), ("LIMIT without ORDER BY",)),
        (tree("GlobalLimit", tree("LocalLimit", tree("Sort", TABLE, **{"global": True}))), ()),
        (tree("GlobalLimit", tree("Sort", TABLE, **{"global": False})), ("LIMIT without ORDER BY",)),
        (tree("GlobalLimit", tree("Project", aggregate(COLUMN, ()))), ()),
        (tree("GlobalLimit", aggregate(COLUMN)), ("LIMIT without ORDER BY",)),
        (tree("Sample", TABLE), ("TABLESAMPLE",)),
        (tree("Project", tree("LogicalRelation", output=[METADATA]), projectList=[field("file_path")]), ()),
        (tree("Project", TABLE, projectList=[field("file_block_start")]), ("_metadata",)),
        (tree("Project", TABLE, projectList=[METADATA]), ("_metadata",)),
        (tree("Deduplicate", TABLE, keys=[COLUMN]), ("dropDuplicates of some columns",)),
        (tree("Deduplicate", tree("Filter", TABLE), keys=[COLUMN, COLUMN]), ()),
        (tree("Deduplicate", tree("Join", TABLE, TABLE), keys=[COLUMN]), ("dropDuplicates of some columns",)),
        (tree("Project", TABLE, projectList=[tree("PythonUDF", name="f", udfDeterministic=True)]), ()),
        (
            tree("Project", TABLE, projectList=[tree("PythonUDF", name="f", udfDeterministic=False)]),
            ("the non-deterministic function f",),
        ),
    ],
)
def test_what_depends_on_the_plan(plan: Flat, found: tuple[str, ...]) -> None:
    assert plan_dependent(plan) == found
