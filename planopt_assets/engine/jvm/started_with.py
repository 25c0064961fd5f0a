"""The settings that an application was started with, one by one.

`SparkContext.getConf()` copies all of them, with several calls to the JVM for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext


def started_with(context: SparkContext, name: str) -> str | None:
    """The value of one setting; None: nobody set it."""
    return context._conf.get(name)


def started_memory(context: SparkContext) -> dict[str, str]:
    """`driver_memory` and `executor_memory`; Spark's own default where nobody set them."""
    return {f"{who}_memory": started_with(context, f"spark.{who}.memory") or "1g" for who in ("driver", "executor")}
