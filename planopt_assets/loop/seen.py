"""What one captured execution shows: its plan with all estimates, what became of its predicates, and the signals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.observe.bundle import Understood, understand
from planopt_assets.observe.plans.estimates import with_first_estimates, with_log_rows, with_text_estimate
from planopt_assets.observe.pushdown.classify import classify
from planopt_assets.observe.pushdown.thresholds import Thresholds
from planopt_assets.observe.signals.collect import collect
from planopt_assets.observe.signals.joins import Groupable
from planopt_assets.replan.column_types import as_in_spark
from planopt_assets.replan.early_aggregation import early_aggregation
from planopt_assets.store.pruning_history import AT_LEAST, learned_thresholds

if TYPE_CHECKING:
    from planopt_assets.engine.execution.execute import Measured
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.loop.run import Run
    from planopt_assets.model.plan import Plan
    from planopt_assets.model.scan import ScanOutcome
    from planopt_assets.model.signals import Signals
    from planopt_assets.model.table_facts import TableFacts
    from planopt_assets.model.workload import Query


@dataclass(frozen=True, slots=True)
class Seen:
    """One execution that was captured with a tier, explained."""

    final: Plan
    understood: Understood
    outcomes: tuple[ScanOutcome, ...]
    signals: Signals


def explained(
    workspace: Workspace, query: Query, execution: Measured, facts: Sequence[TableFacts], thresholds: Thresholds
) -> Seen:
    """In whichever arm it ran. `facts` are those of the tables that it read."""
    planned, initial, scans = execution.planned, execution.initial, execution.scans
    assert planned is not None
    assert initial is not None
    final = with_log_rows(with_first_estimates(execution.final, initial), scans)
    final = with_text_estimate(final, dict(planned.explains).get("cost"))
    understood = understand(query.sql, planned, facts, workspace.first_expression_id, query.python or "session")
    settings = dict(planned.environment.settings)
    outcomes = tuple(classify(s, execution.offers[s.table], settings, thresholds) for s in scans)
    signals = collect(
        initial,
        final,
        execution.splits,
        list(zip(scans, outcomes, strict=True)),
        understood.udfs,
        execution.join_targets,
        understood.plan_dependent,
        groupable_input(query.sql, facts),
    )
    return Seen(final, understood, outcomes, signals)


def groupable_input(sql: str | None, facts: Sequence[TableFacts]) -> Groupable | None:
    """The join input that a rewrite of the text could group first, by the columns that the tables have in their logs.

    What the log says is enough to propose it. A policy that is applied asks the session again.
    """
    tables = {t.name.lower(): t for t in facts}
    columns = {name: {c.name.lower(): c.length or as_in_spark(c.type) for c in t.columns} for name, t in tables.items()}
    found = early_aggregation(sql, lambda name: columns.get(_plain(name))) if sql else None
    if found is None:
        return None
    own, other = (tables[_plain(found.name(side))].name for side in (found.side, 1 - found.side))
    return Groupable(own, other, found.block.is_left)


def _plain(name: str) -> str:
    return name.strip("`").lower()


def thresholds_of(run: Run) -> Thresholds:
    """What counts as little pruning, learned from the store once it holds enough scans; asked once a stage."""
    return run.snapshot.once("pruning thresholds", lambda: _learned(run))


def _learned(run: Run) -> Thresholds:
    if run.snapshot.table("scan_outcomes", ["scan"]).num_rows < AT_LEAST:
        return Thresholds()  # no group can be large enough: not worth a Spark job
    return Thresholds(learned_thresholds(run.workspace.spark, run.workload.store))
