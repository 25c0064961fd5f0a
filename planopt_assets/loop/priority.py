"""In which order queries are tried: what gains most for a second of trial comes first.

Worked: `q1` would save 342 s of CPU in 30 days and its trial costs 30 s: 11.4. `q2` would save 900 s and its trial
costs 60 s: 15, but it was planned without statistics, so what it gains is known badly: half, 7.5. `q1` goes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planopt_assets.decide.materiality import EXPECTED_EXECUTIONS, HORIZON_DAYS
from planopt_assets.model.decision import Decision
from planopt_assets.replan.candidates import AT_ONCE, Proposed, in_turn

WITHOUT_STATISTICS = 0.5
UNSURE = ("none", "explain")  # sources of statistics that say little about rows


@dataclass(frozen=True, slots=True)
class Promise:
    """What trying a query's proposals is expected to gain and to cost, in nanoseconds of what the objective counts."""

    gain_ns_per_run: int
    gain_ns_over_horizon: int
    trial_cost_ns: int
    discount: float = 1.0

    @property
    def rank(self) -> float:
        """Gain for each second of trial."""
        return self.gain_ns_over_horizon * self.discount / self.trial_cost_ns if self.trial_cost_ns else 0.0

    @property
    def priority(self) -> int:
        """The same as a whole number, as Dagster wants it; 0 is the priority of any run."""
        return min(round(self.rank), 1_000_000)


NO_PROMISE = Promise(0, 0, 0)


def promise(decisions: Sequence[Decision], statistics_source: str | None) -> Promise:
    """What the proposals among these decisions promise together.

    They may save the same work twice, so together never more than the query costs. However many there are, a trial
    costs the same: their combination is tried first, and each by itself only where that fails.
    """
    proposed = [d for d in decisions if d.proposes]
    if not proposed:
        return NO_PROMISE
    whole, runs = max(d.run_ns for d in proposed), proposed[0].runs_per_day
    gain = min(whole, sum(one.gain_ns for one in in_turn([Proposed.of(d) for d in proposed])[:AT_ONCE]))
    return Promise(
        gain_ns_per_run=gain,
        gain_ns_over_horizon=round(gain * runs * HORIZON_DAYS),
        trial_cost_ns=EXPECTED_EXECUTIONS * whole,
        discount=WITHOUT_STATISTICS if statistics_source in UNSURE else 1.0,
    )


def in_order(promises: Mapping[str, Promise]) -> list[str]:
    """Query ids, the highest rank first; equal ones in the order they came."""
    return sorted(promises, key=lambda query: -promises[query].rank)
