"""Prices fitted to stored executions: what each unit of work costs in this environment. Pure.

Non-negative least squares of the relative error, each query with the same weight, so that one that ran a thousand times
does not decide alone. The given prices count a little too, so that a unit of which nothing is known keeps its price.
Executions that fit nothing else, such as those of a busy machine, lose weight step by step (Huber).

Worked: queries of 100 and of 300 tasks take 1.1 s and 3.1 s, and nothing else differs. 200 tasks are 2 s, so a task
costs 10 ms, and not the given 5.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from planopt_assets.model.cost_model import GIVEN, PRICE_OF, UNKNOWN, Environment, Prices, Work
from planopt_assets.model.ids import content_id

ENOUGH_EXECUTIONS = 60
ENOUGH_QUERIES = 6
GIVEN_COUNTS = 0.1  # of a query: how much the given price of each unit counts
FARTHEST = 4.0  # times the given price, at most, and as small a part of it at least
_OUTLYING = 0.5  # relative error from which an execution loses weight
_STEPS = 8
_NAMES = ("query_ns", *PRICE_OF.values())
_DIGITS = 3  # of a price: the same on every machine, whatever its last bits are


def fitted(
    work: Sequence[Work], held: int = 0, given: Prices = GIVEN, environment: Environment = UNKNOWN
) -> Prices | None:
    """The prices that tell this work best, out of `held` executions. None: it is too little, or of too few queries.

    In whatever order the work is given, they are the same to the last digit: how a store lays out its rows may change.
    """
    work = sorted(work)
    counts = Counter(w.query_id for w in work)
    if len(work) < ENOUGH_EXECUTIONS or len(counts) < ENOUGH_QUERIES:
        return None
    shares = _solved(work, [1 / counts[w.query_id] for w in work], given)
    found = {
        name: _rounded(price * min(FARTHEST, max(1 / FARTHEST, share)))
        for name, price, share in zip(_NAMES, _listed(given), shares, strict=True)
    }
    prices = _prices(found)
    return replace(
        prices,
        executions=max(held, len(work)),
        queries=len(counts),
        error=round(error(work, prices), _DIGITS),
        prior_error=round(error(work, given), _DIGITS),
        fitted_on=content_id("wrk", [[w.query_id, w.cpu_ns, *_units(w)] for w in work]),
        cores=environment.cores,
        engine=environment.engine,
    )


def error(work: Sequence[Work], prices: Prices) -> float:
    """By how much modelled and measured CPU differ, as a factor: the median over queries of their own median.

    >>> from planopt_assets.model.work_units import Units
    >>> error([Work("q", 400_000_000, Units(rows=5_000_000))], GIVEN)
    2.0
    """
    of_query: dict[str, list[float]] = {}
    for one in work:
        modelled = prices.query_ns + prices.of(one.units)
        of_query.setdefault(one.query_id, []).append(abs(math.log(modelled / one.cpu_ns)))
    return math.exp(median(median(factors) for factors in of_query.values()))


def _solved(work: Sequence[Work], weights: Sequence[float], given: Prices) -> list[float]:
    """The share of each given price that fits best, in the order of `_NAMES`."""
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


def _units(work: Work) -> list[int]:
    """In the order of `_NAMES`: one query, and what it did."""
    return [1, *(getattr(work.units, unit) for unit in PRICE_OF)]


def _listed(prices: Prices) -> list[int]:
    return [getattr(prices, name) for name in _NAMES]


def _prices(named: Mapping[str, int]) -> Prices:
    return replace(GIVEN, **named)  # type: ignore[arg-type]  # every name is that of a price


def _rounded(price: float) -> int:
    """
    >>> _rounded(1234.5), _rounded(99.6), _rounded(4_987_654.3)
    (1230, 100, 4990000)
    """
    places = _DIGITS - 1 - math.floor(math.log10(price))
    return int(round(price, min(0, places)))
