"""The user's own runs confirm a policy where control runs next to them are dearer."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planopt_assets.model.execution import Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.stamp import Stamp
from planopt_assets.promote.confirmation import confirmation
from planopt_assets.promote.confirmed_by_runs import LOOKS, confirmed_by_runs
from planopt_tests.measured import counters
from planopt_tests.promote.events import A, accept, chain_of, verdict_of

pytestmark = pytest.mark.fast

START = datetime(2026, 1, 1, tzinfo=UTC)
PROMOTED = replace(chain_of(accept(A))[-1], stamp=Stamp("run", START))


def ran(number: int, policy_id: str, cost: float, **others: Any) -> Execution:
    counted = counters(cpu_s=cost, executor_cpu_ns=round(cost * 1e9))
    drawn = policy_id == ORIGINAL.id
    known: dict[str, Any] = {
        "control": drawn,
        "cores": 2,
        "action": "frame",
        "status": "ok",
        "stamp": Stamp("job", START + timedelta(hours=number)),
    }
    return Execution(f"exe-{number}", "q", "production", policy_id, 0, counted, **{**known, **others})


def job(
    controls: int, policy: float, original: float, seed: int = 1, noise: float = 0.1, **others: Any
) -> list[Execution]:
    """Five runs under the policy, a control, five runs, and so on."""
    draw, found = random.Random(seed), list[Execution]()
    for _ in range(controls):
        for place in range(11):
            level, policy_id = (original, ORIGINAL.id) if place == 5 else (policy, A.id)
            found.append(ran(len(found) + 1, policy_id, level * draw.lognormvariate(0, noise), **others))
    return found


def test_a_gain_of_a_third_is_confirmed_by_four_controls() -> None:
    words = confirmed_by_runs(PROMOTED, job(4, 2.0, 3.0), "cpu")
    assert words == "executor_cpu_ns of 4 of 4 control runs is above that of most runs next to them"
    assert confirmed_by_runs(PROMOTED, job(3, 2.0, 3.0), "cpu") == ""


def test_no_gain_is_confirmed_no_more_often_than_its_looks_allow() -> None:
    confirmed = [bool(confirmed_by_runs(PROMOTED, job(16, 3.0, 3.0, seed), "cpu")) for seed in range(300)]
    assert sum(confirmed) <= 0.14 * 300
    assert list(LOOKS) == [4, 8, 16]


def test_nor_does_it_matter_how_often_one_looks_and_how_many_bindings_the_query_has() -> None:
    """The loop asks after every night. What was found of a control must stay, whatever runs later."""

    def ever(seed: int) -> bool:
        draw = random.Random(seed)
        drawn = [ORIGINAL.id if draw.random() < 0.1 else A.id for _ in range(200)]
        runs = [ran(number, policy_id, draw.lognormvariate(1, 0.2)) for number, policy_id in enumerate(drawn, start=1)]
        runs = [replace(r, binding=draw.randrange(3)) for r in runs]
        return any(confirmed_by_runs(PROMOTED, runs[:seen], "cpu") for seen in range(20, 201, 12))

    assert sum(ever(seed) for seed in range(60)) <= 0.14 * 60


def test_what_is_confirmed_stays_confirmed() -> None:
    runs = job(6, 2.0, 3.0)
    first = next(seen for seen in range(len(runs)) if confirmed_by_runs(PROMOTED, runs[:seen], "cpu"))
    late = [replace(r, counters=counters(executor_cpu_ns=1)) if r.control else r for r in runs[first:]]
    assert all(confirmed_by_runs(PROMOTED, [*runs[:first], *late[:more]], "cpu") for more in range(len(late)))


def test_days_that_are_slow_for_both_confirm_nothing_and_hide_nothing() -> None:
    slow = [
        replace(r, counters=counters(executor_cpu_ns=(n // 22 + 1) * 3_000_000_000)) for n, r in enumerate(job(4, 1, 1))
    ]
    assert confirmed_by_runs(PROMOTED, slow, "cpu") == ""


@pytest.mark.parametrize(
    "others",
    [{"status": "failed"}, {"action": "other"}, {"stamp": Stamp("job", START)}],
    ids=["failed", "did something else", "before the promotion"],
)
def test_runs_that_do_not_compare_are_left_out(others: dict[str, Any]) -> None:
    assert confirmed_by_runs(PROMOTED, job(4, 2.0, 3.0, **others), "cpu") == ""


def test_runs_without_the_counter_of_the_objective_confirm_nothing() -> None:
    unknown = [replace(r, counters=replace(r.counters, executor_cpu_ns=None)) for r in job(4, 2.0, 3.0)]
    assert confirmed_by_runs(PROMOTED, unknown, "cpu") == ""
    assert confirmed_by_runs(PROMOTED, unknown, "latency") != ""


def test_runs_as_original_that_were_not_drawn_are_no_controls() -> None:
    assert confirmed_by_runs(PROMOTED, job(4, 2.0, 3.0, control=None), "cpu") == ""


def test_controls_on_another_number_of_cores_confirm_nothing() -> None:
    moved = [replace(r, cores=4) if r.control else r for r in job(4, 2.0, 3.0)]
    assert confirmed_by_runs(PROMOTED, moved, "cpu") == ""


def test_controls_among_runs_of_another_policy_confirm_nothing() -> None:
    other = [replace(r, policy_id="pol_other") if r.policy_id == A.id else r for r in job(4, 2.0, 3.0)]
    assert confirmed_by_runs(PROMOTED, other, "cpu") == ""


def test_what_production_confirms_needs_no_trial_and_a_trial_that_rejects_outranks_it() -> None:
    proof, rejected = verdict_of(A), verdict_of(A, 2, outcome="reject", purpose="confirm")
    found = confirmation(PROMOTED, (proof,), job(4, 2.0, 3.0))
    assert found is not None
    assert (found.state, found.reason.startswith("confirmed by production: ")) == ("confirmed", True)
    against = confirmation(PROMOTED, (proof, rejected), job(4, 2.0, 3.0))
    assert against is not None
    assert against.state == "failed"
