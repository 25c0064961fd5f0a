"""How Delta and Parquet can use a predicate as written, by their own rules.

Delta compares a file's minimum, maximum and null count with predicates of the form *column operator value*. Parquet
does the same for row groups, and supports a few more forms. Partition filters are evaluated on the partition's values,
so any deterministic function of partition columns works.
"""

from __future__ import annotations

from dataclasses import replace

from planopt_assets.model.scan import Expression, Level, TableScanInfo
from planopt_assets.observe.pushdown.expressions import SEEDED, SUBQUERIES

COMPARISONS = ("EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual")
_LISTS = ("In", "InSet")
_NULL_TESTS = ("IsNull", "IsNotNull")
_NESTED = ("array", "map", "struct", "variant")
_RUN_TIME_LISTS = tuple(op for op in SUBQUERIES if op != "ScalarSubquery")
LEVELS: tuple[Level, ...] = ("nothing", "row groups", "files", "partitions")


def usable(predicate: Expression, offers: TableScanInfo) -> Level:
    """The strongest possible use of a predicate on this table, with all settings on."""
    if predicate.holds("PythonUDF", *SEEDED, *_RUN_TIME_LISTS) or not predicate.columns:
        return "nothing"
    if _on_partitions(predicate, offers):
        return "partitions"
    if not predicate.holds("ScalarSubquery") and skips_files(predicate, offers):
        return "files"
    return "row groups" if skips_row_groups(predicate, offers) else "nothing"


def with_all_statistics(offers: TableScanInfo) -> TableScanInfo:
    """The same table as if every column that can have statistics had them."""
    return replace(
        offers,
        columns=tuple(
            replace(c, statistics="min_max") if c.statistics == "none" and _has_range(c.type) else c
            for c in offers.columns
        ),
    )


def skips_files(predicate: Expression, offers: TableScanInfo) -> bool:
    """Whether Delta can turn it into a test on a file's statistics."""
    op, args = predicate.op, predicate.args
    if op == "And":
        return any(skips_files(arg, offers) for arg in args)  # one side alone can skip files
    if op == "Or":
        return all(skips_files(arg, offers) for arg in args)
    if op == "Not":
        inner = negated(args[0])
        return inner is not None and skips_files(inner, offers)
    if op in _NULL_TESTS:
        return _statistics(args[0], offers) in ("min_max", "null_count") and args[0].type not in _NESTED
    if op == "EqualNullSafe" and any(arg.op == "Literal" and arg.name == "NULL" for arg in args):
        return any(_statistics(arg, offers) in ("min_max", "null_count") for arg in args)
    if op == "StartsWith" or op in _LISTS:
        return _statistics(args[0], offers) == "min_max" and _values(args[1:])
    column, value = sides(predicate)
    return column is not None and value is not None and _statistics(column, offers) == "min_max"


def skips_row_groups(predicate: Expression, offers: TableScanInfo) -> bool:
    """Whether Parquet can turn it into a test on a row group's statistics."""
    op, args = predicate.op, predicate.args
    if op == "And":
        return any(skips_row_groups(arg, offers) for arg in args)
    if op in ("Or", "Not"):
        return all(skips_row_groups(arg, offers) for arg in args)
    if op == "Column":
        return predicate.type == "boolean" and _in_files(predicate, offers)
    if op in _NULL_TESTS:
        return _in_files(args[0], offers)
    if op == "StartsWith" or op in _LISTS:
        return _in_files(args[0], offers) and _values(args[1:])
    column, value = sides(predicate)
    return column is not None and value is not None and _in_files(column, offers)


def sides(predicate: Expression) -> tuple[Expression | None, Expression | None]:
    """Column and value of a comparison, in either order. None if it is not a column and a value.

    >>> five, column = Expression("Literal", "5", "long"), Expression("Column", "id", "long")
    >>> sides(Expression("EqualTo", args=(five, column))) == (column, five)
    True
    """
    if predicate.op not in COMPARISONS:
        return None, None
    column = next((arg for arg in predicate.args if arg.op == "Column"), None)
    value = next((arg for arg in predicate.args if arg.op in ("Literal", "ScalarSubquery")), None)
    return column, value


def negated(predicate: Expression) -> Expression | None:
    """The negation without a NOT, if Delta has one. Else None."""
    op, args = predicate.op, predicate.args
    opposite = {
        "LessThan": "GreaterThanOrEqual",
        "LessThanOrEqual": "GreaterThan",
        "GreaterThan": "LessThanOrEqual",
        "GreaterThanOrEqual": "LessThan",
        "IsNull": "IsNotNull",
        "IsNotNull": "IsNull",
    }
    if op in opposite:
        return Expression(opposite[op], args=args)
    if op in ("EqualTo", "EqualNullSafe"):
        return predicate  # Delta looks for a file that holds only this value, with the same statistics
    if op == "Not":
        return args[0]
    if op in ("And", "Or"):
        return Expression("Or" if op == "And" else "And", args=tuple(Expression("Not", args=(arg,)) for arg in args))
    return None


def _on_partitions(predicate: Expression, offers: TableScanInfo) -> bool:
    partitions = {name.casefold() for name in offers.partition_columns}
    return all(column.casefold() in partitions for column in predicate.columns)


def _statistics(expression: Expression, offers: TableScanInfo) -> str:
    offer = offers.column(expression.name) if expression.op == "Column" else None
    return offer.statistics if offer else "none"


def _in_files(expression: Expression, offers: TableScanInfo) -> bool:
    offer = offers.column(expression.name) if expression.op == "Column" else None
    return offer is not None and not offer.partition and offer.type not in _NESTED


def _values(args: tuple[Expression, ...]) -> bool:
    return all(arg.op == "Literal" for arg in args)


def _has_range(kind: str) -> bool:
    return kind not in (*_NESTED, "boolean", "binary")
