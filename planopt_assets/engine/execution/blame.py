"""While Spark works for a query: whatever ends the session is that query's doing, and the session is replaced.

A JVM that is gone, or that ran out of memory, serves nobody any more. A thread or a task that nothing stops keeps a
core and whatever it holds: that ends the session too, so that the next measurement is of the next query alone.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from planopt_assets.engine.execution.leftover_tasks import tasks_end
from planopt_assets.engine.sessions.lifetime import ended_by, is_gone, may_end
from planopt_assets.errors import QueryHangs, QueryTimedOut, SessionLost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession


@contextmanager
def blamed(query_id: str, session: Callable[[], SparkSession | None], replace: Callable[[], None]) -> Iterator[None]:
    """Errors of the query pass; one that ended the session is raised as `SessionLost` or `QueryHangs`.

    A session that somebody else started is not planopt's to end: it is replaced only when its JVM is gone.
    """
    try:
        yield
    except SessionLost:
        raise  # replaced already, where it happened
    except Exception as error:  # whatever a call to a JVM that is gone ends with
        spark = session()
        if spark is None:
            raise
        if how := ended_by(spark, error):
            if is_gone(spark) or may_end(spark):
                replace()
            raise _lost(query_id, how) from error
        if not isinstance(error, QueryTimedOut) or not may_end(spark):
            raise
        if isinstance(error, QueryHangs):
            replace()
            raise
        if not tasks_end(spark.sparkContext):
            replace()
            raise QueryHangs(
                "hangs in running: its tasks go on after they were cancelled", where=error.where, fix=error.fix
            ) from error
        raise


def _lost(query_id: str, how: str) -> SessionLost:
    return SessionLost(
        f"the query ended the Spark session: {how}",
        where=f"query {query_id}",
        fix="give Spark more memory (`spark.driver.memory`) or make the query smaller; until its inputs or settings "
        f"change it is left alone, unless `planopt run {query_id}` names it",
    )
