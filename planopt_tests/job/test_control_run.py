"""Which runs are controls: a share of them, at most one an hour, the same for the same run, in any process."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from planopt_assets.job.control_run import is_control
from planopt_assets.job.in_force import read_in_force
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store import control_claims
from planopt_assets.store.control_claims import HOUR_S, claim_control
from planopt_tests.job.claiming import claim
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.rows import FEWER

pytestmark = pytest.mark.fast

START = 500_000 * HOUR_S
(PROMOTED,) = chain("q", FEWER)


@pytest.fixture(autouse=True)
def new_process() -> None:
    control_claims._LAST.clear()


def workload(folder: Path | str, share: float = 0.05, runs_per_day: float = 1.0) -> Workload:
    query = Query("q", sql="SELECT 1", runs_per_day=runs_per_day)
    return Workload("tests", Path("planopt.yaml"), str(folder), (), (query,), control_share=share)


def controls(declared: Workload, moments: list[float]) -> list[float]:
    query = declared.queries[0]
    return [at for number, at in enumerate(moments) if is_control(declared, query, PROMOTED, f"run-{number}", at)]


def test_one_nightly_run_in_twenty_is_a_control(tmp_path: Path) -> None:
    nights = [START + day * 24.0 * HOUR_S for day in range(4000)]
    assert 150 < len(controls(workload(tmp_path), nights)) < 250


def test_the_share_can_be_declared_and_switched_off(tmp_path: Path) -> None:
    nights = [START + day * 24.0 * HOUR_S for day in range(1000)]
    assert controls(workload(tmp_path, share=0.0), nights) == []
    assert len(controls(workload(tmp_path, share=0.5), nights)) > 400


def test_many_short_jobs_have_at_most_one_control_an_hour(tmp_path: Path) -> None:
    found = controls(workload(tmp_path, share=1.0), [START + 7.0 * n for n in range(6000)])
    assert len(found) == 12  # 42,000 seconds are eleven hours and a half
    assert all(later - earlier >= HOUR_S for earlier, later in pairwise(found))


def test_where_the_declared_runs_are_many_the_draw_itself_is_rarer(tmp_path: Path) -> None:
    declared = workload("hdfs://name/store", share=1.0, runs_per_day=24 * 100)
    drawn = 0
    for number in range(10_000):  # 100 hours
        control_claims._LAST.clear()  # each run is a process of its own, and nothing is shared
        drawn += is_control(declared, declared.queries[0], PROMOTED, str(number), START + 36.0 * number)
    assert 60 < drawn < 150


def test_the_same_run_is_drawn_alike_by_everybody(tmp_path: Path) -> None:
    nights = [START + day * 24.0 * HOUR_S for day in range(500)]
    first = controls(workload(tmp_path / "one"), nights)
    control_claims._LAST.clear()
    assert controls(workload(tmp_path / "other"), nights) == first
    control_claims._LAST.clear()
    assert controls(replace(workload(tmp_path / "third"), seed=1), nights) != first


def test_a_job_that_gives_every_run_the_same_id_is_drawn_anew_each_hour(tmp_path: Path) -> None:
    declared = workload(tmp_path)
    drawn = [
        is_control(declared, declared.queries[0], PROMOTED, "nightly", START + day * 24.0 * HOUR_S)
        for day in range(1000)
    ]
    assert 20 < sum(drawn) < 90


def test_of_several_processes_one_gets_the_hour(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready, found = spawn.Barrier(4), spawn.Queue()
    processes = [spawn.Process(target=claim, args=(str(tmp_path), START + 5.0, ready, found)) for _ in range(4)]
    for process in processes:
        process.start()
    assert sorted(found.get(timeout=60) for _ in processes) == [False, False, False, True]
    for process in processes:
        process.join()


def test_an_hour_is_sixty_minutes_and_not_the_hour_of_the_clock(tmp_path: Path) -> None:
    claims = []
    for at in (START + 3599.0, START + 3601.0, START + 7198.0, START + 7199.0):
        control_claims._LAST.clear()
        claims.append(claim_control(str(tmp_path), "tests", "q", at))
    assert claims == [True, False, False, True]


def test_claims_do_not_pile_up(tmp_path: Path) -> None:
    for hour in range(50):
        assert claim_control(str(tmp_path), "tests", "q", START + hour * float(HOUR_S))
    assert len(list((tmp_path / "_controls" / "tests").iterdir())) <= 2


def test_a_store_that_cannot_be_written_has_no_controls(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the folder should be")
    assert not claim_control(str(tmp_path / "store"), "tests", "q", START)


@pytest.mark.parametrize(
    "promoted",
    [None, chain("q", FEWER, state="fixed")[0], chain("q", ORIGINAL, state="reverted")[0]],
    ids=["nothing promoted", "pinned by a person", "back to original"],
)
def test_without_a_policy_that_watch_judges_there_is_no_control(tmp_path: Path, promoted: object) -> None:
    declared = workload(tmp_path, share=1.0)
    assert not is_control(declared, declared.queries[0], promoted, "run", START)  # type: ignore[arg-type]


def test_a_control_runs_as_original_and_the_reason_says_so(tmp_path: Path) -> None:
    declared = workload(tmp_path, share=1.0)
    promote_by_hand(declared.store, *chain("q", FEWER))
    first, second = (read_in_force(declared, "q", timeout_s=60, run_id=run) for run in ("one", "other"))
    assert (first.control, first.policy) == (True, FEWER)
    assert first.reason == "control run: drawn to run as original, to compare with generation 1"
    assert (second.control, second.reason) == (False, "")
    assert not read_in_force(declared, "q", timeout_s=60).control  # who only asks is no run
