"""Before anything runs: driver and cluster have the same Spark, Python and Delta.

Spark itself notices some of it, late and in its own words: a class that cannot be read, a Python worker that gives up.
Another patch release it does not notice at all, though it may plan and compute differently.
"""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

from planopt_assets.engine.sessions.ask_executors import Question, ask_executors
from planopt_assets.engine.sessions.executors import runs_alone
from planopt_assets.errors import ClusterMismatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import SparkSession

_FIX = (
    "install the same versions on the cluster, or run planopt in an environment with the cluster's versions; "
    "PYSPARK_PYTHON names the Python of the cluster (docs/cluster.md)"
)


def check_same_versions(spark: SparkSession) -> None:
    """One error that names the first difference, and where it is. Who did not answer is believed."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    master = str(spark.sparkContext.master)
    if runs_alone(master):
        return
    try:
        answers = ask_executors(spark, _question())
    except (Py4JError, PySparkException) as error:
        words = f"the cluster cannot run a Python task: {told(str(error))}"
        raise ClusterMismatch(words, where=master, fix=_FIX) from error
    if difference := first_difference(own_versions(), answers.found):
        raise ClusterMismatch(difference, where=master, fix=_FIX)


def own_versions() -> dict[str, str]:
    return {"spark": version("pyspark"), "python": platform.python_version(), "delta": version("delta-spark")}


def first_difference(own: Mapping[str, str], answers: Iterable[Mapping[str, str]]) -> str:
    """In words; empty where all have the same. Of Python the release counts, such as 3.11.

    >>> own = {"spark": "4.2.0", "python": "3.11.2", "delta": "4.4.0"}
    >>> first_difference(own, [{"host": "a", "spark": "4.2.0", "python": "3.11.9", "delta": ""}])
    ''
    >>> first_difference(own, [{"host": "a", "spark": "4.2.1", "python": "3.11.2", "delta": ""}])
    'the driver has Spark 4.2.0, and a has 4.2.1'
    """
    for answer in sorted(answers, key=lambda one: one["host"]):
        for name, here in own.items():
            there = answer[name]
            shortened = 2 if name == "python" else 3
            if there and there.split(".")[:shortened] != here.split(".")[:shortened]:
                return f"the driver has {name.capitalize()} {here}, and {answer['host']} has {there}"
    return ""


def told(error: str) -> str:
    """The one line of Spark's error that says what is wrong.

    >>> told("Py4JJavaError: ...\\n  at x\\n[PYTHON_VERSION_MISMATCH] Python in worker: 3.12, driver: 3.11.\\n  y")
    '[PYTHON_VERSION_MISMATCH] Python in worker: 3.12, driver: 3.11.'
    """
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    words = ("VERSION_MISMATCH", "InvalidClassException", "ModuleNotFoundError", "Cannot run program", "Error: ")
    found = next((line for word in words for line in lines if word in line), lines[0] if lines else "no answer")
    return (found[found.index("[PYTHON_VERSION") :] if "[PYTHON_VERSION" in found else found)[:300]


def _question() -> Question:
    def versions() -> dict[str, str]:
        import glob
        import os
        import platform
        import re
        import socket

        import pyspark

        # Jars of the job come from the driver. A Delta that the cluster has of its own may come before them.
        home = os.environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)  # noqa: PTH120 - sent as it is
        jars = [os.path.basename(jar) for jar in glob.glob(f"{home}/jars/delta-spark_*.jar")]  # noqa: PTH119, PTH207
        own = [found[1] for jar in jars if (found := re.search(r"-(\d[\d.]*)\.jar$", jar))]
        return {
            "host": socket.gethostname(),
            "spark": pyspark.__version__,
            "python": platform.python_version(),
            "delta": own[0] if own else "",
        }

    return versions
