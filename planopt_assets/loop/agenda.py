"""What a run would do, as data: `planopt plan` prints it and `planopt run` works it off. Starts no Spark.

A stage is `needed`, `done`, `off` (the workload's mode, or nothing to do it on), or `depends` on the stage before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from planopt_assets.loop.priority import NO_PROMISE, Promise, in_order
from planopt_assets.loop.stages.decide import decision_row, decisions_for

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.reader import StoreReader

Need = Literal["needed", "done", "depends", "off"]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One stage for one query: is it needed, and why."""

    stage: str
    need: Need
    why: str


@dataclass(frozen=True, slots=True)
class Item:
    """One query: its stages, and what trying it promises."""

    query_id: str
    steps: tuple[Step, ...]
    promise: Promise = NO_PROMISE

    @property
    def to_do(self) -> bool:
        return any(s.need == "needed" for s in self.steps)

    @property
    def tries(self) -> bool:
        return any(s.stage in ("replan", "validate") and s.need == "needed" for s in self.steps)

    def facts(self, order: int | None) -> Row:
        """One object per query, as `--json` prints it."""
        seconds = {
            "expected_gain_s_per_run": self.promise.gain_ns_per_run / 1e9,
            "expected_gain_s_over_horizon": self.promise.gain_ns_over_horizon / 1e9,
            "trial_cost_s": self.promise.trial_cost_ns / 1e9,
            "discount": self.promise.discount,
            "rank": self.promise.rank,
        }
        return {
            "id": self.query_id,
            "to_do": self.to_do,
            "order": order,
            "steps": {s.stage: {"need": s.need, "why": s.why} for s in self.steps},
            **seconds,
        }


@dataclass(frozen=True, slots=True)
class Agenda:
    """All queries asked about, in the order of the workload file."""

    items: tuple[Item, ...]

    @property
    def queries(self) -> list[str]:
        """The queries with something to do, those with the best promise first."""
        return in_order({i.query_id: i.promise for i in self.items if i.to_do})

    @property
    def priority(self) -> int:
        """Of a run over these queries: the best promise among them."""
        return max((i.promise.priority for i in self.items if i.to_do), default=0)

    def facts(self) -> list[Row]:
        order = [q for q in self.queries if any(i.query_id == q and i.tries for i in self.items)]
        return [i.facts(order.index(i.query_id) + 1 if i.query_id in order else None) for i in self.items]


def agenda_of(
    workload: Workload, reader: StoreReader, standings: Mapping[str, Standing], query_ids: Sequence[str]
) -> Agenda:
    """What is to do for these queries; decisions not taken yet are foreseen from the stored rows, as decide would."""
    return Agenda(tuple(_item(workload, reader, standings[q]) for q in query_ids))


def _item(workload: Workload, reader: StoreReader, standing: Standing) -> Item:
    decisions = list(standing.decisions)
    if standing.captured and not standing.decided and standing.mode != "observe":
        decisions = [decision_row(d) for d in decisions_for(workload, reader, standing)]
    proposed = [d for d in decisions if d["kind"] == "proposal"]
    steps = (
        _observe(standing),
        _decide(standing),
        _replan(standing, proposed),
        _validate(standing, proposed),
        _promote(standing),
    )
    return Item(standing.query_id, steps, standing.promise_of(decisions))


def _observe(standing: Standing) -> Step:
    if standing.failed:
        return Step("observe", "needed", f"it failed last time: {standing.reason}")
    if standing.observed:
        return Step("observe", "done", "inputs unchanged, evidence stands")
    changed = ", ".join(standing.changes)
    return Step("observe", "needed", f"changed: {changed}" if changed else "never observed")


def _decide(standing: Standing) -> Step:
    if standing.mode == "observe":
        return Step("decide", "off", "the workload's mode is observe")
    if standing.decided and not standing.failed:
        return Step("decide", "done", standing.reason)
    if not standing.observed or standing.failed:
        return Step("decide", "depends", "on what is observed")
    return Step("decide", "needed", "observed, but not decided on yet")


def _replan(standing: Standing, proposed: Sequence[Row]) -> Step:
    if standing.mode == "observe":
        return Step("replan", "off", "the workload's mode is observe")
    if not standing.observed or standing.failed:
        return Step("replan", "depends", "on what is decided")
    if not proposed:
        return Step("replan", "off", "no rule has a change that is worth a trial")
    if standing.decided and standing.replanned:
        return Step("replan", "done", f"{len(standing.candidates)} candidates planned")
    words = "what was accepted is to be tried together" if standing.candidates else f"{len(proposed)} proposals"
    return Step("replan", "needed", words)


def _validate(standing: Standing, proposed: Sequence[Row]) -> Step:
    if standing.unjudged:
        return Step("validate", "needed", f"{len(standing.unjudged)} candidates without a verdict")
    replan = _replan(standing, proposed)
    if replan.need in ("needed", "depends"):
        return Step("validate", "depends", "on whether a candidate changes the plan")
    if standing.verdicts:
        return Step("validate", "done", f"{len(standing.verdicts)} verdicts")
    return Step("validate", "off", replan.why if replan.need == "off" else "no candidate changes the plan")


def _promote(standing: Standing) -> Step:
    if standing.mode == "observe":
        return Step("promote", "off", "the workload's mode is observe")
    if standing.due is not None:
        return Step("promote", "needed", f"to be taken back: {standing.due.reason}")
    if standing.unlinked:
        return Step("promote", "needed", "a run was killed before it wrote the lineage of its promotion")
    if standing.to_promote is not None:
        if standing.mode == "auto":
            return Step("promote", "needed", f"accepted: {standing.to_promote['reason']}")
        return Step("promote", "off", f"accepted, waiting for a person: planopt promote {standing.query_id}")
    if standing.active is not None:
        return Step("promote", "done", f"generation {standing.active.generation} is in force")
    if standing.settled:
        return Step("promote", "off", "nothing accepted")
    return Step("promote", "depends", "on the verdicts")
