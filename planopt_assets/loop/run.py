"""`Run`: what every stage of one pass of the loop is given, and what it reports back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from planopt_assets.model.redaction import redact
from planopt_assets.store.reader import StoreReader
from planopt_assets.validate.judge_rules import Rules

if TYPE_CHECKING:
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.workload import Workload

Progress = Callable[[str, str, str], None]  # stage, query, words
Rows = dict[str, list[dict[str, Any]]]


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

    @property
    def workload(self) -> Workload:
        return self.workspace.workload

    @property
    def reader(self) -> StoreReader:
        return self.workspace.store

    @property
    def deadline(self) -> float:
        return self.workspace.started_at + self.workload.budgets.per_run

    def event_id(self, kind: str, query_id: str, *parts: str) -> str:
        """The id of something that happened once: kind, run, query and place; never a hash of them."""
        return "-".join([kind, self.run_id.replace("-", "")[:12], query_id, *parts])

    def standings(self) -> dict[str, Standing]:
        """Where every query stands, for the table versions this run has pinned."""
        return read_standings(self.workload, self.workspace.pins)

    def append(self, stage: str, rows: Mapping[str, Sequence[dict[str, Any]]]) -> None:
        """Store a stage's rows, in the order given; a store on a file system needs no Spark."""
        from planopt_assets.store.writer import append

        if any(rows.values()):
            append(
                lambda: self.workspace.spark,
                self.workload.store,
                workload=self.workload.name,
                run_id=self.run_id,
                stage=stage,
                rows=rows,
            )


def read_standings(workload: Workload, pins: Pins | None = None) -> dict[str, Standing]:
    """Where every query of a workload stands, now or for versions pinned before; starts no Spark."""
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.engine.frames.callables import source_text
    from planopt_assets.loop.standings import standings

    sources = {q.id: source_text(workload, q) for q in workload.queries}
    return standings(workload, StoreReader(workload.store, workload.name), sources, pins or Pins())


def unchanged(query_id: str, stage: str) -> StageResult:
    return StageResult(query_id, False, f"{stage}: inputs unchanged, evidence stands")
