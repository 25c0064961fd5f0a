"""Has a level changed? A sequential test over runs. Its error holds however often, and for however long, it is asked.

Each step is a bet that the level has changed: one factor for each alternative. If nothing changed, the mean of each
factor is at most 1, whatever came before. So the product of factors is a fair game: by Ville's inequality it ever
reaches 1 / error with a probability of at most `error`. A change may begin at any step, and nobody knows which. So the
stake is shared out: step k starts a game of its own with 1 / (k (k + 1)) of it, and all shares add up to 1.

Worked: from the first step on every factor is 10. The game of step 1 has stake 1/2, so after three steps it holds 500.
After 100 steps without a change the game of step 101 has stake 1/10,302: it takes seven steps to hold as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

_MOST = 1e12  # a capped game is less than fair, so the error holds


def change_evidence(steps: Iterable[Sequence[float]]) -> float:
    """How much the games hold now: 1 / error is evidence of a change at this error.

    >>> round(change_evidence([(10.0,)] * 3))
    518
    >>> change_evidence([])
    1.0
    """
    held = 1.0
    for after in held_after(steps):
        held = after
    return held


def held_after(steps: Iterable[Sequence[float]]) -> Iterator[float]:
    """How much the games hold after each step."""
    games: list[float] = []
    for taken, factors in enumerate(steps, start=1):
        games = games or [0.0] * len(factors)
        stake = 1 / (taken * (taken + 1))
        games = [min((held + stake) * factor, _MOST) for held, factor in zip(games, factors, strict=True)]
        yield sum(games) / len(games) + 1 / (taken + 1)  # and the games that have not started
