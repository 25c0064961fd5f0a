"""CPU of the Python workers beside the executors of a cluster, which Spark counts nowhere.

Before and after an execution with Python functions every executor is asked for the CPU of the processes below it. They
answer from Linux's `/proc`. Where one cannot, or another one answers the second time, the CPU is unknown; so the judge
does not judge by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.execution.counting import Elapsed
from planopt_assets.engine.sessions.ask_executors import Question, ask_executors

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

    from planopt_assets.engine.jvm.bridge import Jvm

_RUNS_PYTHON = ("EvalPython", "InPandas", "InArrow", "PythonUDTF", "AggregateInPandas", "PythonMap")

Reading = Mapping[str, int] | None
"""Executor -> nanoseconds of all Python below it, ever; None: unknown."""


def runs_python(plan_text: str) -> bool:
    """Whether a physical plan calls Python.

    >>> runs_python("ArrowEvalPython [f(a)]"), runs_python("Project [python_version#1]")
    (True, False)
    """
    return any(word in plan_text for word in _RUNS_PYTHON)


class ExecutorPython:
    """Reads what Python takes beside the executors. In local mode Python is below the driver, whose CPU has it."""

    def __init__(self, spark: SparkSession, jvm: Jvm, *, alone: bool) -> None:
        self._spark, self._jvm, self._alone = spark, jvm, alone

    def started(self, executed_plan: JavaObject) -> Callable[[Elapsed], Elapsed]:
        """To be called before an execution; what it returns adds Python's CPU to the time that it took."""
        if self._alone or not self.runs_in(executed_plan):
            return lambda elapsed: elapsed
        before = self._read()

        def added(elapsed: Elapsed) -> Elapsed:
            python = spent_between(before, self._read())
            if elapsed.cpu_ns is None or python is None:
                return Elapsed(elapsed.wall_ns, None)
            return Elapsed(elapsed.wall_ns, elapsed.cpu_ns + python)

        return added

    def runs_in(self, executed_plan: JavaObject) -> bool:
        return runs_python(self._jvm.text(executed_plan))

    def _read(self) -> Reading:
        answers = ask_executors(self._spark, _question())
        return together(answers.found) if answers.complete else None


def together(answers: Iterable[tuple[str, int | None]]) -> Reading:
    """All answers, or nothing if one executor does not know.

    >>> together([("a", 5), ("b", 7)]), together([("a", 5), ("b", None)])
    ({'a': 5, 'b': 7}, None)
    """
    known: dict[str, int] = {}
    for executor, spent in answers:
        if spent is None:
            return None
        known[executor] = spent
    return known


def spent_between(before: Reading, after: Reading) -> int | None:
    """Nanoseconds from one reading to the next; unknown where another executor answers.

    >>> spent_between({"a": 5, "b": 7}, {"a": 9, "b": 7}), spent_between({"a": 5}, {"b": 5})
    (4, None)
    """
    if before is None or after is None or set(before) != set(after):
        return None
    return sum(after[one] - before[one] for one in after)


def _question() -> Question:
    def python_cpu() -> tuple[str, Any]:
        import os
        import pathlib
        import socket

        tick_ns = 10**9 // os.sysconf("SC_CLK_TCK")

        def stat(pid: int) -> list[str]:
            """The fields after the name, which may hold blanks: state, parent, ...; 11 to 14 are the times."""
            return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()

        try:
            daemon = os.getppid()
            executor = int(stat(daemon)[1])
            parents: dict[int, list[str]] = {}
            for entry in pathlib.Path("/proc").iterdir():
                if entry.name.isdecimal():
                    try:
                        parents[int(entry.name)] = stat(int(entry.name))
                    except OSError:  # it has just ended: its parent tells
                        continue
        except OSError:
            return socket.gethostname(), None
        below, grown = {executor}, True
        while grown:
            more = {pid for pid, fields in parents.items() if int(fields[1]) in below} - below
            below |= more
            grown = bool(more)
        # Of the executor itself only what children that have ended took.
        ticks = sum(int(t) for pid in below for t in parents[pid][13 if pid == executor else 11 : 15])
        return f"{socket.gethostname()}/{executor}", ticks * tick_ns

    return python_cpu
