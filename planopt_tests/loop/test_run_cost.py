"""What the trials of a run may cost, told before it starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from planopt_assets.loop.agenda import Agenda, Item, TableItem
from planopt_assets.loop.maintain_step import OpenLayout
from planopt_assets.loop.priority import NO_PROMISE
from planopt_assets.loop.run_cost import RunCost, executors_held, run_cost
from planopt_assets.loop.step import Need, Step
from planopt_assets.maintain.layout_memory import Remembered, State
from planopt_assets.model.automation import TrialWindow
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.workload import Budgets, Workload

pytestmark = pytest.mark.fast

WORKLOAD = Workload("demo", Path("planopt.yaml"), "store", (), (), budgets=Budgets(60, 300, 700))
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def item(name: str, *, tries: bool = True, seconds: float = 0.0) -> Item:
    step = Step("validate", "needed" if tries else "done", "")
    return Item(name, (step,), replace(NO_PROMISE, trial_cost_ns=seconds * 1e9))


def layouts(table: str, need: Need, *states: State) -> TableItem:
    """A table whose step `maintain` is this, with layouts in these states."""
    known = tuple(OpenLayout(LayoutProposal(table, "t-1", 7, "compact"), Remembered(state, "")) for state in states)
    return TableItem(table, Step("readiness", "done", ""), Step("maintain", need, ""), known)


def test_a_run_costs_at_most_what_its_budget_allows_however_many_queries_are_tried() -> None:
    """A query of 300 s may have several experiments: a try, a confirmation, further rounds."""
    one = Agenda((item("a", seconds=4.0), item("settled", tries=False)))
    three = Agenda((*one.items, item("b"), item("c")))
    assert run_cost(WORKLOAD, one, 1, NOON) == run_cost(WORKLOAD, three, 1, NOON) == RunCost(4.0, 700.0, 1)


def test_nothing_to_try_costs_nothing() -> None:
    settled = Agenda((item("a", tries=False),), (layouts("shops", "done"),))
    assert run_cost(WORKLOAD, settled, 1, NOON) == RunCost(0.0, 0.0, 1)
    by_night = replace(WORKLOAD, trial_window=TrialWindow(22, 6))
    assert run_cost(by_night, settled, 1, NOON) == RunCost(0.0, 0.0, 1)


@pytest.mark.parametrize(
    ("table", "counted"),
    [
        (layouts("sales", "needed", "due"), 1),
        (layouts("sales", "depends"), 1),  # nobody knows yet what will be proposed
        (layouts("sales", "done", "waits"), 0),
        (layouts("sales", "needed", "due", "proven"), 0),
        (layouts("sales", "off", "due"), 0),
    ],
    ids=["due", "not looked at", "waits", "proven", "may not be laid out"],
)
def test_layouts_that_may_be_tried_cost_as_much_as_policies(table: TableItem, counted: int) -> None:
    cost = run_cost(WORKLOAD, Agenda((item("settled", tries=False),), (table,)), 1, NOON)
    assert (cost.layouts, cost.at_most_s) == (counted, 700.0 * counted)


def test_on_a_cluster_it_is_told_in_executor_seconds_too() -> None:
    one = Agenda((item("a", seconds=4.0),))
    cost = run_cost(WORKLOAD, one, 8, NOON)
    assert (cost.at_most_s, cost.at_most_executor_s) == (700.0, 5_600.0)
    by_experiment = replace(WORKLOAD, budgets=replace(WORKLOAD.budgets, executor_seconds_per_query=80.0))
    assert run_cost(by_experiment, one, 8, NOON).at_most_executor_s == 5_600.0
    limited = replace(WORKLOAD, budgets=replace(WORKLOAD.budgets, executor_seconds_per_run=800.0))
    assert run_cost(limited, one, 8, NOON).at_most_executor_s == 800.0
    unknown = run_cost(WORKLOAD, one, None, NOON)
    assert unknown.at_most_executor_s is None
    assert unknown.describe().endswith("times the executors that the cluster will give")


def test_outside_the_hours_of_trials_it_says_so() -> None:
    one = Agenda((item("a", seconds=4.0),))
    closed = run_cost(replace(WORKLOAD, trial_window=TrialWindow(22, 6)), one, 1, NOON)
    assert (closed.at_most_s, closed.describe()[:36]) == (0.0, "trials run from 22:00 to 06:00 (UTC)")
    open_ = run_cost(replace(WORKLOAD, trial_window=TrialWindow(11, 13)), one, 1, NOON)
    assert (open_.at_most_s, open_.not_now) == (700.0, "")


@pytest.mark.parametrize(
    ("master", "settings", "held"),
    [
        ("local[8]", {}, 1),
        ("yarn", {"spark.executor.instances": "12"}, 12),
        ("spark://host:7077", {}, None),
    ],
)
def test_executors_are_known_from_the_file_or_not_at_all(
    master: str, settings: dict[str, str], held: int | None
) -> None:
    workload = replace(WORKLOAD, master=master, spark_settings=tuple(settings.items()))
    assert executors_held(workload, None, {}) == held  # type: ignore[arg-type]
