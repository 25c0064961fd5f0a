"""The pool of Spark's fair scheduler that planopt's jobs run in: `spark.pool` in the workload file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from planopt_assets.engine.jvm.started_with import started_with

if TYPE_CHECKING:
    from pyspark import SparkContext

POOL = "spark.scheduler.pool"


def take_pool(context: SparkContext) -> None:
    """From now on jobs of this thread run there: a pool is a property of a thread. Without one Spark takes its own."""
    context.setLocalProperty(POOL, started_with(context, POOL))  # type: ignore[arg-type]  # None takes it away


@contextmanager
def in_pool(context: SparkContext) -> Iterator[None]:
    """The same for a while. Whoever asked keeps the pool of their thread."""
    before = context.getLocalProperty(POOL)
    take_pool(context)
    try:
        yield
    finally:
        context.setLocalProperty(POOL, before)  # type: ignore[arg-type]  # None takes it away
