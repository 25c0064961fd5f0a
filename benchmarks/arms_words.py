"""What the benchmark says of planopt, in sentences computed from the raw numbers. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.arms_names import REMEDIES, SAME_FOR_ALL
from benchmarks.arms_numbers import (
    CONFIDENCE,
    Raw,
    against,
    best_of,
    broken_by,
    different,
    failing,
    share_reached,
    worse_in_words,
)

_RIVALS = {"planopt_settings": SAME_FOR_ALL, "planopt_layout": (*SAME_FOR_ALL, *REMEDIES)}
"""What each arm of planopt has to beat: one choice for all, of settings, or of settings and layouts."""


def sentences(raw: Raw) -> list[str]:
    """One fact each; nothing of arms that were not measured."""
    found: list[str] = []
    for arm in (name for name in _RIVALS if name in raw["clocks"]):
        found += [*_against_the_best(raw, arm), *_against_the_tuner(raw, arm), *_of_the_grid(raw, arm)]
        found += [*_worse(raw, arm), *_rewritten(raw, arm)]
    return found


def _against_the_best(raw: Raw, arm: str) -> Iterator[str]:
    present = [name for name in _RIVALS[arm] if name in raw["clocks"]]
    out = [f"{name}, which breaks {', '.join(found)}" for name in present if (found := broken_by(raw, name))]
    left_out = f" Not counted: {'; '.join(out)}." if out else ""
    if (rival := best_of(raw, present)) is not None:
        yield f"{arm} against {rival}, the best arm of one choice for all: {_compared(raw, arm, rival)}.{left_out}"
    elif out:
        yield f"{arm}: every arm of one choice for all breaks a query.{left_out}"


def _against_the_tuner(raw: Raw, arm: str) -> Iterator[str]:
    if arm == "planopt_settings" and "three_knobs" in raw["clocks"]:
        yield f"{arm} against three_knobs, which had as many executions: {_compared(raw, arm, 'three_knobs')}."


def _of_the_grid(raw: Raw, arm: str) -> Iterator[str]:
    if "grid" not in raw["clocks"]:
        return
    share = share_reached(raw, arm, "grid")
    if share is None:
        yield f"{arm}: the grid itself saves no CPU."
    else:
        yield f"{arm} reaches {share:.0%} of what the grid saves in CPU. The grid changes settings alone."


def _worse(raw: Raw, arm: str) -> Iterator[str]:
    for what, queries in (("fails", failing(raw, arm)), ("returns another result", different(raw, arm))):
        if queries:
            yield f"{arm} {what}: {', '.join(queries)}."
    if raw["rounds"] < 2:
        yield f"{arm}: one round proves no query worse than original."
    elif queries := worse_in_words(raw, arm):
        yield f"{arm}: surely worse than original in CPU or wall clock: {', '.join(queries)}."
    else:
        yield f"{arm}: no query is surely worse than original."


def _rewritten(raw: Raw, arm: str) -> Iterator[str]:
    """Only of layouts: policies rewrite nothing."""
    everything = next((raw["charges"][name]["bytes_rewritten"] for name in REMEDIES[1:] if name in raw["charges"]), 0)
    if arm != "planopt_layout" or not everything:
        return
    mine = raw["charges"][arm]["bytes_rewritten"]
    yield (
        f"{arm} rewrote {mine / 1e6:,.0f} MB, OPTIMIZE of everything {everything / 1e6:,.0f} MB: "
        f"{mine / everything:.0%} of that."
    )


def _compared(raw: Raw, arm: str, other: str) -> str:
    """In CPU, with an interval from two rounds on."""
    ratio = against(raw, arm, other)
    if ratio is None:
        return "no query that both answer alike"
    other_result = sorted({*different(raw, arm), *different(raw, other)})
    without = f", without {', '.join(other_result)}, where results differ" if other_result else ""
    if raw["rounds"] < 2:
        return f"{_percent(ratio.ratio)} CPU (one round, no interval){without}"
    sure = "surely better" if ratio.high < 1 else "surely worse" if ratio.low > 1 else "no sure difference"
    interval = f"{CONFIDENCE:.0%} interval: {_percent(ratio.low)} to {_percent(ratio.high)}"
    return f"{_percent(ratio.ratio)} CPU ({interval}), {sure}{without}"


def _percent(ratio: float) -> str:
    """
    >>> _percent(0.88), _percent(1.021), _percent(1.0)
    ('12.0 % less', '2.1 % more', '0.0 % more')
    """
    return f"{1 - ratio:.1%} less".replace("%", " %") if ratio < 1 else f"{ratio - 1:.1%} more".replace("%", " %")
