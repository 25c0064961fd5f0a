"""How much a query may ask for by its constants. All limits of the gate, in one place.

They are for mistakes that would fill the memory or stop the scheduler: `sequence(1, 2e9)`, `REPARTITION(1000000)`. What
a query asks for by its data is not known before it runs; a session that such a query ends is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable

from planopt_assets.engine.gate.constant_sizes import sizes
from planopt_assets.engine.gate.sql_allowlist import Node, simple_name

LONGEST_VALUE = 10_000_000  # characters or elements that constant arguments make of one value; nested ones multiply
MOST_PARTITIONS = 100_000  # of a hint, of `repartition`, of `range`

_PARTITIONS = {
    "Repartition": "numPartitions",
    "RepartitionByExpression": "optNumPartitions",
    "RebalancePartitions": "optNumPartitions",
    "Range": "numSlices",
}


def excess(tree: object, nodes: Iterable[Node]) -> tuple[str, str] | None:
    """What in a tree is beyond a limit, in words, and the part that asks for it; None where nothing is."""
    for node in nodes:
        name = simple_name(node["class"])
        asked = node.get(_PARTITIONS.get(name, ""))
        if isinstance(asked, int) and asked > MOST_PARTITIONS:
            return f"it asks for {asked:,} partitions, more than {MOST_PARTITIONS:,}", name
    for name, size in sizes(tree):
        if size.elements > LONGEST_VALUE:
            return f"`{name}` asks for {size.elements:,.0f} characters or elements, more than {LONGEST_VALUE:,}", name
    return None
