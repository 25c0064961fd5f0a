"""Plans and runs every query of a workload through planopt, and says of each what was captured or what went wrong."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.sessions.session import FIRST_EXPRESSION_ID
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PlanoptError
from planopt_assets.observe.explain.text import parse_formatted
from planopt_assets.observe.plans.agreement import disagreements

if TYPE_CHECKING:
    from planopt_assets.model.workload import Query

_TIMEOUT_S = 600
Check = Callable[[str, Sequence[tuple[Any, ...]]], str]  # query id and its rows -> what is wrong with them, or nothing


@dataclass(frozen=True, slots=True)
class Captured:
    """What planopt saw of one query; `nodes` counts its operators before and, unless it was only planned, after."""

    query: str
    nodes: tuple[int, ...]
    seconds: float
    problems: tuple[str, ...]


def capture_all(workspace: Workspace, *, plan_only: bool = False, check: Check | None = None) -> Iterator[Captured]:
    """Each query of the workload in turn; one that fails is an outcome, not the end."""
    for query in workspace.workload.queries:
        start = time.perf_counter()
        nodes: tuple[int, ...] = ()
        try:
            nodes = _planned(workspace, query) if plan_only else _executed(workspace, query)
            problems = tuple(_problems(workspace, query, plan_only, check))
        except Exception as error:  # noqa: BLE001 - whatever planopt does not answer for itself is what this looks for
            problems = (_words(error),)
        yield Captured(query.id, nodes, time.perf_counter() - start, problems)


def _words(error: Exception) -> str:
    """The first line, and for what is not planopt's own error the place in planopt that let it through."""
    line = str(error).strip().partition("\n")[0]
    if isinstance(error, PlanoptError):
        return line
    frames = traceback.extract_tb(error.__traceback__)
    place = next((f for f in reversed(frames) if "planopt_assets" in f.filename), frames[-1])
    return f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno}: {line}"


def _planned(workspace: Workspace, query: Query) -> tuple[int, ...]:
    plan, _ = workspace.plan(query, 0, workspace.baseline)
    return (len(plan.nodes),)


def _executed(workspace: Workspace, query: Query) -> tuple[int, ...]:
    tier = workspace.workload.capture
    execution = workspace.execute(query, 0, workspace.baseline, timeout_s=_TIMEOUT_S, tier=tier)
    assert execution.initial is not None
    return len(execution.initial.nodes), len(execution.final.nodes)


def _problems(workspace: Workspace, query: Query, plan_only: bool, check: Check | None) -> Iterator[str]:
    """Where the plan tree and the formatted text of one frame differ, before and after it ran, and what it returned."""
    frame = workspace.frame(query, 0, workspace.baseline)
    execution: Any = frame._jdf.queryExecution()
    yield from _disagreements(workspace, execution, "initial")
    if not plan_only:
        rows = frame.collect()
        yield from _disagreements(workspace, execution, "final")
        if check is not None and (wrong := check(query.id, rows)):
            yield wrong


def _disagreements(workspace: Workspace, execution: Any, phase: str) -> Iterator[str]:
    capture = workspace.capture
    tree = capture.plan(execution.executedPlan(), phase)
    words = capture.jvm.explained(execution, "formatted")
    text = parse_formatted(words, phase=phase, tables=capture.tables, first_id=FIRST_EXPRESSION_ID)
    yield from (f"{phase}: {difference}" for difference in disagreements(tree, text))
