"""The memory of layout verdicts: is a layout due to be tried, proven, waiting for new evidence, or taken back? Pure.

A verdict is about a change of a table (`LayoutProposal.layout_id`, whatever the version) for its readers: the queries
that read it, how often they run, what each may lose, the policy it runs under, and the limits of the workload file. It
counts as long as the readers are the same, and files and bytes of the table have not moved by more than half.

    verdict on these readers         what follows
    none, or of an older planopt     due
    accept                           proven: it is applied, also once debt has come back
    inconclusive                     due again, up to three times; on a person's word always
    reject                           waits
    accept, and a person took the    taken back: automation proposes it and leaves the rest to a person
    layout back from the table

Layouts that were tried together and not accepted say nothing about one of them alone, only that trying them together
again is useless (`tried_together`).

Every trial that looks at clocks may accept a layout without a gain. Trials of one action on one table share an error
budget (`validate/error_budget.py`), so that a table which changes every night is not accepted by chance one night.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from planopt_assets.model.ids import content_id
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.validate.error_budget import FULL_BUDGET, ErrorBudget

State = Literal["due", "proven", "waits", "taken_back"]
MOVED = 1.5  # times as many files or bytes, or as few: then it is another table to lay out
TRIES = 3  # of a layout whose trials are inconclusive
AGAIN = "tried again when a reader, a rate or a limit changes, or files or bytes by half"


@dataclass(frozen=True, slots=True)
class Reader:
    """One query that reads the table, and what decides how much its word counts."""

    query_id: str
    query_fingerprint: str
    runs_per_day: float
    max_loss: float
    policy_id: str


def readers_hash(readers: Sequence[Reader], limits: Mapping[str, Any]) -> str:
    """The readers of a table in one word; `limits` are those of the workload file and the versions of the engine.

    >>> one, often = Reader("q", "qry_1", 24.0, 0.1, "pol_0"), Reader("q", "qry_1", 96.0, 0.1, "pol_0")
    >>> readers_hash([one], {}) == readers_hash([often], {}), readers_hash([one], {}) == readers_hash([one], {"d": 30})
    (False, False)
    """
    told = [[r.query_id, r.query_fingerprint, float(r.runs_per_day), float(r.max_loss), r.policy_id] for r in readers]
    return content_id("rdr", {"readers": sorted(told), "limits": dict(limits)})


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is known of a proposal, in a word and in a sentence."""

    state: State
    why: str
    verdict: LayoutVerdict | None = None  # the newest one on this layout that was not about several together
    error: ErrorBudget = FULL_BUDGET  # of this action on this table


@dataclass(frozen=True, slots=True)
class LayoutMemory:
    """All that is stored of one table, and its readers as they are now."""

    readers: str
    proposals: Mapping[str, LayoutProposal]  # by id, of every version
    verdicts: Sequence[LayoutVerdict]
    actions: Sequence[MaintenanceAction]

    def of(self, proposal: LayoutProposal, *, by_hand: bool = False) -> Remembered:
        """What to do with a proposal. A person may retry what is inconclusive, and apply what was taken back.

        Worked: Z-ordering was rejected on v39 with 40 files. v45 has 46 files: it waits. v70 has 71 files: due.
        """
        error, last = self.error_left(proposal), self._last(proposal)
        if not by_hand and (who := self._taken_back(proposal)):
            fix = f"planopt maintain {proposal.table} --apply"
            return Remembered("taken_back", f"{who} took it back: only a person applies it again ({fix})", last, error)
        state, why = self._judged(proposal, last, by_hand=by_hand)
        return Remembered(state, why, last, error)

    def tried_together(self, proposal: LayoutProposal, layout_ids: Sequence[str]) -> bool:
        """Whether exactly these layouts were tried together on these readers, and were not accepted."""
        same = [
            v for v in self.verdicts if v.layout_id == proposal.layout_id and sorted(v.together) == sorted(layout_ids)
        ]
        return any(self._counts(v, proposal) and not v.accepted for v in same[-1:])

    def error_left(self, proposal: LayoutProposal) -> ErrorBudget:
        """Of all trials of this action on this table, whatever the columns, the version and the readers."""
        own = [v for v in self.verdicts if v.table_id == proposal.table_id and self._action(v) == proposal.action]
        return FULL_BUDGET.after_all(v.error_spent for v in own)

    def _judged(self, proposal: LayoutProposal, last: LayoutVerdict | None, *, by_hand: bool) -> tuple[State, str]:
        if last is None:
            return "due", "never tried"
        if last.readers is None:
            return "due", "it was tried by an older planopt, which did not store for whom"
        if last.readers != self.readers:
            return "due", "its readers, their rates or limits have changed since it was tried"
        if moved := _moved(last, proposal):
            return "due", f"the table has moved since it was tried: {moved}"
        if last.accepted:
            return "proven", f"accepted on these readers at version {last.version}: {last.reason}"
        if last.outcome == "reject":
            return "waits", f"rejected on these readers: {last.reason}; {AGAIN}"
        tries = sum(self._counts(v, proposal) for v in self._alone(proposal))
        if tries < TRIES or by_hand:
            return "due", f"inconclusive {_times(tries)}: {last.reason}"
        person = f"or by planopt maintain {proposal.table}"
        return "waits", f"inconclusive {_times(tries)} on these readers: {last.reason}; {AGAIN}, {person}"

    def _last(self, proposal: LayoutProposal) -> LayoutVerdict | None:
        found = self._alone(proposal)
        return found[-1] if found else None

    def _alone(self, proposal: LayoutProposal) -> list[LayoutVerdict]:
        """Verdicts that say something about this layout. If layouts were accepted together, each of them was."""
        return [
            v for v in self.verdicts if self._layout(v) == proposal.layout_id and (v.accepted or len(v.together) < 2)
        ]

    def _counts(self, verdict: LayoutVerdict, proposal: LayoutProposal) -> bool:
        return verdict.readers == self.readers and not _moved(verdict, proposal)

    def _layout(self, verdict: LayoutVerdict) -> str | None:
        """Of an older verdict, what its proposal was."""
        made = self.proposals.get(verdict.proposal_id)
        return verdict.layout_id or (made.layout_id if made else None)

    def _action(self, verdict: LayoutVerdict) -> str | None:
        made = self.proposals.get(verdict.proposal_id)
        return made.action if made else None

    def _taken_back(self, proposal: LayoutProposal) -> str:
        """The person who took the last change of this kind and these columns back; empty if nobody did."""
        wanted = (proposal.table_id, proposal.action, proposal.columns)
        same = [a for a in self.actions if a.applied and (a.table_id, a.action, self._columns(a)) == wanted]
        undone = {a.undoes: a.who for a in self.actions if a.status == "undone"}
        return (undone.get(same[-1].id) or "") if same else ""

    def _columns(self, action: MaintenanceAction) -> tuple[str, ...]:
        made = self.proposals.get(action.proposal_id)
        return made.columns if made else ()


def _moved(verdict: LayoutVerdict, proposal: LayoutProposal) -> str:
    """What of the table is another than in the trial; what is unknown has not moved."""
    sizes = {
        "files": (verdict.files_before, proposal.files_before),
        "bytes": (verdict.bytes_before, proposal.bytes_before),
    }
    for name, (was, now) in sizes.items():
        if was and now and not 1 / MOVED <= now / was <= MOVED:
            return f"{was:,} -> {now:,} {name}"
    return ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
