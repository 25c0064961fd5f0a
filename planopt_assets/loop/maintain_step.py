"""What the stage `maintain` does for one table, and why: the one place that decides it. Pure.

`planopt plan` prints it, and the stage goes by it. So what `plan` says and what `run` does cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from planopt_assets.loop.step import Step, only_looks
from planopt_assets.maintain.again import is_laid_out
from planopt_assets.maintain.keep_properties import set_instead
from planopt_assets.maintain.permission import for_a_person, may_not_set, may_not_write

if TYPE_CHECKING:
    from planopt_assets.loop.table_standing import TableStanding
    from planopt_assets.maintain.layout_memory import Remembered, State
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.maintenance_action import MaintenanceAction
    from planopt_assets.model.workload import Mode, Table

STAGE = "maintain"
NO_LAYOUT = "no layout is proposed for the table as it is"
ATTEMPTS = 2  # of automation to apply one proposal: once may be chance, and nothing has changed since


@dataclass(frozen=True, slots=True)
class OpenLayout:
    """One proposal that is open for a table: what is known of it, and what keeps it from being applied."""

    proposal: LayoutProposal
    known: Remembered | None = None  # None: it needs no trial
    held: str = ""  # why it is not applied, with what to do; empty if it is

    @property
    def state(self) -> State | Literal["needs_no_trial"]:
        return self.known.state if self.known else "needs_no_trial"

    @property
    def why(self) -> str:
        words = self.known.why if self.known else self.proposal.reason
        applicable = self.state in ("proven", "needs_no_trial")
        return f"{words}; not applied: {self.held}" if applicable and self.held else words

    @property
    def applies(self) -> bool:
        return self.state in ("proven", "needs_no_trial") and not self.held


@dataclass(frozen=True, slots=True)
class MaintainStep:
    """The step of one table, and its open proposals: proven ones first, then by saving."""

    step: Step
    layouts: tuple[OpenLayout, ...] = ()
    written: bool = False  # whether automation writes to the table

    @property
    def to_prove(self) -> tuple[OpenLayout, ...]:
        return tuple(one for one in self.layouts if one.known is not None)

    @property
    def without_trial(self) -> tuple[OpenLayout, ...]:
        return tuple(one for one in self.layouts if one.known is None)

    def after(self, readiness: Step) -> MaintainStep:
        """The same in a run that starts now: what readiness finds decides what is proposed."""
        if readiness.need == "done" or self.step.by_mode:
            return self
        return replace(self, step=Step(STAGE, "depends", "on what readiness finds"))


@dataclass(frozen=True, slots=True)
class Permission:
    """Who asks for a layout, and what the workload file and the table allow."""

    table: Table
    mode: Mode
    unknown_features: tuple[str, ...] = ()  # of the table, which planopt as a writer does not have
    by_hand: bool = False  # a person asks, rather than automation

    def off(self) -> Step | None:
        """Nobody asked for trials of this table: neither a person now, nor the workload file."""
        if self.by_hand:
            return None
        if self.mode == "observe":
            return only_looks(STAGE)
        if self.table.maintain == "never":
            why = "`maintain` is never in the workload file: no layout of it is tried"
            return Step(STAGE, "off", why, by_mode=True)
        return None

    def not_written(self) -> tuple[str, str]:
        """Why automation does not write to the table, and what to do. Two empty texts if it does."""
        return may_not_write(self.table, self.mode, by_hand=False, unknown_features=self.unknown_features)


def maintain_step(standing: TableStanding, allowed: Permission, known: Mapping[str, Remembered]) -> MaintainStep:
    """What is tried and applied for a table as it is now; `known` is the memory of the proposals that need a trial.

    Worked: a Z-order is proven and a compaction is due. With `maintain: auto` in mode `auto` the Z-order is applied,
    and the compaction is not tried: what is proven needs no rival. With `by_hand` nothing is done: a person applies it.
    """
    off, laid_out = allowed.off(), is_laid_out(standing.actions)
    opened = [p for p in standing.open_proposals(index=allowed.table.index) if p.id in known or not p.needs_proof]
    due = [p for p in opened if p.action != "properties" or laid_out]  # properties keep a layout
    found = [OpenLayout(p, known.get(p.id)) for p in due]
    told = [replace(one, held=_held(one, due, standing, allowed)) for one in found]
    layouts = tuple(sorted(told, key=lambda one: (one.known is None, one.state != "proven")))
    return MaintainStep(off or _step(layouts), layouts, written=not any(allowed.not_written()))


def nothing_proposed(allowed: Permission) -> MaintainStep:
    return MaintainStep(allowed.off() or Step(STAGE, "off", NO_LAYOUT))


def _step(layouts: Sequence[OpenLayout]) -> Step:
    if not layouts:
        return Step(STAGE, "off", NO_LAYOUT)
    proven = [one for one in layouts if one.state == "proven"][:1]
    tried = [] if proven else [one for one in layouts if one.state == "due"]
    applied = [one for one in (*proven, *(one for one in layouts if one.known is None)) if one.applies]
    does = [f"tries: {one.proposal.describe()}" for one in tried]
    does += [f"applies: {one.proposal.describe()}" for one in applied]
    if does:
        return Step(STAGE, "needed", "; ".join(does))
    return Step(STAGE, "done", f"{len(layouts)} proposals, none to try or to apply")


def _held(one: OpenLayout, due: Sequence[LayoutProposal], standing: TableStanding, allowed: Permission) -> str:
    """Why a layout is not applied, with what to do; empty if it is.

    A person who asks for a proven layout gets an error instead, from `apply_layout`, which asks all of this again.
    """
    proposal = one.proposal
    if allowed.by_hand and proposal.needs_proof:
        return ""
    if other := set_instead(proposal, due):
        return f"{other} is the same remedy for less"
    assert standing.facts is not None  # else no proposal is open
    why, fix = may_not_set(allowed.table, standing.facts.protocol, proposal.properties)
    if not why and not allowed.by_hand:
        why, fix = allowed.not_written()
    if not why and not allowed.by_hand:
        why, fix = _for_a_person(one, standing.actions), f"planopt maintain {proposal.table} --apply"
    return f"{why} ({fix})" if why else ""


def _for_a_person(one: OpenLayout, actions: Sequence[MaintenanceAction]) -> str:
    """A proposal is of one version of its table. What failed there fails again, and each attempt starts Spark."""
    failed = [a for a in actions if a.proposal_id == one.proposal.id and a.status in ("failed", "refused")]
    if len(failed) >= ATTEMPTS:
        return f"it was tried {len(failed)} times on this version, the last time: {failed[-1].reason}"
    verdict = one.known.verdict if one.known else None
    return for_a_person(one.proposal.action, verdict.subset if verdict else "")
