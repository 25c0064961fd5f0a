"""Work that takes too long is cancelled; work that nothing stops is left behind, and nobody waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from planopt_assets.engine.execution import bounded as module
from planopt_assets.engine.execution.bounded import Step, bounded
from planopt_assets.errors import QueryFailed, QueryHangs, QueryTimedOut

pytestmark = pytest.mark.fast


class Context:
    """What `bounded` needs of a Spark context: here a cancel ends the work that waits for it."""

    def __init__(self) -> None:
        self.cancelled, self.interrupted = threading.Event(), threading.Event()
        self.tags: list[str] = []
        self.settings: dict[str, str] = {}
        self.properties: dict[str, str | None] = {}
        self.asked = 0
        self._jvm = self
        self.java = self
        self.lang = self
        self.Thread = self

    def currentThread(self) -> Context:  # noqa: N802 - Java's name
        return self

    def interrupt(self) -> None:
        self.interrupted.set()

    def addJobTag(self, tag: str) -> None:  # noqa: N802 - Spark's name
        self.tags.append(f"{threading.current_thread().name}: {tag}")

    @property
    def _conf(self) -> dict[str, str]:
        return self.settings

    def setLocalProperty(self, name: str, value: str | None) -> None:  # noqa: N802 - Spark's name
        self.properties[f"{threading.current_thread().name}: {name}"] = value

    def cancelJobsWithTag(self, tag: str) -> None:  # noqa: N802 - Spark's name
        self.asked += 1
        if self.asked > 1:  # the first one comes before the job exists, and is lost
            self.cancelled.set()


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What a hung thread waits for, so that it ends with the test."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", {"planning": 0.5, "running": 0.5})


@pytest.mark.parametrize("pool", ["night", None])
def test_work_is_done_in_the_pool_of_the_workload(pool: str | None) -> None:
    context = Context()
    if pool:
        context.settings["spark.scheduler.pool"] = pool
    bounded(context, lambda step: "done", tag="q", timeout_s=30)
    assert context.properties == {"planopt-q: spark.scheduler.pool": pool}  # of the thread that works


def test_work_in_time_gives_what_it_returns() -> None:
    assert bounded(Context(), lambda step: "done", tag="q", timeout_s=30) == "done"


def test_an_error_is_raised_where_the_work_was_asked_for() -> None:
    def work(step: Step) -> None:
        raise QueryFailed("no space left", where="q", fix="make some")

    with pytest.raises(QueryFailed, match="no space left"):
        bounded(Context(), work, tag="q", timeout_s=30)


def test_the_job_tag_is_set_in_the_thread_that_does_the_work() -> None:
    context = Context()
    name = bounded(context, lambda step: threading.current_thread().name, tag="q,1", timeout_s=30)
    assert context.tags == [f"{name}: planopt-q_1"]
    assert name != threading.current_thread().name


def test_work_past_its_time_is_cancelled_until_it_ends() -> None:
    context = Context()

    def work(step: Step) -> None:
        step.now = "running"
        assert context.cancelled.wait(30)
        raise QueryFailed("job was cancelled", where="q", fix="-")

    with pytest.raises(QueryTimedOut, match="stopped after 0 s, while running") as raised:
        bounded(context, work, tag="q", timeout_s=0.1)
    assert not isinstance(raised.value, QueryHangs)
    assert not context.interrupted.is_set()


def test_work_that_is_done_when_its_time_is_up_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.PATIENCE_S, "planning", 30.0)  # two threads may take a second on a busy machine
    context = Context()

    def work(step: Step) -> str:
        assert context.cancelled.wait(30)
        return "done"

    assert bounded(context, work, tag="q", timeout_s=0.1) == "done"


@pytest.mark.parametrize("where", ["planning", "running"])
def test_work_that_nothing_stops_is_left_behind(release: threading.Event, where) -> None:
    context = Context()
    threads = []

    def work(step: Step) -> None:
        step.now = where
        threads.append(threading.current_thread())
        release.wait(60)

    started = time.monotonic()
    with pytest.raises(QueryHangs, match=f"PLN-214 q: hangs in {where}: given up after 0 s"):
        bounded(context, work, tag="q", timeout_s=0.1)
    assert threads[0].is_alive()
    assert threads[0].daemon
    assert context.interrupted.is_set()
    assert time.monotonic() - started < 60  # it did not wait for the thread


def test_the_next_work_is_not_held_up_by_what_was_left_behind(release: threading.Event) -> None:
    with pytest.raises(QueryHangs):
        bounded(Context(), lambda step: release.wait(60), tag="q", timeout_s=0)
    assert bounded(Context(), lambda step: "next", tag="r", timeout_s=30) == "next"
