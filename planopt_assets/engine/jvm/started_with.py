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
