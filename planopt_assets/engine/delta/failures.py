"""How Delta's commands fail in Python, and how a commit that others were faster than is tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenacity import RetryCallState, retry, retry_if_exception_type, stop_after_attempt, wait_random

if TYPE_CHECKING:
    from collections.abc import Callable

ATTEMPTS = 4


def failures() -> tuple[type[Exception], ...]:
    """PySpark has an error of its own only for what Spark knows by name: a job that fails arrives as py4j's."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError, ConnectionError)  # the last two also from a JVM that is gone


def conflicts() -> tuple[type[Exception], ...]:
    """Delta's errors for a commit that others were faster than; in Python they have no base of their own."""
    from delta import exceptions

    return (
        exceptions.ConcurrentAppendException,
        exceptions.ConcurrentDeleteDeleteException,
        exceptions.ConcurrentDeleteReadException,
        exceptions.ConcurrentTransactionException,
        exceptions.ConcurrentWriteException,
        exceptions.DeltaConcurrentModificationException,
        exceptions.MetadataChangedException,
        exceptions.ProtocolChangedException,
    )


def repeated(change: Callable[[], Any]) -> int:
    """Make a change, anew after each conflict, at most `ATTEMPTS` times; the attempts it took."""
    tried = 0

    def count(state: RetryCallState) -> None:
        nonlocal tried
        tried = state.attempt_number

    again = retry(
        retry=retry_if_exception_type(conflicts()),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_random(0.1, 1.0),
        reraise=True,
        before=count,
    )
    again(change)()
    return tried


def first_line(error: BaseException) -> str:
    """What went wrong, in one line; py4j's own first line names only the call, so the cause behind it is asked.

    >>> first_line(ValueError("no such column\\n  at x"))
    'no such column'
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    text = str(error)
    if isinstance(error, Py4JJavaError):
        try:
            text = str(error.java_exception.toString())
        except (Py4JError, OSError):  # the JVM is gone
            text = "Spark's JVM has ended"
    return (text.strip().splitlines() or [type(error).__name__])[0][:300]
