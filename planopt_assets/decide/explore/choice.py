"""Which option to try next: the one that gained most so far, on the plans that are most similar to this one. Pure.

Every verdict on an option counts by how similar its query's plan is, and one that was not accepted saved nothing. An
option that nobody tried is trusted to save half of what it touches, at prices that are the low end of what was
measured: nothing is spared whole. What trials show soon outweighs that.

Worked: hash joins touch sorts, 10 % of the query, and saved 30 % of one with the same plan: (2 x 5 % + 1 x 30 %) / 3 =
13 %. Splits touch as much and brought nothing to three such queries: (2 x 5 %) / 5 = 2 %. Filters touch 20 % and were
never tried: 10 %. Hash joins go first, then filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planopt_assets.decide.explore.plan_features import PlanFeatures, similarity
from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import Policy

TRUST_COUNTS = 2.0  # as that many trials on plans with the same numbers
TRUSTED = 0.5  # of what an option touches; 66 options at TPC-H scale 1 were trusted to save it all: one of them gained
_DIGITS = 6  # of a share: the same on every machine, whatever its last bits are


@dataclass(frozen=True, slots=True)
class Experience:
    """One verdict on a change: whose it is, what the query's plan looks like, and the share of a run that it saved."""

    query_id: str
    change: Policy
    saved: float  # 0 where it was not accepted
    features: PlanFeatures


@dataclass(frozen=True, slots=True)
class Prospect:
    """An option with what it is expected to save, as a share of a run, and what is behind that."""

    name: str
    policy: Policy
    touched: float  # the share that it can change
    share: float
    tried: int = 0
    helped: int = 0

    @property
    def words(self) -> str:
        if not self.tried:
            return "no query tried it yet"
        return f"it helped {self.helped} of {self.tried} queries that tried it"


def prospects(
    options: Mapping[str, Policy],
    features: PlanFeatures,
    experiences: Iterable[Experience],
    *,
    touched: Mapping[str, float],
    seed: int,
    query_id: str,
) -> list[Prospect]:
    """The options, the most promising first. Equal ones in an order that is drawn from the seed for each query.

    `touched` is the share of a run that each can change. Options that touch the same begin in a different order for
    each query, and all learn from each of them.
    """
    known: dict[Policy, list[Experience]] = {}
    for one in experiences:
        known.setdefault(one.change, []).append(one)
    weighed = [
        _prospect(name, policy, touched[name], features, known.get(policy, ())) for name, policy in options.items()
    ]
    return sorted(weighed, key=lambda p: (-p.share, content_id("opt", [seed, query_id, p.name])))


def _prospect(
    name: str, policy: Policy, touched: float, features: PlanFeatures, experiences: Sequence[Experience]
) -> Prospect:
    told = [(similarity(features, e.features), e.saved) for e in experiences]
    weight = TRUST_COUNTS + sum(w for w, _ in told)
    share = (TRUST_COUNTS * TRUSTED * touched + sum(w * saved for w, saved in told)) / weight
    return Prospect(
        name, policy, round(touched, _DIGITS), round(share, _DIGITS), len(told), sum(saved > 0 for _, saved in told)
    )
