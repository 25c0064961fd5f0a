"""One question to the Python of every executor.

A small job runs as many tasks at once as there are cores. Spark gives each free core one of them, so every executor
gets its share. A question travels by value: planopt need not be installed on the cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.sessions.executors import Executors
from planopt_assets.engine.sessions.scheduler_pool import in_pool

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRIES = 3
_HOLD_S = 0.05  # a task ends no sooner: else one executor might take the tasks of two

Question = Callable[[], Any]
"""Written inside another function, with its imports inside: only then cloudpickle sends it by value."""


@dataclass(frozen=True, slots=True)
class Answers:
    """One for each executor that answered, in no order, and whether all of them did."""

    found: list[Any]
    complete: bool


def ask_executors(spark: SparkSession, question: Question) -> Answers:
    """Up to three times, with more tasks each time, until all have answered."""
    executors = Executors(spark)
    answers: dict[Any, Any] = {}
    for attempt in range(1, _TRIES + 1):
        fleet = executors.look()
        tasks = max(1, fleet.total_cores) * attempt
        asked = spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(_asking(question, _HOLD_S * attempt))
        with in_pool(spark.sparkContext):
            answers = dict(asked.collect())
        if len(answers) >= len(fleet.cores):
            return Answers(list(answers.values()), complete=True)
    return Answers(list(answers.values()), complete=False)


def _asking(question: Question, hold_s: float) -> Callable[[Iterable[int]], Iterator[tuple[Any, Any]]]:
    def asked(_: Iterable[int]) -> Iterator[tuple[Any, Any]]:
        import os
        import socket

        answer = question()
        time.sleep(hold_s)
        daemon = os.getppid()  # Spark forks every Python worker from one process, which the executor has started
        try:
            with open(f"/proc/{daemon}/stat") as file:  # noqa: PTH123 - as little as possible is sent
                executor = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            executor = daemon
        yield (socket.gethostname(), executor), answer

    return asked
