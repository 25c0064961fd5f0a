"""Watch, by clocks: against the trials that proved the policy, and against control runs in the user's own job."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import pytest

from planopt_assets.model.execution import Execution
from planopt_assets.model.stamp import Stamp
from planopt_assets.promote.watch import Limits, regression
from planopt_tests.promote.watched_runs import (
    AS_BEFORE,
    MB,
    at,
    changed,
    drawn,
    ran,
    slow,
    timed,
    trials,
)
from planopt_tests.rows import FEWER

pytestmark = pytest.mark.fast

# Against the trials


def judged(*runs: Execution, control: tuple[Execution, ...] = ()) -> str:
    found = regression(trials(), runs, control)
    return found.reason if found else ""


def test_twenty_times_slower_is_noticed_long_before_fifty_runs_without_any_control() -> None:
    assert judged(*slow(20.0, 2)) == ""
    found = regression(trials(), slow(20.0, 6))
    assert found is not None
    assert found.evidence == tuple(f"obs-{i}" for i in range(6))
    assert found.reason == (
        "executor_cpu_ns is beyond its limit in 6 of 6 runs, 3.77 times the limit in the median: 4 x what the trials "
        "needed for inputs of this size + 5,000,000,000; evidence 1.42e+05, error at most 1.0% where chance explains "
        "one run in 10"
    )
    assert judged(*slow(1.0, 200), *slow(20.0, 15)) != ""  # and after months of good runs


@pytest.mark.parametrize("factor", [0.5, 1.0, 4.0])
def test_a_clock_within_the_limit_is_no_regression(factor: float) -> None:
    assert judged(*slow(factor, 300)) == ""


def test_now_and_then_a_slow_run_is_no_regression() -> None:
    runs = slow(1.0, 200)
    for place in range(0, 200, 20):
        runs[place] = timed(ran(f"obs-{place}"), 50.0)
    assert judged(*runs) == ""


def test_a_clock_slower_than_proven_but_not_than_original_stays() -> None:
    dear = trials(executor_cpu_ns=30 * 10**10, wall_ns=150 * 10**9)
    assert regression(dear, slow(20.0, 50)) is None
    assert regression(trials(), slow(20.0, 50)) is not None


def test_another_machine_on_which_original_is_slower_too_is_no_regression() -> None:
    control = [timed(changed(AS_BEFORE, execution_id=f"exe-o{i}"), 20.0) for i in range(3)]
    assert judged(*slow(20.0, 50), control=tuple(control)) == ""
    assert judged(*slow(200.0, 50), control=tuple(control)) != ""


def test_a_query_with_controls_waits_for_the_next_one() -> None:
    before = at(0, drawn("exe-o1"))
    runs = [at(1 + i, run) for i, run in enumerate(slow(20.0, 30))]
    assert judged(*runs[:19], control=(before,)) == ""
    assert judged(*runs[:20], control=(before,)) != ""  # none came
    as_slow, as_ever = at(5, timed(drawn("exe-o2"), 20.0)), at(5, drawn("exe-o2"))
    assert judged(*runs, control=(before, as_slow)) == ""
    assert judged(*runs[:10], control=(before, as_ever)) != ""


def test_clocks_of_inputs_of_another_size_are_not_compared() -> None:
    larger = {"input_rows": 3_000_000, "table_bytes": 3000 * MB}
    assert judged(*slow(7.0, 50, **larger)) == ""


# Against controls


def lived(factor: float, runs: int = 400, **changes: Any) -> tuple[list[Execution], list[Execution]]:
    """Runs of a job with a control in each twenty; the policy takes `factor` times as long as original."""
    chance = random.Random(7)
    later, controls = [], []
    for number in range(runs):
        noise = math.exp(chance.gauss(0, 0.1))
        if number % 20 == 9:
            controls.append(at(number + 1, timed(drawn(f"exe-o{number}", **changes), noise)))
        else:
            clocks = {"executor_cpu_ns": 12 * 10**9, "wall_ns": 6 * 10**9}
            later.append(at(number + 1, timed(ran(f"exe-{number}", action="frame", **clocks), noise * factor)))
    return later, controls


def test_a_policy_a_third_slower_than_its_controls_goes() -> None:
    later, controls = lived(1.3)
    found = regression(trials(), later, controls)
    assert found is not None
    assert not found.outgrown
    assert set(found.evidence) <= {run.id for run in controls}
    assert re.match(
        r"executor_cpu_ns is 1\.\d\d times that of control runs, which run as original \(20 controls among their "
        r"neighbours; at most 1\.00; evidence .*, error at most 1\.0%\)",
        found.reason,
    )


@pytest.mark.parametrize("factor", [0.7, 1.0])
def test_a_policy_no_slower_than_its_controls_stays(factor: float) -> None:
    assert regression(trials(), *lived(factor, runs=2000)) is None


def test_what_ran_as_original_without_being_drawn_is_no_control() -> None:
    later, controls = lived(1.3)
    assert regression(trials(), later, [changed(c, control=False) for c in controls]) is None


def test_controls_before_the_promotion_are_of_another_policy() -> None:
    later, controls = lived(1.3)
    assert regression(trials(), later, controls, since=Stamp("run", sequence=500)) is None


def test_another_number_of_cores_is_no_comparison() -> None:
    assert regression(trials(), *lived(1.3, cores=64)) is None


def test_the_verdict_says_what_a_clock_that_is_not_the_objective_may_take() -> None:
    """For latency a policy may take twice the CPU. Its controls show that, and it is no regression."""
    later, controls = lived(1.0)
    dearer = [changed(run, executor_cpu_ns=2 * (run.counter("executor_cpu_ns") or 0)) for run in later]
    twice = [changed(t, executor_cpu_ns=24 * 10**9) if t.policy_id == FEWER.id else t for t in trials()]
    assert regression(twice, dearer, controls, objective="latency") is None
    assert regression(trials(), dearer, controls, objective="latency") is not None
    assert regression(twice, dearer, controls, objective="cpu") is not None


def test_a_policy_under_which_jobs_fail_goes() -> None:
    later, controls = lived(0.7)
    failing = [changed(run, status="failed") for run in later]
    found = regression(trials(), failing, controls)
    assert found is not None
    assert "inf times that of control runs" in found.reason


def test_limits_can_be_told() -> None:
    assert regression(trials(), slow(20.0, 6), limits=Limits(error=1e-9)) is None
