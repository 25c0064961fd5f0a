"""A verdict as decide remembers it: what was tried, how it ended, and whether it still counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planopt_assets.model.verdict import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The generation that took an accepted policy out of force, and when, in seconds since 1970."""

    how: Literal["reverted", "expired"]
    promotion_id: str
    reason: str
    at: int
    sequence: int = 0  # of the commit, see `Stamp`
    times: int = 1  # how often automation took this policy back

    @property
    def for_good(self) -> bool:
        """Whether no time heals it: the policy was taken back twice, so its trials do not tell."""
        return self.how == "reverted" and self.times > 1


@dataclass(frozen=True, slots=True)
class PastVerdict:
    """One stored verdict; `judged_at` is in seconds since 1970, an argument like any other."""

    verdict: Verdict
    judged_at: int
    taken_back: TakenBack | None = None  # by watch or expiry; a person's rollback leaves what was proven as it is
    sequence: int = 0  # of the commit, see `Stamp`

    @property
    def counts_as(self) -> Outcome | None:
        """What it says today; None: nothing, since what it was given on no longer exists."""
        if self.taken_back is None:
            return self.verdict.outcome
        return "reject" if self.taken_back.how == "reverted" else None

    @property
    def counts_from(self) -> int:
        return self.taken_back.at if self.taken_back else self.judged_at

    @property
    def place(self) -> tuple[int, int, int, str]:
        """Its order among the verdicts of a query: by commit, and by clock only before planopt kept commits."""
        ended = self.taken_back
        return ended.sequence if ended else self.sequence, self.counts_from, self.judged_at, self.verdict.id
