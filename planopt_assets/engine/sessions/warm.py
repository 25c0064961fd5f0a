"""Which queries a JVM has run, for whichever workspace: their classes are loaded, and their code is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from planopt_assets.model.workload import Query

_ran: WeakKeyDictionary[SparkContext, set[Query]] = WeakKeyDictionary()
"""A JVM serves one context in its life, and one that is discarded is forgotten with all it ran."""


def ran(spark: SparkSession, query: Query) -> None:
    """Remember that every binding of a query came to its end."""
    _ran.setdefault(spark.sparkContext, set()).add(query)


def is_warm(spark: SparkSession, query: Query) -> bool:
    """Whether the same text ran before, on whatever version of its tables and under whatever policy."""
    return query in _ran.get(spark.sparkContext, ())
