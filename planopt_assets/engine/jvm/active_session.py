"""The session that Spark takes for a thread's own, whichever one a command was given."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Delta commits with the settings of the thread's active session, and lists files of unprepared scans by them."""
    sessions: Any = session._get_j_spark_session_class(session._jvm)
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()
