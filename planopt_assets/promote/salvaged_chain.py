"""The chain of a query from whatever is left of its rows. Pure.

A chain may be found whole, by its head or by itself. Otherwise nobody knows what was decided last. Then the chain is
closed: the query is pinned to original until a person decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.promotion import GENESIS, Chain, Promotion

REPAIR = "planopt repair"


@dataclass(frozen=True, slots=True)
class End:
    """The last generation that somebody saw: by number, and by hash where it is known."""

    generation: int
    chain_hash: str | None = None


def linked(promotions: Iterable[Promotion], kept: Chain = ()) -> Chain:
    """The longest chain that follows from `kept`. Of two rows of one generation, the one with the longer chain."""
    following: dict[str, list[Promotion]] = {}
    for promotion in promotions:
        known = following.setdefault(promotion.previous_hash, [])
        if promotion not in known:
            known.append(promotion)
    return _longest(kept, following)


def _longest(chain: Chain, following: dict[str, list[Promotion]]) -> Chain:
    best = chain
    for one in following.get(chain[-1].chain_hash if chain else GENESIS, ()):
        if one.generation == len(chain) + 1:
            longer = _longest((*chain, one), following)
            best = longer if len(longer) > len(best) else best
    return best


def is_whole(chain: Chain, seen: Sequence[End]) -> bool:
    """Whether a chain has every generation that was seen. Generation 0 is original, which every chain has."""
    hashes = (None, *(promotion.chain_hash for promotion in chain))
    return all(len(chain) >= end.generation and end.chain_hash in (None, hashes[end.generation]) for end in seen)


def closed(workload: str, query_id: str, chain: Chain, verdict_ids: Iterable[str]) -> Chain:
    """The chain with one more generation: original, pinned. No verdict so far promotes by itself again.

    >>> (last,) = closed("demo", "q", (), ["ver-1"])
    >>> last.describe()
    'generation 1 (fixed by planopt repair): original, because what was decided after generation 0 is lost'
    """
    last = Promotion(
        workload=workload,
        query_id=query_id,
        generation=len(chain) + 1,
        policy=ORIGINAL,
        state="fixed",
        reason=f"what was decided after generation {len(chain)} is lost",
        verdict_id="",
        candidate_id="",
        input_fingerprint="",
        previous_hash=chain[-1].chain_hash if chain else GENESIS,
        restores=0,
        who=REPAIR,
        evidence_ids=tuple(dict.fromkeys(verdict_ids)),
    )
    return (*chain, last)
