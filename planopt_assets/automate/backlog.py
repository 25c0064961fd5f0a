"""How far a sensor has read the rows of the store, and which queries it looks at next. Pure.

A sweep stores rows of a thousand queries in one commit. A sensor goes through them in ticks of some dozens, by their
ids, and only then moves on: no row is left out, however many are added meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from planopt_assets.automate.outages import Outages

FORMAT = 1
MOST = 60
"""Queries of one tick: it stays well below a second. A thousand queries take seventeen ticks, so eight minutes."""

Numbers = Mapping[str, int]
"""By table, the number of a commit, see `store/sequence.py`. In one table it only grows; two may end with the same."""


@dataclass(frozen=True, slots=True)
class Position:
    """All rows up to these numbers were looked at, and of those up to `target` the queries up to `after`."""

    numbers: Numbers = field(default_factory=dict)
    target: Numbers = field(default_factory=dict)
    after: str = ""
    unreadable: Outages = field(default_factory=dict)
    seen: str = ""  # what they were looked at with: the workload file, or the store that counts them

    def text(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)})


@dataclass(frozen=True, slots=True)
class Batch:
    """Queries to look at, and the position once that is done."""

    query_ids: tuple[str, ...]
    position: Position


def read_position(text: str | None, of: str) -> Position:
    """The start, if the cursor is lost, if another planopt wrote it, or if it is of something else."""
    try:
        content: Any = json.loads(text or "{}")
        if content.pop("format", None) == FORMAT and content.get("seen") == of:
            return Position(**content)
    except (ValueError, TypeError, AttributeError):
        pass
    return Position(seen=of)


def next_batch(queries: Collection[str], newest: Numbers, position: Position, most: int = MOST) -> Batch:
    """The next queries of those with rows after the position; `newest` are the numbers that the tables end with.

    >>> first = next_batch({"a", "b", "c"}, {"verdicts": 7}, Position(), most=2)
    >>> first.query_ids, first.position.numbers, first.position.after
    (('a', 'b'), {}, 'b')
    >>> next_batch({"a", "b", "c"}, {"verdicts": 8}, first.position, most=2)  # 8 came while the pass was under way
    Batch(query_ids=('c',), position=Position(numbers={'verdicts': 7}, target={}, after='', unreadable={}, seen=''))
    """
    target = position.target or newest
    left = sorted(query for query in queries if query > position.after)
    if len(left) > most:
        return Batch(tuple(left[:most]), replace(position, target=target, after=left[most - 1]))
    return Batch(tuple(left), replace(position, numbers=target, target={}, after=""))
