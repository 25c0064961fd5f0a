"""What constants ask for is read from the trees of the gate, before Spark evaluates them."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.engine.gate.limits import LONGEST_VALUE, MOST_PARTITIONS, excess
from planopt_assets.engine.gate.sql_allowlist import CATALYST, walk

pytestmark = pytest.mark.fast

Tree = list[dict[str, Any]]


def node(name: str, /, *children: Tree, package: str = "expressions", **fields: Any) -> Tree:
    """A tree as `toJSON` writes it: a flat list, parent first."""
    head = {"class": f"{CATALYST}{package}.{name}", "num-children": len(children), **fields}
    return [head, *(one for child in children for one in child)]


def literal(value: Any, data_type: str = "") -> Tree:
    kinds = {int: "integer", float: "double", str: "string"}
    return node("Literal", value=str(value), dataType=data_type or kinds[type(value)])


def call(name: str, *arguments: Tree) -> Tree:
    """A function as the parser reads it."""
    return node("UnresolvedFunction", *arguments, package="analysis", nameParts=f"[{name}]")


def selected(*expressions: Tree) -> Tree:
    return node("Project", node("OneRowRelation", package="plans.logical"), package="plans.logical", p=[*expressions])


COLUMN = node("AttributeReference", name="note", dataType="string")
X = literal("x")
CENTURY = literal("1990-01-01", "date"), literal("2090-01-01", "date")
DAY, SECOND = literal(86_400_000_000, "interval day"), literal(1_000_000, "interval second")


def asked(tree: Tree) -> str | None:
    found = excess(tree, walk(tree))
    return found[0] if found else None


TOO_LARGE: dict[str, tuple[Tree, str]] = {
    "repeat, parsed": (call("repeat", X, literal(2e9)), "`repeat` asks for 2,000,000,000"),
    "repeat, analysed": (node("StringRepeat", X, node("Cast", literal(2e9))), "`repeat` asks for 2,000,000,000"),
    "a long text repeated": (call("repeat", literal("x" * 1000), literal(100_000)), "`repeat` asks for 100,000,000"),
    "nested": (call("repeat", call("repeat", X, literal(10_000)), literal(10_000)), "`repeat` asks for 100,000,000"),
    "arithmetic": (
        call("repeat", COLUMN, node("Multiply", literal(50_000), node("UnaryMinus", literal(-40_000)))),
        "`repeat` asks for 2,000,000,000",
    ),
    "power": (call("space", call("pow", literal(10), literal(12))), "`space` asks for 1,000,000,000,000"),
    "beyond all numbers": (call("space", call("pow", literal(10), literal(999))), "`space` asks for inf"),
    "shift": (call("space", node("ShiftLeft", literal(1), literal(30))), "`space` asks for 1,073,741,824"),
    "lpad": (node("StringLPad", COLUMN, literal(10**9), X), "`lpad` asks for 1,000,000,000"),
    "sequence": (call("sequence", literal(1), literal(2e9)), "`sequence` asks for 2,000,000,000"),
    "sequence down": (node("Sequence", literal(2e9), literal(1), literal(-2)), "`sequence` asks for 1,000,000,000"),
    "days of many years": (
        node("Sequence", literal("0001-01-01 00:00:00", "timestamp"), literal("9999-12-31", "date"), SECOND),
        "`sequence` asks for 315,537,811,201",
    ),
    "array_repeat": (call("array_repeat", COLUMN, literal(10**9)), "`array_repeat` asks for 1,000,000,000"),
    "array_insert": (node("ArrayInsert", COLUMN, literal(-(10**9)), X), "`array_insert` asks for 1,000,000,000"),
    "stack": (
        node("UnresolvedGenerator", literal(10**9), X, package="analysis", name={"funcName": "stack"}),
        "`stack` asks for 1,000,000,000",
    ),
    "format_number": (call("format_number", COLUMN, literal(10**9)), "`format_number` asks for 1,000,000,000"),
    "printf": (call("printf", literal("%-1000000000.2f"), COLUMN), "`printf` asks for 1,000,000,000"),
    "randstr": (node("RandStr", literal(10**9), literal(0)), "`randstr` asks for 1,000,000,000"),
    "approximate count": (
        call("approx_count_distinct", COLUMN, literal(1e-6)),
        "`approx_count_distinct` asks for 1,223,236,000,000",
    ),
    "approximate count, analysed": (
        node("HyperLogLogPlusPlus", COLUMN, package="expressions.aggregate", relativeSD=1e-6),
        "`approx_count_distinct` asks for 1,223,236,000,000",
    ),
    "sketch": (call("count_min_sketch", COLUMN, literal(1e-9)), "`count_min_sketch` asks for 2,000,000,000"),
    "one for each of an array": (
        node("ArrayTransform", call("sequence", literal(1), literal(10_000)), call("repeat", X, literal(10_000))),
        "`transform` asks for 100,000,000",
    ),
}
FINE: dict[str, Tree] = {
    "at the limit": call("repeat", X, literal(LONGEST_VALUE)),
    "of each row's own length": call("repeat", X, COLUMN),
    "less than nothing": call("repeat", X, literal(-5)),
    "days of a century": call("sequence", *CENTURY, DAY),
    "days without a step": call("sequence", *CENTURY),
    "months": node("Sequence", *CENTURY, literal(1, "interval month")),
    "divided by nothing": call("space", node("Divide", literal(1), literal(0))),
    "no step": call("sequence", literal(1), literal(5), literal(0)),
    "approximate count": call("approx_count_distinct", COLUMN, literal(0.01)),
    "a number that is only compared": node("GreaterThan", COLUMN, literal(2_000_000_000)),
    "a function of the same name as none": call("repeated", X, literal(2e9)),
}


@pytest.mark.parametrize(("tree", "says"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_constants_that_ask_for_too_much_are_found_wherever_they_stand(tree: Tree, says: str) -> None:
    words = f"{says} characters or elements, more than 10,000,000"
    assert asked(tree) == words
    assert asked(selected(node("Length", COLUMN), node("Length", tree))) == words
    assert asked(node("Filter", selected(COLUMN), package="plans.logical", condition=node("Not", tree))) == words


@pytest.mark.parametrize("tree", FINE.values(), ids=FINE)
def test_what_is_within_limits_or_not_known_passes(tree: Tree) -> None:
    assert asked(selected(tree)) is None


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("Repartition", "numPartitions"),
        ("RepartitionByExpression", "optNumPartitions"),
        ("RebalancePartitions", "optNumPartitions"),
        ("Range", "numSlices"),
    ],
)
def test_partitions_have_a_limit_wherever_they_are_asked_for(name: str, field: str) -> None:
    def tree(count: int | None) -> Tree:
        return node(name, selected(COLUMN), package="plans.logical", **{field: count})

    assert asked(tree(MOST_PARTITIONS)) is None
    assert asked(tree(None)) is None
    assert asked(tree(MOST_PARTITIONS + 1)) == "it asks for 100,001 partitions, more than 100,000"


def test_a_deep_tree_needs_no_deep_stack() -> None:
    deep = call("repeat", X, literal(2e9))
    for _ in range(20_000):
        deep = [{"class": f"{CATALYST}expressions.Upper", "num-children": 1}, *deep]
    assert asked(deep) is not None
