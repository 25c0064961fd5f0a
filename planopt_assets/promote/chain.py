"""Reads a query's chain of generations: where a rollback leads, and which verdicts may promote again. Pure.

A policy is taken back when it is reverted, rolled back or expired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import Chain, Promotion, State, in_force


def last_good(chain: Chain, states: Sequence[State] = ("accepted", "fixed")) -> Promotion | None:
    """The newest earlier generation with another policy that was not taken back since. None means original.

    Worked: g1 accepts A, g2 accepts B, g3 accepts A again, g4 reverts to B. From g4 the last good policy is original:
    A is at g1, but g4 took it back.
    """
    return next((p for p in _standing(chain, states) if p.policy != in_force(chain)), None)


def before_the_pin(chain: Chain) -> Promotion | None:
    """The generation that automation had in force before the first pin. None means original."""
    return next(_standing(chain, ("accepted",)), None)


def spent(chain: Chain, *, by_hand: bool) -> frozenset[str]:
    """Verdicts that may not promote their policy again, because it was taken back after them.

    A revert by watch binds everybody: the evidence was wrong. A rollback and an expiry bind automation only: a person
    may promote the policy again.
    """
    found: set[str] = set()
    for taken_by, before in _taken_back(chain):
        if by_hand and not (taken_by.state == "reverted" and taken_by.who is None):
            continue
        found |= {p.verdict_id for p in chain[: taken_by.generation - 1] if p.policy == before.policy}
        found |= {row for row in taken_by.evidence_ids if row.startswith("ver-")}
    return frozenset(found - {""})


def taken_back(chain: Chain) -> dict[str, Promotion]:
    """Accepted verdicts that no longer hold, each with the last automatic generation that ended its policy.

    A revert by watch ends the policy in force. An expiry ends everything proven before it. A person's rollback is not
    included: the evidence still holds.
    """
    found: dict[str, Promotion] = {}
    for ended_by_it, before in _taken_back(chain):
        ended = chain[ended_by_it.generation - 2].policy
        watched = ended_by_it.state == "reverted" and ended_by_it.who is None and before.policy == ended
        if watched or ended_by_it.state == "expired":
            proofs = [p.verdict_id for p in chain[: ended_by_it.generation - 1] if p.policy == before.policy]
            named = [row for row in ended_by_it.evidence_ids if row.startswith("ver-")]
            found |= {verdict_id: ended_by_it for verdict_id in (*proofs, *named) if verdict_id}
    return found


def _standing(chain: Chain, states: Sequence[State]) -> Iterator[Promotion]:
    """Earlier generations that may be in force again, newest first."""
    taken = {(taken_by.generation, before.policy) for taken_by, before in _taken_back(chain)}
    for place in range(len(chain) - 2, -1, -1):
        one, following = chain[place], chain[place + 1]
        if one.state not in states or any(g > one.generation and policy == one.policy for g, policy in taken):
            continue
        if one.fixed and not following.fixed:
            continue  # unpinned by a person
        yield one


def ended_by(chain: Chain, policy: Policy) -> Promotion | None:
    """The generation that took a policy back. None if the policy was in force again since."""
    last = next((p.generation for p in reversed(chain) if p.policy == policy), 0)
    ends = [taken_by for taken_by, before in _taken_back(chain) if before.policy == policy]
    return next((p for p in reversed(ends) if p.generation > last), None)


def _taken_back(chain: Chain) -> Iterator[tuple[Promotion, Promotion]]:
    """Pairs: a generation that took a policy back, and a generation that it ended.

    Going back to original takes back every earlier policy.
    """
    for before, after in pairwise(chain):
        undone = after.state in ("reverted", "expired") or (after.fixed and after.restores is not None)
        if undone and after.restores == 0:
            yield from ((after, one) for one in chain[: after.generation - 1] if one.policy != ORIGINAL)
        elif undone and after.policy != before.policy:
            yield after, before
