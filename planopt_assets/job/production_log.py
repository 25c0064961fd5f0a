"""Records how the queries of a user's job really ran: a few rows in the store, and never an error."""

from __future__ import annotations

import atexit
import logging
import uuid
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from planopt_assets.job.deadline import answer_within
from planopt_assets.model.policy import Policy
from planopt_assets.model.redaction import redact
from planopt_assets.store.lineage import edges

if TYPE_CHECKING:
    from planopt_assets.engine.user_job.policy_session import PolicySession
    from planopt_assets.engine.user_job.production import RealRun
    from planopt_assets.engine.user_job.user_session import DataFrame
    from planopt_assets.job.in_force import InForce

LOG = logging.getLogger("planopt")
PURPOSE = "production"
_MOST_WAITING = 8  # queries with frames nobody ran yet; each frame holds a session


@dataclass(frozen=True, slots=True)
class Use:
    """One frame handed to the user, or one job that was run: under which policy, and why not another."""

    session: PolicySession
    policy: Policy  # what really holds
    reason: str  # why it is not the policy in force; empty where it is
    binding: int | None
    frame: DataFrame | None


class ProductionLog:
    """The uses of one `tuned` query that nobody has recorded yet."""

    def __init__(self, found: InForce, timeout_s: float, run_id: str) -> None:
        self._found, self._timeout_s, self._run_id = found, timeout_s, run_id
        self._waiting: list[Use] = []
        self.in_block = False  # a `with` block records at its end, after all of its actions

    def keep(self, use: Use) -> None:
        if not self._found.observable:
            return
        self._waiting.append(use)
        with _LOCK:
            if self not in _OPEN:
                _OPEN.append(self)
            del _OPEN[:-_MOST_WAITING]

    def flush(self) -> None:
        """Record what has run. A frame that has not stays; one that has is looked at no more."""
        waiting, self._waiting = self._waiting, []
        rows: dict[str, list[dict[str, Any]]] = {"runtime_counters": [], "lineage": []}
        for use in waiting:
            try:
                runs = use.session.runs(use.frame)
            except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's job
                LOG.warning("%s: its run was not recorded: %s", self._found.query_id, first_line(error))
                continue
            if not runs:
                self._waiting.append(use)
            for number, run in enumerate(runs):
                self._add(rows, use, number, run)
        if rows["runtime_counters"]:
            self._append(waiting[0], rows)
        with _LOCK:
            if not self._waiting and self in _OPEN:
                _OPEN.remove(self)

    def _add(self, rows: dict[str, list[dict[str, Any]]], use: Use, number: int, run: RealRun) -> None:
        promotion, query_id = self._found.promotion, self._found.query_id
        execution_id = f"exe-{use.session.marker}-{query_id}-{number}"
        applied = promotion is not None and use.policy == promotion.policy
        rows["runtime_counters"].append(
            {
                "query_id": query_id,
                "execution_id": execution_id,
                "purpose": PURPOSE,
                "policy_id": use.policy.id,
                "binding": use.binding,
                **run.counters,
                "action": run.action,
                "status": "failed" if run.error else "ok",
                "note": run.error or use.reason or None,
            }
        )
        parent = promotion.id if promotion is not None and applied else use.policy.id
        rows["lineage"] += edges(query_id, PURPOSE, execution_id, [parent])

    def _append(self, use: Use, rows: dict[str, list[dict[str, Any]]]) -> None:
        from planopt_assets.store.writer import append

        workload = self._found.workload
        assert workload is not None, "only what is observable is kept"
        try:
            answer_within(
                self._timeout_s,
                lambda: append(
                    lambda: use.session.spark,
                    workload.store,
                    workload=workload.name,
                    run_id=self._run_id,
                    # One transaction for each time: the same use may wait through several.
                    stage=f"{PURPOSE}:{uuid.uuid4().hex}",
                    rows=rows,
                ),
            )
        except TimeoutError:
            LOG.warning("%s: its run may not be recorded: the store is slow", self._found.query_id)
        except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's job
            LOG.warning("%s: its run was not recorded: %s", self._found.query_id, first_line(error))
        else:
            LOG.debug("%s: %d runs recorded", self._found.query_id, len(rows["runtime_counters"]))


_OPEN: list[ProductionLog] = []
_LOCK = Lock()


def flush_all(*, at_exit: bool = False) -> None:
    """Record what ran outside of a `with` block."""
    with _LOCK:
        waiting = [log for log in _OPEN if at_exit or not log.in_block]
    for log in waiting:
        log.flush()


atexit.register(flush_all, at_exit=True)


def first_line(error: BaseException) -> str:
    """
    >>> first_line(ValueError("no such table\\n at line 7"))
    'ValueError: no such table'
    """
    text = redact(str(error)).strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:300]}" if text else type(error).__name__
