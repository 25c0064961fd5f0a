"""`Run`: what every stage of one pass of the loop is given, and what it reports back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from planopt_assets.decide.parallelism import by_cores, remark
from planopt_assets.loop.standing import asked_for
from planopt_assets.loop.standings import standings
from planopt_assets.loop.step import UNCHANGED, Step
from planopt_assets.loop.steps import step
from planopt_assets.loop.trial_hours import outside_window, trials_open_for_s
from planopt_assets.model.redaction import redact
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.validate.judge_rules import Rules

if TYPE_CHECKING:
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.policy import Policy
    from planopt_assets.model.promotion import Chain, Promotion
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.codecs.codec import AnyCodec
    from planopt_assets.store.store import Nouns, Store

Progress = Callable[[str, str, str], None]  # stage, query, words


@dataclass(frozen=True, slots=True)
class StageResult:
    """What a stage did for one query: in words for people, in numbers for plots."""

    query_id: str
    changed: bool  # False: everything was known already
    summary: str
    numbers: Mapping[str, int | float] = field(default_factory=dict)
    markdown: str = ""
    words: Mapping[str, str] = field(default_factory=dict)  # shown beside the summary, by name
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of the result, each with the `table.column`s it is from

    def __post_init__(self) -> None:
        object.__setattr__(self, "summary", redact(self.summary))
        object.__setattr__(self, "markdown", redact(self.markdown))
        object.__setattr__(self, "words", {name: redact(text) for name, text in self.words.items()})


@dataclass
class Run:
    """One pass of the loop over some queries: one id, one workspace (so one JVM at most), one store."""

    workspace: Workspace
    run_id: str
    progress: Progress = lambda stage, query, words: None
    rules: Rules = field(default_factory=Rules)
    by_hand: bool = False  # a person asked for exactly this stage, rather than for the loop
    named: Collection[str] = ()  # queries that a person named: also those that are left alone otherwise
    budget_s: float | None = None  # None: the workload's `per_run`, which ends trials but not observing
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    round: int = 1  # of decide, replan and validate: what is accepted is added to
    explored_s: float = 0.0  # what trials of options beyond the rules have taken

    @property
    def workload(self) -> Workload:
        return self.workspace.workload

    @property
    def store(self) -> Store:
        return self.workspace.store

    @property
    def snapshot(self) -> Snapshot:
        """The store as this stage sees it: read once, until something is written."""
        return self.store.snapshot

    @property
    def deadline(self) -> float:
        """On the monotonic clock: the budget of the run, of which observing has its part, and the hours of trials."""
        seconds, budgets = self._budget_s, self.workload.budgets
        if budgets.executor_seconds_per_run is not None and self.workspace.started:
            seconds = budgets.run_on(seconds, self.workspace.executor_count)
        return min(self.workspace.started_at + seconds, time.monotonic() + trials_open_for_s(self.workload, self.now()))

    @property
    def explore_left_s(self) -> float:
        """Seconds that exploration may still take: its share of the run's."""
        return self.workload.budgets.explore * self._budget_s - self.explored_s

    @property
    def _budget_s(self) -> float:
        return self.workload.budgets.per_run if self.budget_s is None else self.budget_s

    @property
    def no_trials(self) -> str:
        """Why no trial may begin now. Empty if it may."""
        if words := outside_window(self.workload, self.now()):
            return words
        return "the run's budget is spent: left for the next run" if time.monotonic() >= self.deadline else ""

    @property
    def observe_until(self) -> float:
        """A run with a budget of its own leaves half of it for trials: else a night of new data tries nothing."""
        return math.inf if self.budget_s is None else self.workspace.started_at + self.budget_s / 2

    def event_id(self, kind: str, query_id: str, *parts: str) -> str:
        """The id of something that happened once: kind, run, query and place; never a hash of them."""
        again = [] if self.round == 1 else [f"x{self.round}"]
        return "-".join([kind, self.run_id.replace("-", "")[:12], query_id, *again, *parts])

    def standings(self) -> dict[str, Standing]:
        """Where every query stands, for the table versions this run has pinned."""
        snapshot = self.snapshot
        return snapshot.once("standings", lambda: read_standings(self.workload, self.workspace.pins, snapshot=snapshot))

    def steps(self, stage: str, query_ids: Sequence[str]) -> list[tuple[Standing, Step]]:
        """Each query with what this stage has to do for it, as `planopt plan` tells it; on a new snapshot.

        A query that ended a session the last time comes after the others.
        """
        self.store.refresh()
        found = self.standings()
        asked = [asked_for(found[q]) if q in self.named else found[q] for q in query_ids]
        return [(one, step(one, stage)) for one in sorted(asked, key=lambda one: one.ended_session)]

    def append(self, stage: str, nouns: Nouns) -> None:
        """Store what a stage made, table after table in the order given."""
        self.store.append(self.run_id, self._once(stage), nouns)

    def keep(self, stage: str, query_id: str, nouns: Mapping[AnyCodec, list[Any]]) -> None:
        """Store what a stage has so far, and empty the lists: after a lost session nothing else may get lost."""
        self.store.append(self.run_id, self._once(f"{stage}:{query_id}"), nouns)
        for stored in nouns.values():
            stored.clear()

    def _once(self, stage: str) -> str:
        """What a run stores once: of each round its own."""
        return stage if self.round == 1 else f"{stage}:x{self.round}"

    def commit(self, promotion: Promotion) -> None:
        self.store.commit(promotion, self.run_id)


def read_standings(
    workload: Workload,
    pins: Pins | None = None,
    *,
    snapshot: Snapshot | None = None,
    query_ids: Collection[str] | None = None,
) -> dict[str, Standing]:
    """Where queries of a workload stand, now or for versions pinned before; starts no Spark."""
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.engine.frames.callables import query_source

    asked = [q for q in workload.queries if query_ids is None or q.id in query_ids]
    sources = {q.id: query_source(workload, q) for q in asked}
    store = snapshot or Snapshot(workload.store, workload.name)
    return standings(workload, store, sources, pins or Pins(), query_ids, at=int(time.time()))


def nothing_to_do(query_id: str, one: Step) -> StageResult:
    """The result of a stage for a query that does not need it."""
    return StageResult(query_id, False, f"{one.stage}: {UNCHANGED}" if one.need == "done" else one.why)


def words_of(chain: Chain, suspended: str = "") -> dict[str, str]:
    """State and reason of what is in force, for Dagster and `--json`; `suspended` is why it is not applied."""
    if not chain:
        return {"state": "original", "reason": "nothing was ever promoted"}
    if suspended:
        return {"state": "suspended", "reason": suspended, **remark_on(chain[-1].policy)}
    return {"state": chain[-1].state, "reason": chain[-1].reason, **remark_on(chain[-1].policy)}


def remark_on(*policies: Policy) -> dict[str, str]:
    """What to know before these policies are used on another cluster. Empty if nothing depends on its cores."""
    said = remark(by_cores(*policies))
    return {"remark": said} if said else {}
