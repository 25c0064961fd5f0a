"""A policy that automation took back twice waits: for a person, or for other inputs. Pure.

A policy whose trials are better than its real runs would be accepted, taken back, and accepted again a month later, for
ever. Twice is enough to know that its trials do not tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from planopt_assets.decide.history import similar
from planopt_assets.model.policy import Policy
from planopt_assets.model.promotion import Chain
from planopt_assets.model.verdict import Verdict
from planopt_assets.promote.chain import spent

MOST = 2


def times_taken_back(chain: Chain, policy: Policy) -> int:
    """How often automation reverted a policy that was in force. Expiry and a person's rollback do not count."""
    ends = [after for before, after in pairwise(chain) if before.policy == policy and after.policy != policy]
    return sum(after.state == "reverted" and after.who is None for after in ends)


def waiting(chain: Chain, verdicts: Sequence[Verdict]) -> frozenset[str]:
    """Verdicts that automation may not promote: their policy was taken back twice on inputs like theirs."""
    often = {v.policy for v in verdicts if times_taken_back(chain, v.policy) >= MOST}
    if not often:
        return frozenset()
    gone = spent(chain, by_hand=False)
    failed = [v for v in verdicts if v.policy in often and v.id in gone]
    return frozenset(v.id for v in verdicts if any(v.policy == f.policy and _alike(v, f) for f in failed))


def _alike(one: Verdict, other: Verdict) -> bool:
    """Same meaning, same context, and each table within a factor of two. What is unknown counts as alike."""
    same = (one.canonical_fingerprint, one.context_hash) == (other.canonical_fingerprint, other.context_hash)
    if one.conditions and other.conditions:
        return same and similar(one.conditions.proven.sizes, other.conditions.proven.sizes)
    sizes = one.input_bytes, other.input_bytes
    return same and (None in sizes or similar({"all": sizes[0]}, {"all": sizes[1]}))
