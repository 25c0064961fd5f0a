"""Kinds of predicates and kinds of tables. Thresholds are learned per kind."""

from __future__ import annotations

from planopt_assets.model.scan import Expression, TableScanInfo
from planopt_assets.observe.pushdown.eligibility import sides
from planopt_assets.observe.pushdown.expressions import SEEDED, SUBQUERIES

MIB = 1024 * 1024
_BY_OP = {
    "EqualTo": "equality",
    "EqualNullSafe": "equality",
    "LessThan": "range",
    "LessThanOrEqual": "range",
    "GreaterThan": "range",
    "GreaterThanOrEqual": "range",
    "In": "in_list",
    "InSet": "in_list",
    "StartsWith": "prefix",
    "IsNull": "null_test",
    "IsNotNull": "null_test",
    "Column": "boolean",
    "EndsWith": "pattern",
    "Contains": "pattern",
    "Like": "pattern",
    "RLike": "pattern",
}


def family(predicate: Expression, offers: TableScanInfo) -> str:
    """The kind of a predicate. Predicates on partition columns alone have their own kinds.

    >>> column, five = Expression("Column", "id", "long"), Expression("Literal", "5", "long")
    >>> family(Expression("LessThan", args=(column, five)), TableScanInfo("t", 0, ()))
    'range'
    """
    partitions = {name.casefold() for name in offers.partition_columns}
    if predicate.columns and all(c.casefold() in partitions for c in predicate.columns):
        return f"partition_{_kind(predicate)}"
    return _kind(predicate)


def _kind(predicate: Expression) -> str:
    op, args = predicate.op, predicate.args
    if predicate.holds("PythonUDF"):
        return "udf"
    if predicate.holds(*SEEDED):
        return "nondeterministic"
    if predicate.holds(*SUBQUERIES):
        return "subquery"
    if op == "Or" and args[1] == Expression("IsNull", args=(args[0],)):
        return _kind(args[0])  # Delta writes a derived partition filter this way: unknown counts as true
    if op == "Or":
        return "disjunction"
    if op == "Not":
        return "inequality"
    kind = _BY_OP.get(op, "function")
    if kind in ("equality", "range"):
        return kind if None not in sides(predicate) else _of_sides(args)
    return kind if not args or args[0].op == "Column" else "function"


def _of_sides(args: tuple[Expression, ...]) -> str:
    if all(arg.op == "Column" for arg in args):
        return "column_comparison"
    return "cast" if any(arg.op == "Cast" for arg in args) else "function"


def table_class(offers: TableScanInfo) -> str:
    """Size and layout, roughly: `small plain`, `large partitioned`.

    >>> table_class(TableScanInfo("t", 0, (), files=40, bytes=90 * MIB))
    'small plain'
    """
    layout = "partitioned" if offers.partition_columns else "clustered" if offers.clustered_by else "plain"
    if offers.files is not None and offers.files <= 1:
        return f"one-file {layout}"
    size = offers.bytes or 0
    return f"{'small' if size < 1024 * MIB else 'medium' if size < 102_400 * MIB else 'large'} {layout}"
