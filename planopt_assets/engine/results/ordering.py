"""Does a query promise an order, and by which of its result columns?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Operators that pass rows on in the order they get them.
_KEEP_ORDER = frozenset({"Project", "GlobalLimit", "LocalLimit", "Offset", "SubqueryAlias", "View", "WithCTE", "Tail"})


def sort_columns(frame: DataFrame) -> tuple[int, ...] | None:
    """Positions of the result columns a top-level ORDER BY sorts by; None where the query promises no order.

    Empty where it sorts by something that is not in the result: then only the exact sequence will do.
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
