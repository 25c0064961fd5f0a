"""Which executors an application has, when they are all there, and whether one was held up; no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.engine.execution.counting import Elapsed
from planopt_assets.engine.execution.disturbance import disturbance, ran_again
from planopt_assets.engine.execution.execute import _held_up
from planopt_assets.engine.execution.executor_python import ExecutorPython
from planopt_assets.engine.execution.stragglers import by_executor, straggler
from planopt_assets.engine.sessions import executors as module
from planopt_assets.engine.sessions.executors import Executors, Fleet, wait_for_executors
from planopt_assets.errors import ClusterGivesNothing, SparkFailed

pytestmark = pytest.mark.fast

Look = Sequence[dict[str, Any]]


def up(name: str, cores: int = 1) -> dict[str, Any]:
    return {"id": name, "isActive": True, "totalCores": cores}


def down(name: str, why: str = "worker lost") -> dict[str, Any]:
    return {"id": name, "isActive": False, "removeReason": why}


def spark_of(looks: Sequence[Look], master: str = "spark://host:7077", *, stopped: bool = False) -> tuple[Any, Any]:
    """A session, and the JVM that tells of its executors: at each look the next answer, the last one for ever."""
    left = [*looks]

    def answer(_: Any) -> Look:
        return left.pop(0) if len(left) > 1 else left[0]

    store = SimpleNamespace(executorList=lambda active: None)
    context = SimpleNamespace(
        master=master,
        defaultParallelism=8,
        startTime=0,
        _jsc=SimpleNamespace(sc=lambda: SimpleNamespace(statusStore=lambda: store, isStopped=lambda: stopped)),
        getConf=dict,
    )
    return SimpleNamespace(sparkContext=context), SimpleNamespace(to_python=answer)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_S", "QUIET_S", "BACK_S"):
        monkeypatch.setattr(module, name, 0.05)
    monkeypatch.setattr(module, "_ASK_EVERY_S", 0.01)


def test_in_local_mode_the_driver_is_the_only_executor() -> None:
    spark, jvm = spark_of([[]], "local[8]")
    executors = Executors(spark, jvm)
    assert (executors.alone, executors.cores, executors.disturbed(executors.whole())) == (True, 8, "")


def test_cores_are_those_of_all_executors_and_not_of_the_driver() -> None:
    spark, jvm = spark_of([[{"id": "driver", "isActive": True, "totalCores": 0}, up("0", 4), up("1", 4), down("2")]])
    assert Executors(spark, jvm).cores == 8


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ([up("0"), up("1")], ""),
        ([up("0"), down("1"), up("2")], "an executor was lost"),
        ([up("0"), down("1", "Executor killed: idle for 60 s")], "the executors changed from 2 to 1"),
        ([up("0"), up("1"), up("2")], "the executors changed from 2 to 3"),
    ],
)
def test_an_execution_is_disturbed_if_its_executors_are_not_the_same(after: Look, words: str) -> None:
    spark, jvm = spark_of([[up("0"), up("1")], [up("0"), up("1")], after])
    executors = Executors(spark, jvm)
    assert executors.disturbed(executors.whole()) == words


def test_it_waits_for_a_lost_executor_to_come_back() -> None:
    both, one = [up("0"), up("1")], [up("0"), down("1")]
    spark, jvm = spark_of([both, one, one, [up("0"), down("1"), up("2")]])
    executors = Executors(spark, jvm)
    assert set(executors.whole().cores) == {"0", "2"}


def test_an_executor_that_was_swapped_between_two_executions_disturbs_the_first_on_it_and_no_other() -> None:
    both, swapped = [up("0"), up("1")], [up("0"), down("1"), up("2")]
    spark, jvm = spark_of([both, both, both, swapped])
    executors = Executors(spark, jvm)
    words = [executors.disturbed(executors.whole()) for _ in range(3)]
    assert words == ["", "another executor than in the execution before", ""]


@pytest.mark.parametrize(
    ("at_its_end", "next_words"),
    [
        ([up("0"), down("1")], "another executor than in the execution before"),  # it comes cold to the next one
        ([up("0"), down("1"), up("2")], ""),  # it has come, and has worked
    ],
)
def test_an_executor_that_was_lost_in_an_execution_disturbs_that_one_and_the_first_on_its_successor(
    at_its_end: Look, next_words: str
) -> None:
    both, swapped = [up("0"), up("1")], [up("0"), down("1"), up("2")]
    spark, jvm = spark_of([both, both, at_its_end, swapped])
    executors = Executors(spark, jvm)
    words = [executors.disturbed(executors.whole()) for _ in range(3)]
    assert words == ["an executor was lost", next_words, ""]


def test_a_worker_that_is_gone_for_good_is_waited_for_once_and_every_execution_says_so() -> None:
    spark, jvm = spark_of([[up("0"), up("1")], [up("0"), down("1")]])
    executors = Executors(spark, jvm)
    for _ in range(2):
        assert executors.disturbed(executors.whole()) == "1 of 2 cores are left"
    assert not executors._may_come_back


def test_an_executor_that_comes_late_makes_another_cluster() -> None:
    spark, jvm = spark_of([[up("0")], [up("0"), up("1")]])
    executors = Executors(spark, jvm)
    assert executors.disturbed(executors.whole()) == "2 cores where trials began with 1"


def wait(monkeypatch: pytest.MonkeyPatch, looks: Sequence[Look], *, stopped: bool = False) -> Fleet:
    spark, jvm = spark_of(looks, stopped=stopped)
    made = Executors(spark, jvm)
    monkeypatch.setattr(module, "Executors", lambda _: made)
    wait_for_executors(spark)
    return made.look()


def test_a_session_waits_until_no_further_executor_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Look] = [[], [], [up("0")], [up("0"), up("1")]]
    assert wait(monkeypatch, looks).total_cores == 2


def test_a_slow_cluster_is_given_as_long_for_the_next_executor_as_it_took_for_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first one comes at the 10th look, the second five looks later: more than the least quiet time."""
    clock = SteppingClock(module._ASK_EVERY_S)
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "QUIET_S", 2 * module._ASK_EVERY_S)
    monkeypatch.setattr(module, "FIRST_S", 60.0)
    looks: list[Look] = [*[[]] * 10, *[[up("0")]] * 5, [up("0"), up("1")]]
    assert wait(monkeypatch, looks).total_cores == 2


class SteppingClock:
    """Time passes only while somebody sleeps."""

    def __init__(self, step_s: float) -> None:
        self._now, self._step_s = 0.0, step_s

    def monotonic(self) -> float:
        return self._now

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self._now += self._step_s


def test_a_cluster_that_gives_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterGivesNothing, match=r"PLN-222 spark://host:7077: .*spark\.executor\.memory") as error:
        wait(monkeypatch, [[]])
    assert isinstance(error.value, SparkFailed)  # no new session: the run keeps what it has


def test_a_session_that_spark_has_stopped_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SparkFailed, match=r"PLN-205 spark://host:7077: .*no connection to the cluster") as error:
        wait(monkeypatch, [[]], stopped=True)
    assert error.value.fix.endswith("driver and cluster must run the same Spark")


# Stragglers


def task(executor: str, run_s: float, cpu_s: float, waited_s: float = 0.0) -> dict[str, Any]:
    metrics = {
        "executorRunTime": run_s * 1e3,
        "executorCpuTime": cpu_s * 1e9,
        "jvmGcTime": 0,
        "shuffleReadMetrics": {"fetchWaitTime": waited_s * 1e3},
    }
    return {"executorId": executor, "taskMetrics": metrics}


def test_an_executor_that_takes_longer_for_the_same_cpu_was_held_up() -> None:
    stages = [[task("0", 1.0, 0.9), task("1", 4.0, 0.9)], [task("0", 1.0, 0.9), task("1", 4.0, 0.9)]]
    assert straggler(map(by_executor, stages)) == (
        "executor 1 was held up: 8.0 s of tasks, where the others would take 2.0 s"
    )


def test_executors_are_compared_within_a_stage() -> None:
    """A single task that waits for storage, in a stage of its own, is slow on whatever executor it runs."""
    stages = [[task("0", 2.0, 0.1)], [task("0", 1.0, 0.9), task("1", 1.0, 0.9)]]
    assert straggler(map(by_executor, stages)) == ""


@pytest.mark.parametrize(
    "tasks",
    [
        [task("0", 1.0, 0.9), task("1", 4.0, 3.7)],  # more data
        [task("0", 1.0, 0.9), task("1", 4.0, 0.9, waited_s=3.0)],  # it waited for the others
        [task("0", 0.1, 0.09), task("1", 0.3, 0.05)],  # too short to tell
        [task("0", 4.0, 0.5), task("1", 4.0, 0.5)],  # all of them
        [task("0", 4.0, 0.5)],
        [{"executorId": "0"}, task("1", 4.0, 0.5)],  # a task without metrics
        [],
    ],
)
def test_other_long_tasks_are_nobodys_fault(tasks: list[dict[str, Any]]) -> None:
    assert straggler([by_executor(tasks)]) == ""


@pytest.mark.parametrize(("plan", "blamed"), [("HashAggregate", True), ("ArrowEvalPython [f(a)]", False)])
def test_where_python_runs_nobody_is_blamed(plan: str, blamed: bool) -> None:
    """Its CPU is in no task: an executor that got all the rows would look slow."""
    stages = [[task("0", 1.0, 0.9), task("1", 4.0, 0.9)]]
    instruments: Any = SimpleNamespace(
        executors=SimpleNamespace(alone=False),
        python=Readings(plan=plan),
        capture=SimpleNamespace(tasks=lambda told: told),
    )
    assert bool(_held_up(instruments, None, stages)) == blamed  # type: ignore[arg-type]


def test_all_that_disturbed_an_execution_is_told() -> None:
    assert disturbance(1, "an executor was lost", "executor 1 was held up") == (
        "an executor was lost and executor 1 was held up and 1 task failed"
    )
    assert disturbance(0) == ""


def test_a_stage_that_ran_again_disturbs_though_no_task_of_its_last_attempt_failed() -> None:
    """A shuffle file that could not be fetched fails tasks of the first attempt, and no executor need be lost."""
    assert disturbance(0, again=ran_again([{"attemptId": 1}, {"attemptId": 0}])) == "1 stage ran again"


# Python beside executors


class Readings(ExecutorPython):
    """Executors that answer with these."""

    def __init__(self, *readings: Any, alone: bool = False, plan: str = "ArrowEvalPython [f(a)]") -> None:
        super().__init__(None, SimpleNamespace(text=lambda _: plan), alone=alone)  # type: ignore[arg-type]
        self.left = [*readings]

    def _read(self) -> Any:
        return self.left.pop(0)


def test_the_cpu_of_python_is_added_to_that_of_the_driver() -> None:
    added = Readings({"a": 10, "b": 5}, {"a": 30, "b": 6}).started(None)  # type: ignore[arg-type]
    assert added(Elapsed(100, 50)) == Elapsed(100, 71)


@pytest.mark.parametrize("after", [None, {"a": 30}, {"a": 30, "c": 1}])
def test_where_an_executor_does_not_answer_the_cpu_is_unknown(after: Any) -> None:
    added = Readings({"a": 10, "b": 5}, after).started(None)  # type: ignore[arg-type]
    assert added(Elapsed(100, 50)) == Elapsed(100, None)


@pytest.mark.parametrize("quiet", [Readings(alone=True), Readings(plan="HashAggregate")])
def test_without_python_or_in_local_mode_nobody_is_asked(quiet: Readings) -> None:
    assert quiet.started(None)(Elapsed(100, 50)) == Elapsed(100, 50)  # type: ignore[arg-type]
