"""The order in which the arms of an experiment run: interleaved, and shuffled from a recorded seed."""

from __future__ import annotations

import random
from collections.abc import Sequence


def round_order(arms: Sequence[str], seed: int, query_id: str, number: int) -> list[str]:
    """The arms of one round, in a random order that can be reproduced.

    A round runs every arm once, back to back. So slow changes (caches, compilation, other load) affect all arms alike.
    Every second round reverses the one before it, because running first may cost something. With three independent
    draws, one side would run first all three times in a quarter of all experiments.

    >>> round_order(["a", "b", "c"], 7, "q", 1) == round_order(["a", "b", "c"], 7, "q", 1)
    True
    >>> round_order(["a", "b", "c"], 7, "q", 2) == round_order(["a", "b", "c"], 7, "q", 1)[::-1]
    True
    """
    order = list(arms)
    random.Random(f"{seed}/{query_id}/{(number + 1) // 2}").shuffle(order)
    return order if number % 2 else order[::-1]
