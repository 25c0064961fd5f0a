"""Whether an error is the query's own or the end of the session, and how a session ends; real processes, no Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from planopt_assets.engine.execution import blame, leftover_tasks
from planopt_assets.engine.execution.blame import blamed
from planopt_assets.engine.sessions import lifetime, session
from planopt_assets.engine.sessions.lifetime import discard, ended_by, is_gone, may_end
from planopt_assets.errors import PlanoptError, QueryFailed, QueryHangs, QueryTimedOut, SessionLost

pytestmark = pytest.mark.fast

PATIENT = "import time; time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
FAILED = QueryFailed("no such column", where="q", fix="name another")
LATE = QueryTimedOut("stopped after 2 s", where="q", fix="raise the budget")


class Context:
    """A Spark context whose JVM is a process of the test: it answers while that lives, unless it is told otherwise."""

    def __init__(self, code: str = PATIENT) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._gateway: Any = SimpleNamespace(proc=self.process, shutdown=lambda: None)
        self._jsc: Any = self
        self.stopped = False
        self.active_tasks = [0]

    def sc(self) -> Context:
        if self.process.poll() is not None:
            raise ConnectionRefusedError("Connection refused")
        return self

    def isStopped(self) -> bool:  # noqa: N802 - Spark's name
        return self.stopped

    def statusStore(self) -> Context:  # noqa: N802 - Spark's name
        return self

    def executorList(self, active: bool) -> Context:  # noqa: N802 - Spark's name
        return self

    def length(self) -> int:
        return 1

    def apply(self, place: int) -> Any:
        left = self.active_tasks.pop(0) if len(self.active_tasks) > 1 else self.active_tasks[0]
        return SimpleNamespace(activeTasks=lambda: left)

    def stop(self) -> None:
        pass


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DYING_S", "ENDING_S"):
        monkeypatch.setattr(lifetime, name, 0.5)
    monkeypatch.setattr(leftover_tasks, "PATIENCE_S", 0.5)
    monkeypatch.setattr(lifetime, "is_ours", lambda session: True)


@pytest.fixture
def started() -> Iterator[Callable[..., Context]]:
    """Makes contexts, whose processes end with the test."""
    made: list[Context] = []

    def start(code: str = PATIENT) -> Context:
        made.append(Context(code))
        return made[-1]

    yield start
    for context in made:
        context.process.kill()
        context.process.wait()
        for pipe in (context.process.stdin, context.process.stdout):
            pipe.close()  # type: ignore[union-attr]


@pytest.fixture
def context(started: Callable[..., Context]) -> Context:
    return started()


def session_of(context: Context) -> Any:
    return SimpleNamespace(sparkContext=context)


def killed(context: Context, how: int = signal.SIGKILL) -> None:
    context.process.send_signal(how)
    context.process.wait()


# What ended it


def test_an_error_of_the_query_does_not_end_the_session(context: Context) -> None:
    assert ended_by(session_of(context), FAILED) == ""


def test_a_jvm_that_is_gone_tells_how_it_went(context: Context) -> None:
    killed(context)
    assert is_gone(session_of(context))
    assert ended_by(session_of(context), FAILED) == (
        "the JVM was killed by signal 9, as the system does when memory is short"
    )


def test_a_jvm_closes_its_connections_before_it_is_gone(
    started: Callable[..., Context], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifetime, "DYING_S", 60)
    context = started("import sys, time; time.sleep(0.5); sys.exit(52)")
    assert ended_by(session_of(context), Py4JNetworkError("Answer from Java side is empty")) == (
        "it ran out of memory: the JVM ended with exit code 52"
    )


def test_a_context_that_was_stopped_ends_the_session(context: Context) -> None:
    context.stopped = True
    assert ended_by(session_of(context), FAILED) == "Spark's context was stopped"


def test_so_does_a_query_that_stops_it_itself(context: Context) -> None:
    context._jsc = None
    assert ended_by(session_of(context), FAILED) == "Spark's context was stopped"


def test_a_jvm_that_does_not_answer_is_taken_for_dead(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> bool:
        raise Py4JError("no answer")

    monkeypatch.setattr(context, "isStopped", refuse)
    assert ended_by(session_of(context), FAILED) == "the JVM does not answer"


def test_a_launcher_s_jvm_may_not_be_ended_by_planopt(context: Context) -> None:
    context._gateway.proc = None
    assert not may_end(session_of(context))
    assert not is_gone(session_of(context))


def test_in_a_copy_of_the_process_the_jvm_is_neither_gone_nor_planopt_s_to_end(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(session._STARTED, context, os.getpid() + 1)  # type: ignore[misc]
    killed(context)
    assert not is_gone(session_of(context))
    assert not may_end(session_of(context))


# Ending it


@pytest.mark.parametrize("code", [PATIENT, DEAF], ids=["answers", "does not listen"])
def test_a_discarded_session_leaves_no_process_and_nothing_in_pyspark(
    code: str, started: Callable[..., Context], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = started(code)
    if code is DEAF:
        context.process.stdout.readline()  # type: ignore[union-attr]
    else:
        monkeypatch.setattr(lifetime, "ENDING_S", 60)
    monkeypatch.setattr(SparkContext, "_gateway", context._gateway)
    monkeypatch.setattr(SparkContext, "_jvm", context)
    monkeypatch.setattr(SparkContext, "_active_spark_context", context)
    monkeypatch.setattr(SparkSession, "_instantiatedSession", session_of(context))
    discard(session_of(context))
    assert context.process.poll() == (-signal.SIGKILL if code is DEAF else -signal.SIGTERM)
    assert (SparkContext._gateway, SparkContext._jvm, SparkContext._active_spark_context) == (None, None, None)
    assert SparkSession._instantiatedSession is None


# Who gets the blame


def outcome(context: Context, error: Exception) -> tuple[str, bool]:
    """What is raised, and whether the session was replaced."""
    replaced: list[bool] = []
    with pytest.raises(PlanoptError) as raised, blamed("q", lambda: session_of(context), lambda: replaced.append(True)):
        raise error
    return str(raised.value), bool(replaced)


def test_a_failed_query_keeps_its_error_and_the_session(context: Context) -> None:
    assert outcome(context, FAILED) == (str(FAILED), False)


def test_whatever_a_dead_jvm_ends_with_becomes_the_query_s_lost_session(context: Context) -> None:
    killed(context)
    for error in (FAILED, ConnectionRefusedError("Connection refused"), EOFError()):
        words, replaced = outcome(context, error)
        assert words.startswith("PLN-215 query q: the query ended the Spark session: the JVM was killed by signal 9")
        assert replaced


def test_a_lost_session_is_replaced_once(context: Context) -> None:
    assert outcome(context, SessionLost("it ran out of memory", where="query q", fix="-")) == (
        "PLN-215 query q: it ran out of memory. Fix: -",
        False,
    )


def test_a_thread_that_nothing_stops_ends_the_session(context: Context) -> None:
    hangs = QueryHangs("hangs in planning", where="q", fix="wait")
    assert outcome(context, hangs) == (str(hangs), True)


def test_a_cancelled_query_whose_tasks_end_keeps_the_session(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftover_tasks, "PATIENCE_S", 60)
    context.active_tasks = [2, 1, 0]
    assert outcome(context, LATE) == (str(LATE), False)


def test_tasks_that_go_on_after_a_cancel_end_the_session(context: Context) -> None:
    context.active_tasks = [2]
    words, replaced = outcome(context, LATE)
    assert words.startswith("PLN-214 q: hangs in running: its tasks go on after they were cancelled")
    assert replaced


def test_a_session_of_somebody_else_is_left_to_them(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blame, "may_end", lambda session: False)
    context.active_tasks = [2]
    assert outcome(context, LATE) == (str(LATE), False)
    assert not outcome(context, QueryHangs("hangs in planning", fix="wait"))[1]


def test_without_a_session_an_error_is_what_it_is() -> None:
    with pytest.raises(ConnectionRefusedError), blamed("q", lambda: None, lambda: None):
        raise ConnectionRefusedError
