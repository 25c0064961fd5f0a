"""What the blocks of shuffles cost: each writing task leaves one per partition, and an empty one is cheap. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from planopt_assets.model.cost_model import Prices
from planopt_assets.model.signals import Exchange

EMPTY_BLOCK_NS = 20_000  # a bound: in three measurements it could not be told from 0, 16 µs at most


def filled_blocks(blocks: int, exchanges: Sequence[Exchange]) -> int:
    """How many blocks may hold rows: no more than there are rows. All of them where an exchange does not tell its rows.

    >>> filled_blocks(1000, [Exchange(1, 200, 1999, rows=12)]), filled_blocks(1000, [Exchange(1, 200, 1999)])
    (12, 1000)
    """
    rows = [x.rows for x in exchanges if x.rows is not None]
    return min(blocks, sum(rows)) if len(rows) == len(exchanges) else blocks


def blocks_ns(blocks: int, exchanges: Sequence[Exchange], prices: Prices) -> int:
    """What a change that avoids these blocks is credited with.

    Worked: 5 tasks write 24 groups into 200 partitions: 24 x 0.2 ms + 976 x 0.02 ms = 24 ms. If each of the 1,000
    blocks held rows, it would be 200 ms.
    """
    filled = filled_blocks(blocks, exchanges)
    return filled * prices.saved_block_ns + (blocks - filled) * EMPTY_BLOCK_NS
