"""Statistics of paired measurements: confidence intervals of log ratios, agreement of signs, noise. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from planopt_assets.model.verdict import Gain

Values = Sequence[tuple[float, float]]  # baseline and candidate of each pair
FEW = 6  # with fewer pairs, the spread is taken from each side by itself


def ratio_interval(values: Values, metric: str, confidence: float) -> Gain:
    """Geometric mean of candidate / baseline, with Student's t confidence interval.

    From 6 pairs on, the spread is that of the paired log ratios: noise that both sides of a pair share cancels out.
    Fewer pairs estimate that spread badly. There the spread is taken from each side by itself (`_two_samples`).
    """
    if any(b <= 0 or c <= 0 for b, c in values):
        same = all(b == c for b, c in values)
        return Gain(metric, 1.0, 1.0, 1.0) if same else Gain(metric, 1.0, 0.0, math.inf, confidence)
    logs = [math.log(c / b) for b, c in values]
    mean = fmean(logs)
    if max(logs) - min(logs) < 1e-12:  # a deterministic counter: no spread, no interval
        return Gain(metric, math.exp(mean), math.exp(mean), math.exp(mean))
    half = _two_samples(values, confidence) if 1 < len(logs) < FEW else _paired(logs, confidence)
    return Gain(metric, math.exp(mean), _exp(mean - half), _exp(mean + half), confidence)


def _paired(logs: Sequence[float], confidence: float) -> float:
    return _quantile(confidence, len(logs) - 1) * math.sqrt(_variance(logs)) / math.sqrt(len(logs))


def _two_samples(values: Values, confidence: float) -> float:
    """Half-width of Welch's confidence interval of the difference of two means: each side has its own spread.

    With equal spreads it has twice the degrees of freedom of the paired interval. If one side is much quieter, it has
    as few. The price: noise that both sides share widens it. Running first in a round may cost something. The order of
    the rounds shares that between the sides (`round_order`).

    Worked: 3 pairs, both sides with a deviation of 0.05. At 95 % and 4 degrees of freedom it is
    2.78 x 0.05 x sqrt(2 / 3) = 0.11. The 3 log ratios, with 2 degrees, would give 4.30 x 0.07 / 1.73 = 0.18.
    If the candidate does not vary at all, 2 degrees are left: 4.30 x 0.05 x sqrt(1 / 3) = 0.12.
    """
    count = len(values)
    one, other = (_variance([math.log(v[side]) for v in values]) for side in (0, 1))
    freedom = (count - 1) * (one + other) ** 2 / (one**2 + other**2)
    return _quantile(confidence, freedom) * math.sqrt((one + other) / count)


def reach(values: Values, pairs: int, confidence: float) -> tuple[float, float] | None:
    """Forecast for `pairs` pairs: mean and upper end of the log ratio, with the same spread and an optimistic mean.

    The optimistic mean is one standard error better than the present one. None: a value is not positive, so no ratio.

    Worked: 9 pairs, mean -0.08, deviation 0.15. The optimistic mean is -0.08 - 0.15 / 3 = -0.13. At 18 pairs and 99.9 %
    the half-width is 3.97 x 0.15 / 4.24 = 0.14. The upper end is +0.01.
    """
    if any(b <= 0 or c <= 0 for b, c in values):
        return None
    logs = [math.log(c / b) for b, c in values]
    spread = math.sqrt(_variance(logs))
    lucky = fmean(logs) - spread / math.sqrt(len(logs))
    return lucky, lucky + _quantile(confidence, pairs - 1) * spread / math.sqrt(pairs)


def _variance(values: Sequence[float]) -> float:
    """In plain floats: `statistics.variance` computes with fractions, ten times slower."""
    mean = fmean(values)
    return math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)


def _quantile(confidence: float, degrees: float) -> float:
    """Student's t: half-width of a two-sided confidence interval, in standard errors.

    >>> round(_quantile(0.95, 2), 2), round(_quantile(0.999, 8), 2)
    (4.3, 5.04)
    """
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + confidence) / 2))


def _exp(log: float) -> float:
    return math.exp(log) if log < 700 else math.inf  # the interval of two pairs can be that wide


def against(values: Values, limit: float) -> int:
    """Number of pairs in which the candidate is not better than the limit. It exposes a mean made by one lucky pair.

    >>> against([(3.0, 2.0), (3.0, 2.1), (3.0, 3.2)], 1.0)
    1
    """
    return sum(c >= b * limit for b, c in values)


def noise(baseline: Sequence[float]) -> float:
    """Relative spread of one side, from the steps between neighbouring runs. So a slow drift is not counted as noise.

    Worked: 2.0, 2.2, 2.0 s are log differences of +0.095 and -0.095: sqrt((0.0091 + 0.0091) / 2 / 2) = 0.067.
    """
    if len(baseline) < 2 or min(baseline) <= 0:
        return 0.0
    steps = [math.log(b / a) for a, b in pairwise(baseline)]
    return math.sqrt(sum(s * s for s in steps) / len(steps) / 2)
