"""Prices fitted to stored executions: what a row, a file, a task and a block cost in this environment. Pure.

Non-negative least squares of the relative error, each query with the same weight, so that one that ran a thousand times
does not decide alone. The given prices count a little too, so that a unit of which nothing is known keeps its price.
Executions that fit nothing else, such as those of a busy machine, lose weight step by step (Huber).

Worked: queries of 100 and of 300 tasks take 1.1 s and 3.1 s, and nothing else differs. 200 tasks are 2 s, so a task
costs 10 ms, and not the given 5.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

from planopt_assets.model.cost_model import GIVEN, Prices, Work
from planopt_assets.model.ids import content_id

ENOUGH_EXECUTIONS = 60
ENOUGH_QUERIES = 6
GIVEN_COUNTS = 0.1  # of a query: how much the given price of each unit counts
FARTHEST = 4.0  # times the given price, at most, and as small a part of it at least
_OUTLYING = 0.5  # relative error from which an execution loses weight
_STEPS = 8
_DIGITS = 3  # of a price: the same on every machine, whatever its last bits are


def fitted(work: Sequence[Work], held: int = 0, given: Prices = GIVEN) -> Prices | None:
    """The prices that tell this work best, out of `held` executions. None: it is too little, or of too few queries."""
    counts = Counter(w.query_id for w in work)
    if len(work) < ENOUGH_EXECUTIONS or len(counts) < ENOUGH_QUERIES:
        return None
    shares = _solved(work, [1 / counts[w.query_id] for w in work], given)
    row, file, task, block, query = (
        _rounded(price * min(FARTHEST, max(1 / FARTHEST, share)))
        for price, share in zip(_listed(given), shares, strict=True)
    )
    prices = Prices(row, file, task, block, query)
    return Prices(
        *_listed(prices),
        executions=max(held, len(work)),
        queries=len(counts),
        error=round(error(work, prices), _DIGITS),
        prior_error=round(error(work, given), _DIGITS),
        fitted_on=content_id("wrk", [[w.query_id, w.cpu_ns, *_units(w)] for w in work]),
    )


def error(work: Sequence[Work], prices: Prices) -> float:
    """By how much modelled and measured CPU differ, as a factor: the median over queries of their own median.

    >>> error([Work("q", 400_000_000, rows=100_000, files=0, tasks=0, blocks=0)], GIVEN)
    2.0
    """
    of_query: dict[str, list[float]] = {}
    for one in work:
        modelled = sum(unit * price for unit, price in zip(_units(one), _listed(prices), strict=True))
        of_query.setdefault(one.query_id, []).append(abs(math.log(modelled / one.cpu_ns)))
    return math.exp(median(median(factors) for factors in of_query.values()))


def _solved(work: Sequence[Work], weights: Sequence[float], given: Prices) -> list[float]:
    """The share of each given price that fits best, in the order of `_listed`."""
    import numpy as np
    from scipy.optimize import nnls

    prices = np.array(_listed(given), dtype=float)
    told = np.array([_units(w) for w in work], dtype=float) * prices / np.array([[w.cpu_ns] for w in work], dtype=float)
    held = math.sqrt(GIVEN_COUNTS) * np.eye(len(prices))
    weight = np.array(weights)
    shares = np.ones(len(prices))
    for _ in range(_STEPS):
        off = np.abs(1 - told @ shares)
        root = np.sqrt(weight * np.minimum(1.0, _OUTLYING / np.maximum(off, 1e-9)))
        rows = np.vstack([told * root[:, None], held])
        shares, _ = nnls(rows, np.concatenate([root, math.sqrt(GIVEN_COUNTS) * np.ones(len(prices))]))
    return [float(share) for share in shares]


def _units(work: Work) -> tuple[int, int, int, int, int]:
    return work.rows, work.files, work.tasks, work.blocks, 1


def _listed(prices: Prices) -> tuple[int, int, int, int, int]:
    return prices.row_ns, prices.file_ns, prices.task_ns, prices.block_ns, prices.query_ns


def _rounded(price: float) -> int:
    """
    >>> _rounded(1234.5), _rounded(99.6), _rounded(4_987_654.3)
    (1230, 100, 4990000)
    """
    places = _DIGITS - 1 - math.floor(math.log10(price))
    return int(round(price, min(0, places)))
