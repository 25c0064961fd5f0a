"""Why a predicate skips less than it could, and what to write or set instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from planopt_assets.model.scan import Expression, TableScanInfo
from planopt_assets.observe.pushdown.eligibility import COMPARISONS, usable, with_all_statistics
from planopt_assets.observe.pushdown.expressions import SEEDED, SUBQUERIES, sql
from planopt_assets.observe.pushdown.families import family

_FLIPPED = {"LessThan": "GreaterThan", "GreaterThan": "LessThan"}
_FLIPPED |= {f"{a}OrEqual": f"{b}OrEqual" for a, b in _FLIPPED.items()}
_CALENDAR = ("Year", "TruncDate", "TruncTimestamp", "DateFormatClass", "LastDay", "YearOfWeek", "UnixDate")
_ARITHMETIC = ("Add", "Subtract", "Multiply", "Divide", "UnaryMinus", "DateAdd", "DateSub")
_TIME_ZONES = ("FromUTCTimestamp", "ToUTCTimestamp", "ConvertTimezone")
_ELEMENTS = ("GetArrayItem", "GetMapValue", "ElementAt", "ArrayContains", "GetStructField", "GetArrayStructFields")
_PREFIX = re.compile(r"^[^%_\\]+")  # of a LIKE
_ANCHORED = re.compile(r"^\^([\w \-/:]+)")  # of a regular expression


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause. `fix` is empty if nothing equivalent can be written or set."""

    name: str
    reason: str
    fix: str = ""
    fixed_family: str = ""


def cause_of(predicate: Expression, offers: TableScanInfo) -> Cause:
    """Why this predicate, as written, can skip neither partitions nor files."""
    for explain in (_run_time, _statistics_missing, _disjunction, _pattern, _obstacle):
        if (found := explain(predicate, offers)) is not None:
            return found
    return _inherent(predicate)


def _run_time(predicate: Expression, offers: TableScanInfo) -> Cause | None:
    if predicate.holds("PythonUDF"):
        return Cause(
            "udf",
            "a Python function decides row by row, after the files are chosen",
            "write it with built-in functions, or add a plain comparison that must also hold",
            "function",
        )
    if predicate.holds(*SEEDED):
        return Cause("nondeterministic", "its value is random for each row, so no file can be skipped")
    if predicate.holds(*SUBQUERIES):
        return Cause("subquery", "files are chosen at planning, before the sub-query's value is known")
    return None


def _statistics_missing(predicate: Expression, offers: TableScanInfo) -> Cause | None:
    if predicate.op == "Or" or usable(predicate, with_all_statistics(offers)) != "files":
        return None
    columns = [c for c in predicate.columns if (o := offers.column(c)) is not None and o.statistics == "none"]
    return Cause(
        "no_statistics",
        f"the table collects no statistics for {_listed(columns)}",
        f"add {_listed(columns)} to the table property delta.dataSkippingStatsColumns and rewrite the files",
        family(predicate, offers),
    )


def _disjunction(predicate: Expression, offers: TableScanInfo) -> Cause | None:
    if predicate.op != "Or":
        return None
    legs = list(_legs(predicate))
    if {usable(leg, offers) for leg in legs} == {"partitions", "files"}:
        return Cause(
            "or_with_partition",
            "an OR of a partition column and another column can skip neither partitions nor files",
            f"split the query: one part with {_listed([sql(leg) for leg in legs], ' and one with ')}, joined by UNION",
            "disjunction",
        )
    causes = [(leg, cause_of(leg, offers)) for leg in legs if usable(leg, offers) not in ("partitions", "files")]
    reason = "one side of the OR can be true in any file: " + "; ".join(f"{sql(leg)}: {c.reason}" for leg, c in causes)
    fix = "; ".join(c.fix for _, c in causes) if all(c.fix for _, c in causes) else ""
    return Cause("or_leg", reason, fix, "disjunction")


def _pattern(predicate: Expression, offers: TableScanInfo) -> Cause | None:
    if predicate.op not in ("EndsWith", "Contains", "Like", "RLike"):
        return None
    column, pattern = predicate.args
    found = (_ANCHORED if predicate.op == "RLike" else _PREFIX).match(pattern.name)
    if predicate.op in ("Like", "RLike") and column.op == "Column" and pattern.op == "Literal" and found:
        prefix = found[1] if predicate.op == "RLike" else found[0]
        return Cause(
            "pattern_prefix",
            "Spark pushes only patterns that are a plain prefix",
            f"add AND {sql(column)} LIKE '{prefix}%'",
            "prefix",
        )
    return Cause("pattern", "minimum and maximum say nothing about the middle or the end of a text")


def _obstacle(predicate: Expression, offers: TableScanInfo) -> Cause | None:
    """The column is wrapped in an expression. The query could apply it to the value instead."""
    wrapped, value, operator = _comparison(predicate)
    if wrapped is None or value is None or len(wrapped.columns) != 1 or not _has_range(wrapped, offers):
        return None
    for explain in (_cast, _calendar, _arithmetic, _prefix, _time_zone, _null_replacement, _condition):
        if (found := explain(wrapped, value, operator)) is not None:
            return found
    return None


def _cast(wrapped: Expression, value: Expression, operator: str) -> Cause | None:
    if wrapped.op != "Cast" or wrapped.args[0].op != "Column":
        return None
    column = wrapped.args[0]
    return Cause(
        "cast",
        f"{column.name} is cast to {wrapped.type} before it is compared",
        f"compare {column.name} with a value of its own type, {column.type}",
        _plain_family(operator),
    )


def _calendar(wrapped: Expression, value: Expression, operator: str) -> Cause | None:
    if wrapped.op not in _CALENDAR:
        return None
    (column,) = wrapped.columns
    shown = ""
    if (wrapped.op, operator) == ("Year", "EqualTo"):
        shown = f": {column} >= '{value.name}-01-01' AND {column} < '{int(value.name) + 1}-01-01'"
    return Cause(
        "date_function",
        f"a function of {column} is compared, not {column} itself",
        f"write it as a range of {column}{shown}",
        "range",
    )


def _arithmetic(wrapped: Expression, value: Expression, operator: str) -> Cause | None:
    if wrapped.op not in _ARITHMETIC or not all(a.op in ("Column", "Literal") for a in wrapped.args):
        return None
    return Cause(
        "arithmetic",
        f"{sql(wrapped)} is compared, not {wrapped.columns[0]} itself",
        f"move the arithmetic to the other side, so that {wrapped.columns[0]} stands alone",
        _plain_family(operator),
    )


def _prefix(wrapped: Expression, value: Expression, operator: str) -> Cause | None:
    if wrapped.op not in ("Substring", "Left") or operator != "EqualTo":
        return None
    column, *bounds = wrapped.args
    if column.op != "Column" or (wrapped.op == "Substring" and bounds[0].name not in ("0", "1")):
        return None
    fix = f"write {column.name} LIKE '{value.name}%'"
    return Cause("prefix_function", f"only the beginning of {column.name} is compared, by a function", fix, "prefix")


def _time_zone(wrapped: Expression, value: Expression, operator: str) -> Cause | None:
    if wrapped.op not in _TIME_ZONES:
        return None
    (column,) = wrapped.columns
    return Cause(
        "time_zone",
        f"{column} is converted to another time zone before it is compared",
        f"convert the value to the time zone of {column} instead",
        _plain_family(operator),
    )


def _null_replacement(wrapped: Expression, value: Expression, operator: str) -> Cause | None:
    """Only if the replacement differs from the compared value: then no NULL matches, with or without it."""
    replaced = wrapped.op == "Coalesce" and len(wrapped.args) == 2 and wrapped.args[1].op == "Literal"
    if not replaced or wrapped.args[0].op != "Column" or operator != "EqualTo" or wrapped.args[1].name == value.name:
        return None
    column = wrapped.args[0].name
    return Cause(
        "null_replacement",
        f"NULL in {column} is replaced before it is compared",
        f"write {column} = {sql(value)}: a replaced NULL is never equal to it",
        "equality",
    )


def _condition(wrapped: Expression, value: Expression, operator: str) -> Cause | None:
    if wrapped.op not in (*COMPARISONS, "CaseWhen", "If") or operator not in ("EqualTo", "EqualNullSafe"):
        return None
    return Cause(
        "condition_as_value",
        "a condition is turned into a value, and the value is compared",
        f"write the condition itself: {sql(wrapped)}" if wrapped.op in COMPARISONS else "write the condition itself",
        "range",
    )


def _inherent(predicate: Expression) -> Cause:
    reasons: dict[str, tuple[Callable[[], bool], str]] = {
        "inside_collection": (
            lambda: predicate.holds(*_ELEMENTS) or any(a.type in ("array", "map") for a in predicate.args),
            "elements of arrays and maps have no statistics",
        ),
        "column_comparison": (
            lambda: len(predicate.columns) > 1,
            "columns of one row are compared with each other, and statistics cover one column at a time",
        ),
        "negation": (
            lambda: predicate.op == "Not" and predicate.args[0].op != "Column",
            "hardly any file holds only excluded values, and Delta does not check for that",
        ),
        "no_min_max": (
            lambda: predicate.op == "Column" or any(a.op == "Column" for a in predicate.args[:1]),
            "Delta keeps no minimum and maximum of this type; Parquet does, for row groups",
        ),
    }
    for name, (holds, reason) in reasons.items():
        if holds():
            return Cause(name, reason)
    return Cause("function", "no range of the column is equivalent to this function of it")


def _comparison(predicate: Expression) -> tuple[Expression | None, Expression | None, str]:
    """The compared expression, the value, and the operator, with the value on the right side."""
    if predicate.op not in COMPARISONS or len(predicate.args) != 2:
        return None, None, ""
    left, right = predicate.args
    if left.op == "Literal":
        return right, left, _FLIPPED.get(predicate.op, predicate.op)
    return (left, right, predicate.op) if right.op == "Literal" else (None, None, "")


def _has_range(wrapped: Expression, offers: TableScanInfo) -> bool:
    offer = offers.column(wrapped.columns[0])
    return offer is not None and (offer.partition or offer.statistics == "min_max")


def _plain_family(operator: str) -> str:
    return "equality" if operator in ("EqualTo", "EqualNullSafe") else "range"


def _legs(predicate: Expression) -> list[Expression]:
    if predicate.op != "Or":
        return [predicate]
    return [leg for arg in predicate.args for leg in _legs(arg)]


def _listed(words: list[str], separator: str = ", ") -> str:
    return separator.join(words)
