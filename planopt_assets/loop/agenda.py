"""What a run would do, as data: `planopt plan` prints it and `planopt run` works it off. Starts no Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planopt_assets.loop.exploring import next_decisions
from planopt_assets.loop.maintaining.table_steps import maintain_step_of
from planopt_assets.loop.priority import NO_PROMISE, Promise, in_order
from planopt_assets.loop.standing import asked_for
from planopt_assets.loop.step import Step
from planopt_assets.loop.steps import planned_steps
from planopt_assets.loop.table_standing import STAGE as READINESS
from planopt_assets.loop.table_standing import asked_tables
from planopt_assets.promote.confirmation import cost_s

if TYPE_CHECKING:
    from planopt_assets.loop.maintain_step import OpenLayout
    from planopt_assets.loop.standing import Standing
    from planopt_assets.loop.table_standing import TableStanding
    from planopt_assets.model.decision import Decision
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Item:
    """One query: its steps, and what trying it promises."""

    query_id: str
    steps: tuple[Step, ...]
    promise: Promise = NO_PROMISE
    confirmation_cost_s: float | None = None  # where the policy in force is due to be tried once more

    @property
    def to_do(self) -> bool:
        return any(s.needed for s in self.steps)

    @property
    def tries(self) -> bool:
        return any(s.stage in ("replan", "validate") and s.needed for s in self.steps)

    @property
    def may_try(self) -> bool:
        """The same, or what an earlier stage finds may be tried."""
        return self.tries or any(s.stage == "validate" and s.need == "depends" for s in self.steps)

    def facts(self, order: int | None) -> dict[str, Any]:
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
            "confirmation_cost_s": self.confirmation_cost_s,
        }


@dataclass(frozen=True, slots=True)
class TableItem:
    """One table: whether it is looked at again, what is done with the layouts proposed for it, and why."""

    table: str
    readiness: Step
    maintain: Step
    layouts: tuple[OpenLayout, ...] = ()

    @property
    def steps(self) -> tuple[Step, Step]:
        return self.readiness, self.maintain

    @property
    def to_do(self) -> bool:
        return any(s.needed for s in self.steps)

    @property
    def may_try(self) -> bool:
        """A layout of it is due, or may be proposed once it was looked at. What is proven needs no rival."""
        states = {one.state for one in self.layouts}
        due = self.maintain.needed and "due" in states and "proven" not in states
        return due or self.maintain.need == "depends"

    def facts(self) -> dict[str, Any]:
        """One object per table, as `--json` prints it; `need` and `why` at the top are those of readiness."""
        layouts = [{"layout": one.proposal.describe(), "state": one.state, "why": one.why} for one in self.layouts]
        steps = {s.stage: {"need": s.need, "why": s.why} for s in self.steps}
        first = {"need": self.readiness.need, "why": self.readiness.why}
        return {"table": self.table, **first, "steps": steps, "layouts": layouts}


@dataclass(frozen=True, slots=True)
class Agenda:
    """All queries asked about, in the order of the workload file, and the tables they read."""

    items: tuple[Item, ...]
    table_items: tuple[TableItem, ...] = ()

    @property
    def tables(self) -> list[str]:
        """The tables to look at, or to try a layout of."""
        return [i.table for i in self.table_items if i.to_do]

    @property
    def queries(self) -> list[str]:
        """The queries with something to do, those with the best promise first."""
        return in_order({i.query_id: i.promise for i in self.items if i.to_do})

    @property
    def priority(self) -> int:
        """Of a run over these queries: the best promise among them."""
        return max((i.promise.priority for i in self.items if i.to_do), default=0)

    def facts(self) -> list[dict[str, Any]]:
        tries = {i.query_id for i in self.items if i.tries}
        order = {query: place for place, query in enumerate((q for q in self.queries if q in tries), start=1)}
        return [i.facts(order.get(i.query_id)) for i in self.items]


def agenda_of(
    workload: Workload,
    snapshot: Snapshot,
    standings: Mapping[str, Standing],
    query_ids: Sequence[str],
    named: Collection[str] = (),
    tables: Mapping[str, TableStanding] | None = None,
) -> Agenda:
    """What is to do for these queries; decisions not taken yet are foreseen from the stored rows, as decide would.

    Those that a person `named` are tried even where they are left alone otherwise.
    """
    found = [asked_for(standings[q]) if q in named else standings[q] for q in query_ids]
    items = tuple(_item(workload, snapshot, standing) for standing in found)
    read = asked_tables(tables or {}, query_ids, named)
    return Agenda(items, tuple(_table_item(workload, snapshot, standings, table, items) for table in read))


def _table_item(
    workload: Workload,
    snapshot: Snapshot,
    standings: Mapping[str, Standing],
    table: TableStanding,
    items: Sequence[Item],
) -> TableItem:
    """What a query of it is seen to read may change what is proposed."""
    observed = {i.query_id for i in items if any(s.stage == "observe" and s.needed for s in i.steps)}
    readiness = table.step
    if not readiness.needed and observed & set(table.read_by):
        readiness = Step(READINESS, "depends", "on what is observed")
    maintain = maintain_step_of(workload, snapshot, standings, table).after(readiness)
    return TableItem(table.table, readiness, maintain.step, maintain.layouts)


def _item(workload: Workload, snapshot: Snapshot, standing: Standing) -> Item:
    decisions: Sequence[Decision] = standing.this_round
    foreseen: Sequence[Decision] | None = None
    if standing.rounds.to_explore or (standing.captured and not standing.decided and standing.mode != "observe"):
        decisions = foreseen = next_decisions(workload, snapshot, standing)
    cost = cost_s(standing.promoted_by) if standing.to_confirm is not None else None
    return Item(standing.query_id, planned_steps(standing, foreseen), standing.promise_of(decisions), cost)
