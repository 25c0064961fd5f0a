"""What decide answers: a proposal, no change, or cannot tell; each with its arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import Policy
from planopt_assets.model.stamp import NOT_STORED, Stamp

DecisionKind = Literal["proposal", "no_change", "cannot_tell"]
Arithmetic = Sequence[tuple[str, float | int | str]]
EXPLORE = "explore"
"""The rule of a decision that no rule took: an option of `decide/explore`."""
AS_MOST = "as_most_queries"
"""The rule of a decision that goes by the verdicts of the other queries of the workload."""
NO_ROOM = "no_room_beside_hints"
"""A fact of the arithmetic: its broadcasts and those of the hints proposed beside it are too large together."""
DROPPED, SEPARATOR = "options_dropped", "; "
"""Options of an exploration as one fact of its arithmetic."""
SAVINGS = ("saving_wall_ns_per_run", "saving_cpu_ns_per_run")
"""Facts of the arithmetic that others calculate with; the first counts where both are known."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One rule's answer for one query, stored whether or not it proposes anything.

    The id covers what was decided and on which plan and inputs; measured times are in `arithmetic`
    and stay outside, so that two runs over the same inputs give the same id.
    """

    kind: DecisionKind
    query_id: str
    rule: str
    policy_before: Policy
    policy_after: Policy
    reason: str
    expected_gain_cpu_ns: int
    arithmetic: Arithmetic
    evidence_ids: tuple[str, ...]
    input_fingerprint: str
    plan_fingerprint: str
    catalogue_version: str
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def id(self) -> str:
        return content_id(
            "dec",
            {
                "kind": self.kind,
                "query": self.query_id,
                "rule": self.rule,
                "before": self.policy_before.content,
                "after": self.policy_after.content,
                "inputs": self.input_fingerprint,
                "plan": self.plan_fingerprint,
                "catalogue": self.catalogue_version,
            },
        )

    @property
    def proposes(self) -> bool:
        return self.kind == "proposal"

    @property
    def explores(self) -> bool:
        return self.rule == EXPLORE

    @property
    def goes_first(self) -> bool:
        """Whether it is tried before whatever else is proposed: most other queries gained from it."""
        return self.proposes and self.rule == AS_MOST

    @property
    def no_room_beside_hints(self) -> bool:
        """Whether it is not tried together with a hint that broadcasts: the driver has no room for both."""
        return NO_ROOM in dict(self.arithmetic)

    @property
    def beyond(self) -> str:
        """The accepted policy that it starts from, in words. Empty: it starts from original."""
        return self.policy_before.describe() if self.policy_before.parts else ""

    @property
    def gain_ns(self) -> int:
        """What a run saves at least, in what the objective counts: the clock (`latency`), else CPU."""
        return int(dict(self.arithmetic).get(SAVINGS[0], self.expected_gain_cpu_ns))

    # What others calculate with, out of the arithmetic. Only this class knows the names there.

    @property
    def by_clock(self) -> bool:
        """Whether it was weighed by the clock (`latency`), else by CPU."""
        return SAVINGS[0] in dict(self.arithmetic)

    @property
    def run_ns(self) -> int:
        """What one run of the query costs, in what `gain_ns` counts."""
        facts = dict(self.arithmetic)
        if self.by_clock:
            return int(facts["modelled_wall_ns"])
        return int(facts["query_cpu_ns"] if "query_cpu_ns" in facts else facts["modelled_cpu_ns"])  # older: the model

    @property
    def nearly_saves_ns(self) -> float:
        """What a run would save, whether it was proposed or not; below zero if that was not calculated."""
        facts = dict(self.arithmetic)
        return float(next((facts[name] for name in SAVINGS if name in facts), -1))

    @property
    def runs_per_day(self) -> float:
        return float(dict(self.arithmetic)["runs_per_day"])

    @property
    def prices_id(self) -> str | None:
        """The cost model that it went by. None: the prices that planopt brings along."""
        named = dict(self.arithmetic).get("prices")
        return str(named) if named else None

    @property
    def known_until(self) -> int:
        """Of an exploration: the highest sequence among the verdicts that it knew."""
        return int(dict(self.arithmetic)["known_until"])

    @property
    def options_dropped(self) -> tuple[str, ...]:
        """Of an exploration: the options that were known to change no plan."""
        told = str(dict(self.arithmetic)[DROPPED])
        return tuple(told.split(SEPARATOR)) if told else ()
