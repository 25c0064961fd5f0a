"""From Spark's JSON of expressions and plans to `Expression` trees, and from those to readable text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from planopt_assets.model.scan import Expression

Node = Mapping[str, Any]
Definitions = Mapping[int, Expression]

_INFIX = {
    "EqualTo": "=", "EqualNullSafe": "<=>", "LessThan": "<", "LessThanOrEqual": "<=", "GreaterThan": ">",
    "GreaterThanOrEqual": ">=", "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "Remainder": "%",
    "And": "AND", "Or": "OR", "Like": "LIKE", "RLike": "RLIKE",
}  # fmt: skip
_SUFFIX = {"IsNull": "IS NULL", "IsNotNull": "IS NOT NULL"}
_SQL_TYPE = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
_LIKE = {"StartsWith": "{}%", "EndsWith": "%{}", "Contains": "%{}%"}
_FUNCTION = {
    "TruncTimestamp": "date_trunc", "TruncDate": "trunc", "DateFormatClass": "date_format",
    "FromUTCTimestamp": "from_utc_timestamp", "ToUTCTimestamp": "to_utc_timestamp",
}  # fmt: skip
_QUOTED = {"string", "date", "timestamp", "timestamp_ntz"}
SUBQUERIES = ("ScalarSubquery", "InSubqueryExec", "InSubquery", "ListQuery", "Exists", "DynamicPruningSubquery")
# Their argument is a seed, which is drawn anew at every analysis.
SEEDED = ("Rand", "Randn", "Uuid", "Shuffle", "RandStr", "Uniform")


def expressions(nodes: Sequence[Node], definitions: Definitions | None = None) -> tuple[Expression, ...]:
    """All trees of a list that Spark wrote in depth-first order. `definitions` replace computed columns.

    The list is read from the end, without recursion: generated queries can chain thousands of ORs.
    """
    done: list[Expression] = []
    for node in reversed(nodes):
        args = tuple(done.pop() for _ in range(node["num-children"]))
        done.append(_expression(node, args, definitions or {}))
    return tuple(_leaf(tree) for tree in reversed(done))


def conjuncts(expression: Expression) -> Iterator[Expression]:
    """The parts that must all be true.

    >>> a, b = Expression("Column", "a"), Expression("Column", "b")
    >>> [c.name for c in conjuncts(Expression("And", args=(a, b)))]
    ['a', 'b']
    """
    if expression.op != "And":
        yield expression
        return
    for part in expression.args:
        yield from conjuncts(part)


def sql(expression: Expression, column: Callable[[str], str] = str) -> str:
    """The expression as SQL, without expression ids and seeds, so that it is the same in every run.

    >>> five = Expression("Literal", "5", "long")
    >>> sql(Expression("Not", args=(Expression("EqualTo", args=(Expression("Column", "id", "long"), five)),)))
    'id != 5'
    """
    op, args = expression.op, expression.args
    text = [_operand(arg, column) for arg in args]
    if op == "Column":
        return column(expression.name)
    if op == "Literal":
        return f"'{expression.name}'" if expression.type in _QUOTED and expression.name != "NULL" else expression.name
    if op == "Not" and args[0].op == "EqualTo":
        return " != ".join(_operand(a, column) for a in args[0].args)
    if op == "Not":
        return f"NOT {text[0]}"
    if op in _INFIX and len(args) > 1:
        return f" {_INFIX[op]} ".join(text)
    if op in _SUFFIX:
        return f"{text[0]} {_SUFFIX[op]}"
    if op in ("Cast", "UpCast", "AnsiCast"):
        return f"CAST({sql(args[0], column)} AS {_SQL_TYPE.get(expression.type, expression.type)})"
    if op == "In":
        return f"{text[0]} IN ({', '.join(text[1:])})"
    if op == "InSet":
        return f"{text[0]} IN (…)"  # Spark does not write out the values of long lists
    if op in _LIKE and args[1].op == "Literal":
        return f"{text[0]} LIKE '{_LIKE[op].format(args[1].name)}'"
    if op in ("GetArrayItem", "GetMapValue"):
        return f"{text[0]}[{text[1]}]"
    if op == "Exists":
        return "EXISTS (subquery)"
    if op in SUBQUERIES:
        return f"{text[0]} IN (subquery)" if args else "(subquery)"
    return f"{expression.name or _FUNCTION.get(op) or _snake(op)}({', '.join(sql(arg, column) for arg in args)})"


def key(expression: Expression) -> str:
    """One text per predicate, however the query spells its columns. Spark keeps upper case in some places."""
    return sql(expression, str.casefold)


def _operand(expression: Expression, column: Callable[[str], str]) -> str:
    text = sql(expression, column)
    return f"({text})" if expression.op in _INFIX else text


def _expression(node: Node, args: tuple[Expression, ...], definitions: Definitions) -> Expression:
    op = class_name(node)
    if op == "AttributeReference":
        defined = definitions.get(node["exprId"]["id"])
        return defined or Expression("Column", node["name"], type_name(node["dataType"]), _fields(node["dataType"]))
    if op == "GetStructField":
        return _field(node, args[0])
    args = tuple(_leaf(arg) for arg in args)
    if op == "Literal":
        value = node["value"]
        return Expression("Literal", "NULL" if value is None else str(value), type_name(node["dataType"]))
    if op in SEEDED:
        return Expression(op)
    if op == "PythonUDF":
        return Expression(op, node["name"], str(node["evalType"]), args)
    if op in ("Invoke", "StaticInvoke"):
        return Expression(op, str(node["functionName"]), "", args)
    if op in ("Cast", "UpCast"):
        return Expression(op, "", type_name(node["dataType"]), args)
    if op in ("Alias", "KnownNotNull", "KnownNullable"):
        return args[0]
    if op in ("And", "Or"):
        return Expression(op, args=tuple(part for arg in args for part in (arg.args if arg.op == op else (arg,))))
    return Expression(op, "", "", args)


def _fields(kind: Any) -> tuple[Expression, ...]:
    """The fields of a struct column, kept until the whole path to a leaf is known."""
    if not (isinstance(kind, Mapping) and kind.get("type") == "struct"):
        return ()
    return tuple(Expression("Column", f["name"], type_name(f["type"]), _fields(f["type"])) for f in kind["fields"])


def _field(node: Node, parent: Expression) -> Expression:
    """`n.a` is one column. A field of anything else (an array's element) stays a function of it."""
    if parent.op != "Column" or not parent.args:
        return Expression("GetStructField", "", "", (_leaf(parent),))
    field = parent.args[node["ordinal"]]
    return Expression("Column", f"{parent.name}.{field.name}", field.type, field.args)


def _leaf(expression: Expression) -> Expression:
    return Expression("Column", expression.name, expression.type) if expression.op == "Column" else expression


def class_name(node: Node) -> str:
    return str(node["class"]).rsplit(".", 1)[1]


def type_name(kind: Any) -> str:
    """
    >>> type_name("decimal(10,2)"), type_name({"type": "array", "elementType": "long"})
    ('decimal(10,2)', 'array')
    """
    return str(kind["type"]) if isinstance(kind, Mapping) else str(kind)


def _snake(name: str) -> str:
    """
    >>> _snake("DateAdd"), _snake("ArrayContains"), _snake("XxHash64")
    ('date_add', 'array_contains', 'xx_hash64')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
