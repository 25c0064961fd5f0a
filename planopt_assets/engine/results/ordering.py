"""Whether a query promises an order, and by which of its result columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Operators that keep the order of rows.
_KEEP_ORDER = frozenset({"Project", "GlobalLimit", "LocalLimit", "Offset", "SubqueryAlias", "View", "WithCTE", "Tail"})


def sort_columns(frame: DataFrame) -> tuple[int, ...] | None:
    """Positions of the result columns of a top-level ORDER BY. None: the query promises no order.

    Empty: it sorts by something that is not in the result. Then only the exact sequence counts as equal.
    """
    plan: Any = frame._jdf.queryExecution().analyzed()
    output = plan.output()
    positions = {output.apply(i).exprId().id(): i for i in range(output.size())}
    while plan.nodeName() in _KEEP_ORDER:
        plan = plan.children().last()
    if plan.nodeName() != "Sort" or not getattr(plan, "global")():
        return None
    orders = plan.order()
    keys = [orders.apply(i).child() for i in range(orders.size())]
    found = [positions.get(k.exprId().id()) if k.nodeName() == "AttributeReference" else None for k in keys]
    return tuple(p for p in found if p is not None) if None not in found else ()
