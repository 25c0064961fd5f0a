"""Confirmation: an accepted policy counts as settled only once later runs have shown its gain again. Pure.

The trial that accepts a policy may be wrong, within the query's error budget. And its gain is overstated: of many
candidates, the lucky ones are accepted. So the policy in force is tried once more against original, on a later day. A
confirmation puts nothing in force, so it spends nothing of the error budget.

    accepted ──► open ──► confirmed     a gain, again
                  │ └───► open          unclear: a second step on another day
                  └─────► failed        no gain, or unclear twice: it is taken back

The same stored rows give the same answer on any day. Only when a step is due depends on the clock (`due_at`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from planopt_assets.model.execution import Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.verdict import Verdict
from planopt_assets.promote.confirmed_by_runs import confirmed_by_runs

STEPS = 2  # at most
LATER_S = 12 * 3_600  # from one step to the next: another night, not the same one
EXECUTIONS = 8  # of a step that finds what it expects: a first run of both sides and three pairs


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Where the policy in force stands, and the rows that say so."""

    state: Literal["open", "confirmed", "failed"]
    reason: str
    due_at: int = 0  # seconds since 1970, while it is open
    evidence: tuple[str, ...] = ()

    def due(self, now: int) -> bool:
        return self.state == "open" and now >= self.due_at


def confirmation(active: Promotion, verdicts: Sequence[Verdict], ran: Sequence[Execution] = ()) -> Confirmation | None:
    """What later trials, and runs of the user's own job (`ran`), say about the policy in force. All are oldest first.

    None: nothing is to be confirmed, for original and for a person's pin. The newest clear answer counts, whatever the
    trial was for: a trial that rejects the policy in force takes it back. Where control runs confirm it, no trial is
    needed.
    """
    if active.policy == ORIGINAL or active.fixed:
        return None
    proof = next((place for place, v in enumerate(verdicts) if v.id == active.verdict_id), len(verdicts))
    later = [v for v in verdicts[proof + 1 :] if v.policy == active.policy and v.against_original]
    clear = [v for v in later if v.proven or v.outcome == "reject"]
    if clear and clear[-1].outcome == "reject":
        return Confirmation("failed", f"a later trial rejected it: {clear[-1].reason}", evidence=(clear[-1].id,))
    if clear:
        return Confirmation("confirmed", f"confirmed by {clear[-1].id}: {clear[-1].reason}", evidence=(clear[-1].id,))
    objective = verdicts[proof].judgement.objective if proof < len(verdicts) else None
    if objective is not None and (words := confirmed_by_runs(active, ran, objective)):
        return Confirmation("confirmed", f"confirmed by production: {words}")
    unclear = [v for v in later if v.confirms]
    if len(unclear) >= STEPS:
        words = f"not confirmed in {STEPS} trials on later days: {unclear[-1].reason}"
        return Confirmation("failed", words, evidence=tuple(v.id for v in unclear))
    last = unclear[-1].stamp if unclear else active.stamp
    return Confirmation("open", f"to be confirmed, step {len(unclear) + 1} of {STEPS}", last.second + LATER_S)


def cost_s(proof: Verdict | None) -> float | None:
    """Seconds that a step is expected to take, by the clocks of the trials that the policy rests on."""
    if proof is None:
        return None
    walls = [c.baseline for c in proof.judgement.criteria if c.name == "wall_ns" and c.baseline is not None]
    return EXECUTIONS * walls[0] / 1e9 if walls else None
