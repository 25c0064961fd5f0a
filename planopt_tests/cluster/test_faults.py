"""What happens to a run when its cluster fails: disturbed trials count for nothing, and the run goes on.

One fault is in the suite. The others take a minute each and are in `make soak`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from planopt_tests.cluster.driver import RULES, ran_with
from planopt_tests.little_cluster import little_cluster


def counted(ran: dict[str, Any], status: str) -> list[str]:
    """Why the trials with this status are not `ok`, without warm-ups."""
    return [t["error"] for t in ran["trials"] if t["status"] == status and not t["warm_up"]]


def is_whole(ran: dict[str, Any]) -> None:
    """An undisturbed pass: a policy was accepted, and is in force."""
    assert counted(ran, "tainted") == []
    assert [v["outcome"] for v in ran["verdicts"]] == ["accept"]
    assert ran["generations"] >= 1


@pytest.mark.e2e
def test_a_trial_whose_executor_is_killed_is_repeated(tmp_path: Path) -> None:
    with little_cluster() as cluster:
        ran = ran_with("executor", tmp_path, cluster)
        pids = [cluster.master_pid, *cluster.worker_pids]
    assert not any(psutil.pid_exists(pid) for pid in pids)
    faulty = ran["faulty"]
    assert (faulty["cores"], faulty["sessions_lost"]) == (2, 0)
    tainted = counted(faulty, "tainted")
    assert tainted
    assert "an executor was lost" in tainted[0]
    # Another executor came, and the pairs that were judged are those of undisturbed trials.
    assert [(v["outcome"], v["pairs"]) for v in faulty["verdicts"]] == [("accept", RULES.min_pairs)]
    assert len(counted(faulty, "ok")) == 2 * RULES.min_pairs
    # A user's job on the same cluster gets the policy, and leaves its record.
    assert faulty["tuned"] == {"rows": 17, "policy": faulty["in_force"], "recorded": [[faulty["in_force"], 2]]}
    is_whole(ran["after"])


@pytest.mark.soak
def test_a_worker_that_is_lost_for_good_leaves_everything_as_it_was(tmp_path: Path) -> None:
    with little_cluster() as cluster:
        ran = ran_with("worker", tmp_path, cluster)
    faulty = ran["faulty"]
    assert {v["outcome"] for v in faulty["verdicts"]} == {"inconclusive"}
    assert "1 of 2 cores are left" in counted(faulty, "tainted")[-1]
    assert faulty["generations"] == 0
    is_whole(ran["after"])  # on one core, which is what its conditions say
    assert ran["after"]["cores"] == 1


@pytest.mark.soak
def test_a_run_outlives_its_master(tmp_path: Path) -> None:
    """Executors go on without it. A trial that notices is tainted; a policy is in force only by undisturbed ones."""
    with little_cluster() as cluster:
        faulty = ran_with("master", tmp_path, cluster)["faulty"]
    assert faulty["sessions_lost"] == 0
    assert [v["outcome"] for v in faulty["verdicts"]] == ["accept"]
    assert len(counted(faulty, "ok")) == 2 * RULES.min_pairs


@pytest.mark.soak
def test_an_executor_that_is_held_up_all_the_time_leaves_everything_as_it_was(tmp_path: Path) -> None:
    with little_cluster() as cluster:
        ran = ran_with("straggler", tmp_path, cluster)
    faulty = ran["faulty"]
    assert {v["outcome"] for v in faulty["verdicts"]} == {"inconclusive"}
    assert all("was held up" in why for why in counted(faulty, "tainted"))
    assert faulty["generations"] == 0
    is_whole(ran["after"])
