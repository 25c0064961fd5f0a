"""Which input of a join may be built, broadcast or split, by the kind of join; and the shuffle that feeds it.

An outer join must keep rows without a match. Such an input must not be copied to all tasks: each unmatched row would
come out many times. Spark refuses this, and ignores a hint that asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planopt_assets.model.signals import SIDES, Exchange, Join, JoinInput, SideName

SHUFFLED_JOINS: Final = ("SortMergeJoin", "ShuffledHashJoin")

_BROADCAST: dict[SideName, tuple[str, ...]] = {
    "left": ("Inner", "Cross", "RightOuter"),
    "right": ("Inner", "Cross", "LeftOuter", "LeftSingle", "LeftSemi", "LeftAnti", "ExistenceJoin"),
}
# A shuffled hash join builds one table per partition. So it can also track which rows found a match.
_HASHED: dict[SideName, tuple[str, ...]] = {
    "left": ("Inner", "Cross", "LeftOuter", "RightOuter", "FullOuter"),
    "right": (*_BROADCAST["right"], "RightOuter", "FullOuter"),
}
_SPLIT: dict[SideName, tuple[str, ...]] = {
    "left": ("Inner", "Cross", "LeftOuter", "LeftSemi", "LeftAnti"),
    "right": ("Inner", "Cross", "RightOuter"),
}


def may_broadcast(kind: str, side: SideName) -> bool:
    """Whether Spark can copy this input of such a join to all tasks.

    >>> may_broadcast("LeftOuter", "right"), may_broadcast("LeftOuter", "left"), may_broadcast("FullOuter", "left")
    (True, False, False)
    """
    return _plain(kind) in _BROADCAST[side]


def may_hash(kind: str, side: SideName) -> bool:
    """Whether a shuffled hash join can build this input.

    >>> may_hash("FullOuter", "left"), may_hash("LeftSemi", "left")
    (True, False)
    """
    return _plain(kind) in _HASHED[side]


def may_split(kind: str, side: SideName) -> bool:
    """Whether a skewed partition of this input may be split. The other side's partition is copied to each piece."""
    return _plain(kind) in _SPLIT[side]


def feeding(side: JoinInput, exchanges: Iterable[Exchange]) -> Exchange | None:
    """The shuffle that feeds this input: it wrote as many rows. Of several, the one with the largest partition."""
    if not side.shuffled or side.rows is None:
        return None
    found = [x for x in exchanges if x.feeds_join and x.rows == side.rows]
    return max(found, key=lambda x: (x.largest_bytes or 0, -x.node), default=None)


def fed_side(exchange: Exchange, joins: Iterable[Join]) -> tuple[Join, SideName] | None:
    """The shuffled join, and its side, that this shuffle feeds: it read as many rows as the shuffle wrote."""
    found = (
        (join, side)
        for join in joins
        for side in SIDES
        if join.strategy in SHUFFLED_JOINS and join.side(side).shuffled and join.side(side).rows == exchange.rows
    )
    return next(found, None)


def _plain(kind: str) -> str:
    """`ExistenceJoin(exists#12)` is an `ExistenceJoin`."""
    return kind.partition("(")[0]
