"""What a user's job leaves in the store, and that leaving it never disturbs the job."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.engine.user_job.production import Executions, RanAs
from planopt_assets.job import production_log
from planopt_assets.job.in_force import InForce, read_in_force
from planopt_assets.job.production_log import ProductionLog, Use, flush_all
from planopt_assets.model.counters import Counters
from planopt_assets.model.execution import Action, Execution
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store import writer
from planopt_assets.store.lineage import kind_of, tree
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.measured import counters
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.rows import FEWER
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast

RealRun = tuple[Action, str, Counters]  # what was done, the error, and what it cost
RAN: RealRun = ("frame", "", counters(tasks=4, cpu_ns=None))
FAILED: RealRun = ("frame", "[DIVIDE_BY_ZERO] no", counters(tasks=1, cpu_ns=None))


class Recorded(Executions):
    """Spark's record of these actions, each of one execution that has ended."""

    cores = 2  # type: ignore[assignment]  # there is no Spark to ask

    def __init__(self, runs: list[RealRun]) -> None:
        self._recorded = runs
        self._bus = SimpleNamespace(waitUntilEmpty=lambda patience_ms: None)

    def _trees(self, marker: str, after: int) -> list[list[Any]]:
        ended = SimpleNamespace(isDefined=lambda: True)
        return [[SimpleNamespace(ran=run, completionTime=lambda: ended)] for run in self._recorded]

    def _run(self, executions: Sequence[Any], own: Any) -> RealRun:
        run: RealRun = executions[-1].ran
        return run


@dataclass
class Session:
    """A session in which these actions were run."""

    runs_so_far: list[RealRun] = field(default_factory=list)
    fault: Exception | None = None
    marker: str = "0123456789ab"
    spark: Any = None

    def runs(self, frame: Any, ran_as: RanAs) -> list[Execution]:
        if self.fault:
            raise self.fault
        return Recorded(self.runs_so_far).runs(self.marker, -1, frame, ran_as)


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    return Workload("tests", tmp_path / "planopt.yaml", str(tmp_path / "store"), (), (Query("q", sql="SELECT 1"),))


@pytest.fixture(autouse=True)
def nothing_waits() -> Iterator[None]:
    yield
    production_log._OPEN.clear()


def log_of(workload: Workload, timeout_s: float = 60.0) -> ProductionLog:
    return ProductionLog(read_in_force(workload, "q", timeout_s=60), timeout_s, "dagster-run-1")


def use(session: Session, policy: Policy = ORIGINAL, reason: str = "") -> Use:
    return Use(session, policy, reason, 0, None)  # type: ignore[arg-type]  # it is only asked what ran


def counted(workload: Workload) -> list[dict[str, Any]]:
    return StoredRows(workload.store, "tests").rows("runtime_counters")


def test_a_run_under_the_policy_in_force_comes_from_its_promotion(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER))
    log = log_of(workload)
    log.keep(use(Session([RAN]), FEWER))
    log.flush()
    (row,) = counted(workload)
    assert {name: row[name] for name in ("query_id", "run_id", "purpose", "policy_id", "binding", "tasks")} == {
        "query_id": "q",
        "run_id": "dagster-run-1",
        "purpose": "production",
        "policy_id": FEWER.id,
        "binding": 0,
        "tasks": 4,
    }
    assert (row["action"], row["status"], row["note"], row["cpu_ns"]) == ("frame", "ok", None, None)
    assert kind_of(row["execution_id"]) == "execution"
    node = tree(Snapshot(workload.store, "tests"), row["execution_id"])
    assert [(p.kind, p.id) for p in node.parents] == [("promotion", "pro-q-g1")]


def test_a_run_as_original_says_why_and_comes_from_no_promotion(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER))
    log = log_of(workload)
    log.keep(use(Session([RAN]), ORIGINAL, "the policy cannot be applied: no such setting"))
    log.flush()
    (row,) = counted(workload)
    assert (row["policy_id"], row["note"]) == (ORIGINAL.id, "the policy cannot be applied: no such setting")
    node = tree(Snapshot(workload.store, "tests"), row["execution_id"])
    assert [(p.kind, p.id) for p in node.parents] == [("policy", ORIGINAL.id)]


def test_a_failed_run_is_recorded_with_its_error(workload: Workload) -> None:
    log = log_of(workload)
    log.keep(use(Session([FAILED])))
    log.flush()
    assert [(r["status"], r["note"]) for r in counted(workload)] == [("failed", "[DIVIDE_BY_ZERO] no")]


def test_several_actions_of_one_block_are_several_rows_in_one_commit(workload: Workload) -> None:
    log = log_of(workload)
    log.keep(use(Session([RAN, RAN])))
    log.keep(use(Session([RAN], marker="ba9876543210")))
    log.flush()
    assert len({r["execution_id"] for r in counted(workload)}) == 3
    assert Snapshot(workload.store, "tests").version("runtime_counters") == 0


def test_a_frame_nobody_ran_waits_until_somebody_does_and_is_recorded_once(workload: Workload) -> None:
    session = Session()
    log = log_of(workload)
    log.keep(use(session))
    log.flush()
    assert counted(workload) == []
    session.runs_so_far = [RAN]
    flush_all()  # as the next `tuned` does
    flush_all()
    assert len(counted(workload)) == 1


def test_a_frame_that_runs_after_a_later_one_was_recorded_is_recorded_too(workload: Workload) -> None:
    log, first, second = log_of(workload), Session(marker="first"), Session([RAN], marker="second")
    log.keep(use(first))
    log.keep(use(second))
    log.flush()
    first.runs_so_far.append(RAN)
    log.flush()
    assert [r["execution_id"] for r in counted(workload)] == ["exe-second-q-0", "exe-first-q-0"]


def test_an_open_block_is_left_to_its_own_end(workload: Workload) -> None:
    log = log_of(workload)
    log.in_block = True
    log.keep(use(Session([RAN])))
    flush_all()
    assert counted(workload) == []
    log.flush()
    assert len(counted(workload)) == 1


def test_frames_that_are_never_run_do_not_pile_up(workload: Workload) -> None:
    for _ in range(50):
        log_of(workload).keep(use(Session()))
    assert len(production_log._OPEN) == production_log._MOST_WAITING


def test_counters_that_cannot_be_read_are_logged_and_nothing_else(
    workload: Workload, caplog: pytest.LogCaptureFixture
) -> None:
    log = log_of(workload)
    log.keep(use(Session(fault=RuntimeError("the context was stopped"))))
    log.keep(use(Session([RAN], marker="ba9876543210")))
    log.flush()
    assert [r.getMessage() for r in caplog.records] == [
        "q: the run was not recorded: RuntimeError: the context was stopped"
    ]
    assert len(counted(workload)) == 1


def test_a_store_that_cannot_be_written_is_logged_and_nothing_else(
    workload: Workload, caplog: pytest.LogCaptureFixture
) -> None:
    log = log_of(workload)
    Path(workload.store).write_text("a file where the folder should be")
    log.keep(use(Session([RAN])))
    log.flush()
    assert ["StoreWriteFailed: PLN-303" in r.getMessage() for r in caplog.records] == [True]
    assert caplog.records[0].levelno == logging.WARNING


def test_a_store_that_hangs_does_not_hold_up_the_job(
    workload: Workload, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(writer, "append", lambda *_, **__: released.wait())
    log = log_of(workload, timeout_s=0.05)
    log.keep(use(Session([RAN])))
    log.flush()
    released.set()
    assert [r.getMessage() for r in caplog.records] == ["q: the run may not be recorded: Spark or the store is slow"]


def test_nothing_is_recorded_in_a_store_that_could_not_be_read(workload: Workload) -> None:
    unreadable = Path(workload.store) / "active_policies" / "_delta_log"
    unreadable.mkdir(parents=True)
    (unreadable / "00000000000000000000.json").write_text("not a commit\n")
    log = log_of(workload)
    log.keep(use(Session([RAN])))
    log.flush()
    assert counted(workload) == []


def test_nothing_is_recorded_for_a_query_nobody_declared() -> None:
    log = ProductionLog(InForce("q"), 60, "r")
    log.keep(use(Session([RAN])))
    assert production_log._OPEN == []


# Time, processes and panics


class PanicException(BaseException):
    """As PyO3 makes it of a panic in Rust: no `Exception`."""


def test_all_that_waits_is_recorded_within_one_time_limit(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    given: list[float] = []
    clock = iter(float(n) for n in range(100))
    monkeypatch.setattr(production_log, "monotonic", lambda: next(clock))
    monkeypatch.setattr(ProductionLog, "flush", lambda self, seconds=None: given.append(seconds))
    for number in range(6):
        log_of(workload).keep(use(Session([RAN], marker=str(number))))
    flush_all(3.5)  # the clock moves by a second each time it is asked
    assert given == [2.5, 1.5, 0.5]
    assert len(production_log._OPEN) == 6  # the others wait
    flush_all(0.5, at_exit=True)
    assert "the run was not recorded: no time is left" in caplog.text


def test_spark_that_does_not_answer_holds_nobody_up(workload: Workload, caplog: pytest.LogCaptureFixture) -> None:
    released = threading.Event()

    class Slow(Session):
        def runs(self, frame: Any, ran_as: RanAs) -> list[Execution]:
            released.wait()
            return []

    log = log_of(workload, timeout_s=0.05)
    log.keep(use(Slow()))
    log.flush()
    released.set()
    assert [r.getMessage() for r in caplog.records] == ["q: the run may not be recorded: Spark or the store is slow"]


def test_a_panic_while_recording_is_logged_and_nothing_else(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def panics(*_: Any, **__: Any) -> None:
        raise PanicException("Forked process detected")

    monkeypatch.setattr(writer, "append", panics)
    log = log_of(workload)
    log.keep(use(Session([RAN])))
    log.flush()
    assert "the run was not recorded: NativeUnusable: PLN-308" in caplog.text
    assert "PanicException: Forked process detected" in caplog.text


def test_a_forked_child_leaves_what_waits_to_its_parent(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(workload)
    log.keep(use(Session([RAN])))
    parent = os.getpid()
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: parent + 1)
        flush_all(at_exit=True)
        assert not Path(workload.store, "runtime_counters").exists()
    log.flush()
    assert len(counted(workload)) == 1
