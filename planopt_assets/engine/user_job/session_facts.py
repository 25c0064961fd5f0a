"""What a user's session is, as far as evidence depends on it: engine, cores, memory, settings that shape plans."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from planopt_assets.decide.knobs import size_in_bytes
from planopt_assets.engine.jvm.bridge import jvm_of
from planopt_assets.engine.jvm.started_with import started_memory
from planopt_assets.engine.sessions.executors import Executors, wait_for_executors
from planopt_assets.engine.sessions.knobs import READER_OPTIONS, register_delta_settings
from planopt_assets.engine.user_job.user_session import applied_in
from planopt_assets.errors import ClusterGivesNothing
from planopt_assets.model.conditions import Circumstances
from planopt_assets.model.knob import UNSET
from planopt_assets.promote.dependence import compared, release

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

FIRST_S = 10.0


def session_circumstances(spark: SparkSession, names: Iterable[str]) -> Circumstances:
    """As the session is now; `names` are the settings that the evidence was found under.

    Spark does not know the options of Parquet's own reader, so they are not compared.
    """
    memory = started_memory(spark.sparkContext)
    return Circumstances(
        engine=_engine(spark),
        cores=_cores(spark),
        memory=tuple((name, size_in_bytes(text)) for name, text in sorted(memory.items())),
        settings=compared(_values(spark, [name for name in names if name not in READER_OPTIONS])),
    )


def _cores(spark: SparkSession) -> int:
    """A job that has just begun has no executors yet. It cannot run without them, so waiting for them costs nothing."""
    cores = Executors(spark).cores
    if not cores:
        with suppress(ClusterGivesNothing):
            wait_for_executors(spark, first_s=FIRST_S)
        cores = Executors(spark).cores
    return cores


def _engine(spark: SparkSession) -> str | None:
    """The versions that really run: the Delta of the session's own jars, not of the Python package."""
    java: Any = spark._jvm.java.lang.System  # type: ignore[union-attr]
    delta = jvm_of(spark).scala_object("io.delta.package").VERSION()
    return release(f"delta {delta}, java {java.getProperty('java.version')}, spark {spark.version}")


def _values(spark: SparkSession, names: Iterable[str]) -> dict[str, str]:
    """As the user has them: in a job inside a job, what the outer policy set is not the user's."""
    register_delta_settings(jvm_of(spark))  # `tuned` may be the first thing that a job does
    outer, found = applied_in(spark), {}
    for name in names:
        value = spark.conf.get(name)
        if name in outer and value == outer[name][0]:
            value = outer[name][1]
            if value is None:
                continue  # Spark's default, which this session does not tell
        found[name] = UNSET if value is None else str(value)
    return found
