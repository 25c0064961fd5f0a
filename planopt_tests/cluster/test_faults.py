"""What happens to a run when its cluster fails: disturbed trials count for nothing, and the run goes on.

One fault is in the suite. All of them, one after the other on one cluster, are in `make soak`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from planopt_tests.cluster.driver import FAULTS, RULES, ran_with
from planopt_tests.little_cluster import little_cluster


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with little_cluster() as cluster:
        return ran_with(tmp_path_factory.mktemp("faults"), cluster, *FAULTS)


def passes(ran: dict[str, Any], fault: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The one with the fault in it, and the one after it."""
    assert fault in ran, ran["stderr"]
    return ran[fault]["faulty"], ran[fault]["after"]


def counted(ran: dict[str, Any], status: str) -> list[str]:
    """Why the trials with this status are not `ok`, without warm-ups."""
    return [t["error"] for t in ran["trials"] if t["status"] == status and not t["warm_up"]]


def is_whole(ran: dict[str, Any], *, cores: int = 2) -> None:
    """An undisturbed pass: a policy was accepted, and is in force."""
    assert counted(ran, "tainted") == []
    assert [v["outcome"] for v in ran["verdicts"]] == ["accept"]
    assert ran["generations"] >= 1
    assert ran["cores"] == cores
    # A user's job on the same cluster gets the policy, and leaves its record.
    assert ran["tuned"] == {"rows": 17, "policy": ran["in_force"], "recorded": [[ran["in_force"], cores]]}


def is_repeated(faulty: dict[str, Any]) -> None:
    """An executor was lost and another one came; what was judged are pairs of undisturbed trials."""
    assert (faulty["cores"], faulty["sessions_lost"]) == (2, 0)
    tainted = counted(faulty, "tainted")
    assert tainted
    assert "an executor was lost" in tainted[0]
    assert [(v["outcome"], v["pairs"]) for v in faulty["verdicts"]] == [("accept", RULES.min_pairs)]
    assert len(counted(faulty, "ok")) == 2 * RULES.min_pairs
    assert (faulty["tuned"]["policy"], faulty["tuned"]["rows"]) == (faulty["in_force"], 17)


def left_as_it_was(faulty: dict[str, Any]) -> None:
    """No trial that was disturbed has decided anything."""
    assert {v["outcome"] for v in faulty["verdicts"]} == {"inconclusive"}
    assert counted(faulty, "tainted")
    assert faulty["generations"] == 0
    assert "in_force" not in faulty


@pytest.mark.e2e
def test_a_trial_whose_executor_is_killed_is_repeated(tmp_path: Path) -> None:
    with little_cluster() as cluster:
        pids = [cluster.master_pid, *cluster.worker_pids]
        ran = ran_with(tmp_path, cluster, "executor")
    assert not any(psutil.pid_exists(pid) for pid in pids)
    faulty, after = passes(ran, "executor")
    is_repeated(faulty)
    is_whole(after)


@pytest.mark.soak
def test_a_killed_executor_is_the_first_of_several_faults(ran: dict[str, Any]) -> None:
    faulty, after = passes(ran, "executor")
    is_repeated(faulty)
    is_whole(after)


@pytest.mark.soak
def test_an_executor_that_is_held_up_all_the_time_leaves_everything_as_it_was(ran: dict[str, Any]) -> None:
    faulty, after = passes(ran, "straggler")
    left_as_it_was(faulty)
    assert all("was held up" in why for why in counted(faulty, "tainted"))
    is_whole(after)


@pytest.mark.soak
def test_a_run_outlives_its_master_and_the_next_run_finds_a_new_one(ran: dict[str, Any]) -> None:
    """Executors go on without it. A trial that notices is tainted; a policy is in force only by undisturbed ones."""
    faulty, after = passes(ran, "master")
    assert faulty["sessions_lost"] == 0
    assert [v["outcome"] for v in faulty["verdicts"]] == ["accept"]
    assert len(counted(faulty, "ok")) == 2 * RULES.min_pairs
    is_whole(after)


@pytest.mark.soak
def test_a_worker_that_is_lost_for_good_leaves_everything_as_it_was(ran: dict[str, Any]) -> None:
    faulty, after = passes(ran, "worker")
    left_as_it_was(faulty)
    assert "1 of 2 cores are left" in counted(faulty, "tainted")[-1]
    is_whole(after, cores=1)  # which is what its conditions say
