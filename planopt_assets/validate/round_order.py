"""In which order the arms of an experiment run: interleaved, shuffled from a recorded seed."""

from __future__ import annotations

import random
from collections.abc import Sequence


def round_order(arms: Sequence[str], seed: int, query_id: str, number: int) -> list[str]:
    """The arms of one round in a random order that anybody can draw again.

    A round runs every arm once, back to back, so that what changes slowly (caches, compilation, neighbours)
    meets all of them alike. Every second round is the one before it the other way round: where the first place costs
    something, three coins would give it to the same side three times in a quarter of all trials.

    >>> round_order(["a", "b", "c"], 7, "q", 1) == round_order(["a", "b", "c"], 7, "q", 1)
    True
    >>> round_order(["a", "b", "c"], 7, "q", 2) == round_order(["a", "b", "c"], 7, "q", 1)[::-1]
    True
    """
    order = list(arms)
    random.Random(f"{seed}/{query_id}/{(number + 1) // 2}").shuffle(order)
    return order if number % 2 else order[::-1]
