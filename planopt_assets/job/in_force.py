"""Reads the policy in force for one query of a user's job: without Spark, within a time limit, never an error."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic, time
from typing import TYPE_CHECKING

from planopt_assets.engine.delta.heads import heads
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.errors import (
    ChainBroken,
    PlanoptError,
    PolicyVetoed,
    RowDamaged,
    StoreTooSlow,
    TableUnreadable,
    UnknownQuery,
)
from planopt_assets.job.control_run import is_control
from planopt_assets.job.deadline import answer_within
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Workload
from planopt_assets.promote.suspension import fitting, suspension
from planopt_assets.promote.veto import check_in_force
from planopt_assets.store.promotions import chains
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.workload import load_workload

if TYPE_CHECKING:
    from planopt_assets.model.conditions import Conditions
    from planopt_assets.model.promotion import Promotion
    from planopt_assets.model.workload import Query

OpenStore = Callable[[str, str], Snapshot]  # root, workload
NOTHING_PROMOTED = "no policy has been promoted yet"
CONTROL = "control run: drawn to run as original"


@dataclass(frozen=True, slots=True)
class InForce:
    """What the store says about one query. `failure` is why it could not be read."""

    query_id: str
    workload: Workload | None = None
    query: Query | None = None
    promotion: Promotion | None = None
    control: bool = False  # this run goes as original, to compare with runs under the policy
    failure: PlanoptError | None = None
    suspended: str = ""  # why the evidence does not hold for the tables as they are
    proven: tuple[Conditions, ...] = ()  # where it was found: the conditions that hold for the tables as they are

    @property
    def policy(self) -> Policy:
        """The policy of the newest generation. After a revert to original it is original."""
        return self.promotion.policy if self.promotion else ORIGINAL

    @property
    def generation(self) -> int:
        return self.promotion.generation if self.promotion else 0

    @property
    def reason(self) -> str:
        """Why the query runs as original. Empty if a policy is to be applied."""
        if self.failure is not None:
            return str(self.failure)
        if self.promotion is None:
            return NOTHING_PROMOTED
        if self.policy == ORIGINAL:
            return f"generation {self.generation} ({self.promotion.state}) is original: {self.promotion.reason}"
        if self.suspended:
            return f"generation {self.generation} is suspended: {self.suspended}"
        if self.control:
            return f"{CONTROL}, to compare with generation {self.generation}"
        return ""

    @property
    def observable(self) -> bool:
        """Whether runs can be recorded. Not in a store that hangs, is damaged, or is of a newer planopt."""
        sound = ChainBroken | PolicyVetoed | RowDamaged | TableUnreadable
        recordable = self.failure is None or isinstance(self.failure, sound)
        return self.query is not None and recordable


def found_in_store(workload: Workload, query: Query, open_store: OpenStore = Snapshot) -> InForce:
    """The newest generation of a query, and whether its evidence holds for the tables as they are now.

    The whole chain is checked first, and the policy: hashes only show that a row is the one that was written. The
    tables are looked at in their logs: no Spark, and only those that the policy depends on.
    """
    chain = chains(open_store(workload.store, workload.name), [query.id]).of(query.id)
    if not chain:
        return InForce(query.id, workload, query)
    check_in_force(chain[-1], workload.knobs)
    tables, factor = heads(workload.tables, chain, Pins()), workload.similar_within
    return InForce(
        query.id,
        workload,
        query,
        chain[-1],
        suspended=suspension(chain, tables, factor),
        proven=fitting(chain, tables, factor),
    )


def read_in_force(
    workload: Workload | str | os.PathLike[str],
    query_id: str,
    *,
    timeout_s: float,
    run_id: str | None = None,
    open_store: OpenStore = Snapshot,
) -> InForce:
    """Like `found_in_store`, but never raises: each failure becomes the reason to run as original.

    With the id of a run it also says whether that run is a control.
    """
    ends_at = monotonic() + timeout_s
    found = InForce(query_id)
    try:
        loaded = (
            workload if isinstance(workload, Workload) else answer_within(timeout_s, lambda: load_workload(workload))
        )
        query = next((q for q in loaded.queries if q.id == query_id), None)
        if query is None:
            raise UnknownQuery(
                f"the workload has no query {query_id!r}",
                where=str(loaded.file),
                fix="declare the query, or correct the id given to `tuned`",
            )
        found = InForce(query_id, loaded, query)
        left = max(ends_at - monotonic(), 0.0)
        stored = answer_within(left, lambda: _read(loaded, query, run_id, open_store))
    except PlanoptError as error:
        return InForce(query_id, found.workload, found.query, failure=error)
    except TimeoutError:
        late = StoreTooSlow(
            f"no answer within {timeout_s:g} s",
            where=found.workload.store if found.workload else str(workload),
            fix="check that the store can be reached, or give `tuned` a longer `timeout_s`",
        )
        return InForce(query_id, found.workload, found.query, failure=late)
    except Exception as error:  # noqa: BLE001  # boundary to the user's job: planopt may not fail it
        strange = PlanoptError(
            f"{type(error).__name__}: {error}", where=f"query {query_id}", fix="report it: this is a defect of planopt"
        )
        return InForce(query_id, found.workload, found.query, failure=strange)
    return stored


def _read(workload: Workload, query: Query, run_id: str | None, open_store: OpenStore) -> InForce:
    found = found_in_store(workload, query, open_store)
    if run_id is None or found.suspended:
        return found  # who only asks is no run; without a policy there is nothing to compare with
    return replace(found, control=is_control(workload, query, found.promotion, run_id, time()))
