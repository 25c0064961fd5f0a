"""In which order the arms of an experiment run: interleaved, shuffled anew each round from a recorded seed."""

from __future__ import annotations

import random
from collections.abc import Sequence


def round_order(arms: Sequence[str], seed: int, query_id: str, number: int) -> list[str]:
    """The arms of one round in a random order that anybody can draw again.

    A round runs every arm once, back to back, so that what changes slowly (caches, compilation, neighbours)
    meets all of them alike.

    >>> round_order(["a", "b", "c"], 7, "q", 0) == round_order(["a", "b", "c"], 7, "q", 0)
    True
    """
    order = list(arms)
    random.Random(f"{seed}/{query_id}/{number}").shuffle(order)
    return order
