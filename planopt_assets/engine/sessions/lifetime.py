"""Whether the Spark session of this process still serves after an error, and how it is ended and forgotten.

Three things end a session. The JVM is gone: a task ran out of memory (Spark then exits with 52), or the system killed
it. The JVM ran out of memory and survived: which of its threads failed nobody knows, so it is not trusted any more. Or
Spark's context was stopped. After that every call fails, whichever query it is for.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from planopt_assets.engine.sessions.session import is_ours, was_forked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWER_S = 30.0
DYING_S = 5.0  # a process closes its connections before it is gone
ENDING_S = 10.0  # asked to end, it deletes its temporary files; after that it is killed
_SPARK_OOM = 52
_NO_ANSWER = (Py4JError, OSError, EOFError)


def ended_by(session: SparkSession, error: BaseException) -> str:
    """In words what ended the session; empty while it still serves, so that the error is the query's own."""
    memory = _out_of_memory(error)
    if any(isinstance(one, Py4JNetworkError | OSError | EOFError) for one in _chain(error)):
        _wait(session)
    if (exit_code := _exit_code(session)) is not None:
        return exit_words(exit_code)
    if memory:
        return f"it ran out of memory: {memory}"
    words = _asked(session)
    if words:
        _wait(session)
    exit_code = _exit_code(session)
    return words if exit_code is None else exit_words(exit_code)


def _asked(session: SparkSession) -> str:
    """What the JVM says of itself, if it says anything in time: one without memory may collect garbage for minutes."""
    answer = ["the JVM does not answer"]

    def ask() -> None:
        context = session.sparkContext._jsc
        with suppress(*_NO_ANSWER):
            stopped = context is None or context.sc().isStopped()
            answer[0] = "Spark's context was stopped" if stopped else ""

    asking = threading.Thread(target=ask, daemon=True, name="planopt-is-spark-there")
    asking.start()
    asking.join(ANSWER_S)
    return answer[0]


def exit_words(exit_code: int) -> str:
    """How a JVM ended.

    >>> exit_words(52)
    'it ran out of memory: the JVM ended with exit code 52'
    >>> exit_words(-9)
    'the JVM was killed by signal 9, as the system does when memory is short'
    """
    if exit_code == _SPARK_OOM:
        return f"it ran out of memory: the JVM ended with exit code {exit_code}"
    if exit_code in (-9, 137):
        return "the JVM was killed by signal 9, as the system does when memory is short"
    if exit_code < 0:
        return f"the JVM was killed by signal {-exit_code}"
    return f"the JVM ended with exit code {exit_code}"


def is_gone(session: SparkSession) -> bool:
    """Whether the JVM has ended, which costs no call."""
    return _exit_code(session) is not None


def may_end(session: SparkSession) -> bool:
    """Whether the JVM is planopt's to end: it started this session, and knows the process."""
    return _process(session) is not None and is_ours(session)


def discard(session: SparkSession) -> None:
    """End the JVM and let PySpark forget it; the next session starts another one."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context, process = session.sparkContext, _process(session)
    if process is not None:
        process.terminate()
        try:
            process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
    gateway: Any = context._gateway
    context._jsc = None  # stop() would ask the JVM
    context.stop()
    if gateway is not None:
        with suppress(*_NO_ANSWER):
            gateway.shutdown()
    with SparkContext._lock:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _process(session: SparkSession) -> subprocess.Popen[bytes] | None:
    """The JVM, where this process has started it; None where a launcher such as spark-submit has, or a parent."""
    if was_forked(session):
        return None
    found: subprocess.Popen[bytes] | None = getattr(session.sparkContext._gateway, "proc", None)
    return found


def _exit_code(session: SparkSession) -> int | None:
    process = _process(session)
    return None if process is None else process.poll()


def _wait(session: SparkSession) -> None:
    process = _process(session)
    if process is not None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(DYING_S)


def _out_of_memory(error: BaseException) -> str:
    """The JVM's own words where it ran out of memory.

    Not `SparkOutOfMemoryError`: Spark refused memory to a task, and everything else goes on.
    """
    for one in _chain(error):
        origin = getattr(one, "_origin", one)  # PySpark's own errors keep what they were made from
        java = origin.java_exception if isinstance(origin, Py4JJavaError) else origin
        with suppress(*_NO_ANSWER):
            java = java if isinstance(java, JavaObject) else None
            while java is not None:
                if java.getClass().getName() == "java.lang.OutOfMemoryError":
                    return str(java.toString()).partition("\n")[0]
                java = java.getCause()
    return ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was raised from."""
    one: BaseException | None = error
    while one is not None:
        yield one
        one = one.__cause__ or one.__context__
