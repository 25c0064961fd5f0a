"""Spark work in a thread of its own and for a bounded time: cancelled when the time is up, left behind if it hangs.

Jobs can be cancelled, planning cannot. So the caller never waits for the thread that plans: what does not answer to a
cancel is given up, and its thread, which is a daemon, may end when it likes. Job groups, job tags and the active
session belong to a thread of the JVM, and each thread of Python has one of its own (PySpark's pinned threads): all that
sets them must run inside the work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from planopt_assets.engine.sessions.scheduler_pool import take_pool
from planopt_assets.errors import QueryHangs, QueryOutdone, QueryTimedOut

_CANCEL_EVERY_S = 0.2  # a cancel sent before a job exists is lost: repeat it
PATIENCE_S = {"planning": 1.0, "running": 2.0}  # after the first cancel; tasks end at their next row
ASK_EVERY_S = 0.25  # whether it is outdone
_FIX = "raise the budget if it should be given more time"

T = TypeVar("T")


@dataclass
class Step:
    """Where in its execution the work is; the work says so itself."""

    now: Literal["planning", "running"] = "planning"


def bounded(
    context: Any,
    work: Callable[[Step], T],
    *,
    tag: str,
    timeout_s: float,
    outdone: Callable[[], str] | None = None,
) -> T:
    """What the work returns or raises; past its time it ends as `QueryTimedOut`, or `QueryHangs` if nothing stops it.

    `outdone` is asked now and then, and tells in words why there is no sense in going on (`QueryOutdone`).

    >>> bounded(None, lambda step: 1 + 1, tag="sum", timeout_s=5)
    2
    """
    job_tag = f"planopt-{tag.replace(',', '_')}"
    worker = _Worker(context, work, job_tag)
    worker.start()
    words = _waited(worker, min(max(0.0, timeout_s), threading.TIMEOUT_MAX), outdone)
    if worker.ended.is_set():
        return worker.outcome()
    late = time.monotonic()
    while not worker.ended.wait(_CANCEL_EVERY_S):
        worker.cancel()
        if time.monotonic() - late > PATIENCE_S[worker.step.now]:
            worker.interrupt()
            raise QueryHangs(
                f"hangs in {worker.step.now}: given up after {timeout_s:.0f} s", where=tag, fix=_FIX
            ) from None
    if worker.error is None:
        return worker.outcome()  # done in the moment its time was up
    if words:
        raise QueryOutdone(words, where=tag, fix="nothing: the baseline takes less") from worker.error
    raise QueryTimedOut(
        f"stopped after {timeout_s:.0f} s, while {worker.step.now}", where=tag, fix=_FIX
    ) from worker.error


def _waited(worker: _Worker[Any], seconds: float, outdone: Callable[[], str] | None) -> str:
    """Wait until the work has ended or its time is up. What is returned are the words that cut it short."""
    if outdone is None:
        worker.ended.wait(seconds)
        return ""
    late = time.monotonic() + seconds
    while (left := late - time.monotonic()) > 0 and not worker.ended.wait(min(left, ASK_EVERY_S)):
        if words := outdone():
            return words
    return ""


class _Worker(threading.Thread, Generic[T]):
    """One thread for one piece of work; a context of None is a test without Spark."""

    def __init__(self, context: Any, work: Callable[[Step], T], job_tag: str) -> None:
        super().__init__(daemon=True, name=job_tag)
        self._context, self._work, self._job_tag = context, work, job_tag
        self._result: list[T] = []
        self._java_thread: Any = None
        self.step, self.ended = Step(), threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            if self._context is not None:
                self._java_thread = self._context._jvm.java.lang.Thread.currentThread()
                self._context.addJobTag(self._job_tag)
                take_pool(self._context)
            self._result.append(self._work(self.step))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised again where the work was asked for
            self.error = error
        finally:
            self.ended.set()

    def outcome(self) -> T:
        if self.error is not None:
            raise self.error
        return self._result[0]

    def cancel(self) -> None:
        if self._context is not None:
            self._context.cancelJobsWithTag(self._job_tag)

    def interrupt(self) -> None:
        """Planning looks at no flag, but what it waits for (files, jobs) often does: a hung thread may yet end."""
        if self._java_thread is not None:
            self._java_thread.interrupt()
