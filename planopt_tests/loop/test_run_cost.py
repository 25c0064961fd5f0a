"""What the trials of a run may cost, told before it starts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from planopt_assets.loop.agenda import Agenda, Item
from planopt_assets.loop.priority import NO_PROMISE
from planopt_assets.loop.run_cost import RunCost, executors_held, run_cost
from planopt_assets.loop.step import Step
from planopt_assets.model.automation import TrialWindow
from planopt_assets.model.workload import Budgets, Workload

pytestmark = pytest.mark.fast

WORKLOAD = Workload("demo", Path("planopt.yaml"), "store", (), (), budgets=Budgets(60, 300, 700))
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def item(name: str, *, tries: bool = True, seconds: float = 0.0) -> Item:
    step = Step("validate", "needed" if tries else "done", "")
    return Item(name, (step,), replace(NO_PROMISE, trial_cost_ns=seconds * 1e9))


def test_a_run_costs_at_most_what_its_budgets_allow() -> None:
    two = Agenda((item("a", seconds=4.0), item("b"), item("settled", tries=False)))
    three = Agenda((*two.items, item("c")))
    assert run_cost(WORKLOAD, two, 1, NOON) == RunCost(4.0, 600.0, 1)
    assert run_cost(WORKLOAD, three, 1, NOON) == RunCost(4.0, 700.0, 1)


def test_nothing_to_try_costs_nothing() -> None:
    assert run_cost(WORKLOAD, Agenda((item("a", tries=False),)), 1, NOON) == RunCost(0.0, 0.0, 1)


def test_on_a_cluster_it_is_told_in_executor_seconds_too() -> None:
    one = Agenda((item("a", seconds=4.0),))
    cost = run_cost(WORKLOAD, one, 8, NOON)
    assert (cost.at_most_s, cost.at_most_executor_s) == (300.0, 2_400.0)
    limited = replace(WORKLOAD, budgets=replace(WORKLOAD.budgets, executor_seconds_per_query=800.0))
    assert run_cost(limited, one, 8, NOON).at_most_executor_s == 800.0
    unknown = run_cost(WORKLOAD, one, None, NOON)
    assert unknown.at_most_executor_s is None
    assert unknown.describe().endswith("times the executors that the cluster will give")


def test_outside_the_hours_of_trials_it_says_so() -> None:
    one = Agenda((item("a", seconds=4.0),))
    closed = run_cost(replace(WORKLOAD, trial_window=TrialWindow(22, 6)), one, 1, NOON)
    assert (closed.at_most_s, closed.describe()[:36]) == (0.0, "trials run from 22:00 to 06:00 (UTC)")
    open_ = run_cost(replace(WORKLOAD, trial_window=TrialWindow(11, 13)), one, 1, NOON)
    assert (open_.at_most_s, open_.not_now) == (300.0, "")


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
