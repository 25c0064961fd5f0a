"""Finding a join's input in an analysed plan, from the list of nodes that Spark shows."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.engine.frames.hints import _Tree
from planopt_assets.errors import PolicyNotApplied
from planopt_assets.model.hint import Hint

pytestmark = pytest.mark.fast


def node(text: str) -> dict[str, Any]:
    """`SubqueryAlias:d/1`: kind, name and number of children."""
    kind, _, children = text.partition("/")
    kind, _, name = kind.partition(":")
    fields = {"identifier": {"name": name}} if kind == "SubqueryAlias" else {}
    return {"class": f"org.apache.spark.{kind}", "num-children": int(children or 0), **fields}


def tree(nodes: str) -> _Tree:
    return _Tree.of([node(each) for each in nodes.split()])


THREE = tree(
    "Project/1 Join/2 Join/2 SubqueryAlias:a/1 Range SubqueryAlias:b/1 Aggregate/1 Range "
    "SubqueryAlias:C/1 Join/2 Range ResolvedHint/1 Range"
)


def path(target: str) -> list[int]:
    return THREE.path(THREE.input_of(Hint("broadcast", target)))


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("join0.left", [0, 0]),
        ("join0.right c", [0, 1]),
        ("join1.left a", [0, 0, 0]),
        ("join1.right b", [0, 0, 1]),
        ("join1.right B", [0, 0, 1]),
        ("join2.left", [0, 1, 0, 0]),
    ],
)
def test_joins_are_numbered_depth_first(target: str, expected: list[int]) -> None:
    assert path(target) == expected


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("join3.left", "the query has 3 joins"),
        ("join0.right x", "that input is called c"),
        ("join0.left x", "that input has no name"),
        ("join2.right", "the query itself has a hint there, which stays"),
    ],
)
def test_a_hint_that_names_no_free_input_is_not_applied(target: str, why: str) -> None:
    with pytest.raises(PolicyNotApplied) as error:
        path(target)
    assert error.value.what == f"hint not applied: broadcast({target}): {why}"


def test_a_hint_is_looked_for_where_spark_looks() -> None:
    chained = tree("Join/2 Filter/1 Project/1 ResolvedHint/1 Range Union/2 ResolvedHint/1 Range Range")
    left, right = chained.children[0]
    assert chained.hints_on(left) == [3]
    assert chained.hints_on(right) == []  # both inputs of a union would have to be small


def test_the_first_input_of_an_intersection_carries_its_hint() -> None:
    crossed = tree("Join/2 Intersect/2 ResolvedHint/1 Range Range Range")
    assert crossed.hints_on(crossed.children[0][0]) == [2]
