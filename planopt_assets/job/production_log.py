"""Records the real runs of a user's job in the store. It never raises."""

from __future__ import annotations

import atexit
import logging
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from planopt_assets.job.deadline import answer_within
from planopt_assets.model.policy import Policy
from planopt_assets.model.redaction import redact
from planopt_assets.store.codecs.deciding import EDGES
from planopt_assets.store.codecs.observing import EXECUTIONS
from planopt_assets.store.lineage import edges
from planopt_assets.store.store import Store

if TYPE_CHECKING:
    from planopt_assets.engine.user_job.policy_session import PolicySession
    from planopt_assets.engine.user_job.production import RanAs
    from planopt_assets.engine.user_job.user_session import DataFrame
    from planopt_assets.job.in_force import InForce
    from planopt_assets.model.execution import Execution
    from planopt_assets.model.records import Edge

LOG = logging.getLogger("planopt")
SOURCE = "production"
TIMEOUT_S = 2.0  # for reading the store, and for recording
_MOST_WAITING = 8  # queries whose frames have not run yet; each frame holds a session


@dataclass(frozen=True, slots=True)
class Use:
    """One frame given to the user, or one job that was run, with its policy."""

    session: PolicySession
    policy: Policy  # the policy really applied
    reason: str  # why it is not the policy in force; empty if it is
    binding: int | None
    frame: DataFrame | None
    control: bool = False  # drawn to run as original, where the policy in force would have been applied


class ProductionLog:
    """The uses of one `tuned` query that are not recorded yet."""

    def __init__(self, found: InForce, timeout_s: float, run_id: str) -> None:
        self._found, self._timeout_s, self._run_id = found, timeout_s, run_id
        self._waiting: list[Use] = []
        self._process = os.getpid()
        self.in_block = False  # a `with` block records at its end, after all of its actions

    @property
    def query_id(self) -> str:
        return self._found.query_id

    def keep(self, use: Use) -> None:
        if not self._found.observable:
            return
        self._waiting.append(use)
        with _LOCK:
            if self not in _OPEN:
                _OPEN.append(self)
            del _OPEN[:-_MOST_WAITING]

    @property
    def of_this_process(self) -> bool:
        """A forked child has a copy of what waits. Only the parent, in whose Spark it ran, records it."""
        return self._process == os.getpid()

    def flush(self, seconds: float | None = None) -> None:
        """Record what has run, within the time limit. Frames that have not run yet are kept for the next flush."""
        waiting, self._waiting = self._waiting, []
        if waiting and self.of_this_process:
            try:
                idle = answer_within(self._timeout_s if seconds is None else seconds, lambda: self._record(waiting))
            except TimeoutError:
                LOG.warning("%s: the run may not be recorded: Spark or the store is slow", self._found.query_id)
            except Exception as error:  # noqa: BLE001  # nothing of planopt may fail the user's job
                LOG.warning("%s: the run was not recorded: %s", self._found.query_id, first_line(error))
            else:
                self._waiting += idle
        with _LOCK:
            if not self._waiting and self in _OPEN:
                _OPEN.remove(self)

    def _record(self, waiting: Sequence[Use]) -> list[Use]:
        """Those that have not run yet."""
        ran: list[Execution] = []
        lineage: list[Edge] = []
        idle: list[Use] = []
        for use in waiting:
            try:
                found = use.session.runs(use.frame, self._ran_as(use))
            except Exception as error:  # noqa: BLE001  # the others are recorded all the same
                LOG.warning("%s: the run was not recorded: %s", self._found.query_id, first_line(error))
                continue
            if not found:
                idle.append(use)
            ran += found
            lineage += [edge for one in found for edge in edges(one.query_id, SOURCE, one.id, [self._parent(use)])]
        if ran:
            self._append(waiting[0], ran, lineage)
        return idle

    def _ran_as(self, use: Use) -> RanAs:
        from planopt_assets.engine.user_job.production import RanAs

        return RanAs(self._found.query_id, use.policy.id, use.binding, use.reason, control=use.control)

    def _parent(self, use: Use) -> str:
        """The parent of a run in lineage: the promotion of its policy, else the policy."""
        promotion = self._found.promotion
        return promotion.id if promotion is not None and use.policy == promotion.policy else use.policy.id

    def _append(self, use: Use, ran: list[Execution], lineage: list[Edge]) -> None:
        workload = self._found.workload
        assert workload is not None, "only what is observable is kept"
        store = Store(workload.store, workload.name, lambda: use.session.spark)
        stage = f"{SOURCE}:{uuid.uuid4().hex}"  # unique per flush: one log flushes several times in a run
        store.append(self._run_id, stage, {EXECUTIONS: ran, EDGES: lineage})
        LOG.debug("%s: %d runs recorded", self._found.query_id, len(ran))


_OPEN: list[ProductionLog] = []
_LOCK = Lock()


def flush_all(timeout_s: float = TIMEOUT_S, *, at_exit: bool = False) -> None:
    """Record runs made outside a `with` block, within the time limit in all: what is left waits for the next flush."""
    ends_at = monotonic() + timeout_s
    with _LOCK:
        waiting = [log for log in _OPEN if (at_exit or not log.in_block) and log.of_this_process]
    for log in waiting:
        if (left := ends_at - monotonic()) > 0:
            log.flush(left)
        elif at_exit:
            LOG.warning("%s: the run was not recorded: no time is left", log.query_id)


atexit.register(flush_all, at_exit=True)


def first_line(error: BaseException) -> str:
    """
    >>> first_line(ValueError("no such table\\n at line 7"))
    'ValueError: no such table'
    """
    text = redact(str(error)).strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:300]}" if text else type(error).__name__
