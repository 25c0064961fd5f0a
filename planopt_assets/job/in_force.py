"""Reads the policy in force for one query of a user's job: without Spark, within a time limit, never an error."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from planopt_assets.errors import ChainBroken, PlanoptError, PolicyVetoed, RowDamaged, StoreTooSlow, UnknownQuery
from planopt_assets.job.deadline import answer_within
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Workload
from planopt_assets.promote.veto import check_in_force
from planopt_assets.store.promotions import chains
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.workload import load_workload

if TYPE_CHECKING:
    from planopt_assets.model.promotion import Promotion
    from planopt_assets.model.workload import Query

OpenStore = Callable[[str, str], Snapshot]  # root, workload
NOTHING_PROMOTED = "no policy has been promoted yet"


@dataclass(frozen=True, slots=True)
class InForce:
    """What the store says about one query. `failure` is why it could not be read."""

    query_id: str
    workload: Workload | None = None
    query: Query | None = None
    promotion: Promotion | None = None
    failure: PlanoptError | None = None

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
        return ""

    @property
    def observable(self) -> bool:
        """Whether runs can be recorded. Not in a store that hangs, is damaged, or is of a newer planopt."""
        recordable = self.failure is None or isinstance(self.failure, ChainBroken | PolicyVetoed | RowDamaged)
        return self.query is not None and recordable


def promotion_in_force(workload: Workload, query_id: str, open_store: OpenStore = Snapshot) -> Promotion | None:
    """The newest generation of a query. None: nothing was ever promoted.

    The whole chain is checked first, and the policy: hashes only show that a row is the one that was written.
    """
    chain = chains(open_store(workload.store, workload.name), [query_id]).of(query_id)
    if not chain:
        return None
    check_in_force(chain[-1], workload.knobs)
    return chain[-1]


def read_in_force(
    workload: Workload | str | os.PathLike[str],
    query_id: str,
    *,
    timeout_s: float,
    open_store: OpenStore = Snapshot,
) -> InForce:
    """Like `promotion_in_force`, but never raises: each failure becomes the reason to run as original."""
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
        promotion = answer_within(left, lambda: promotion_in_force(loaded, query_id, open_store))
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
    return InForce(query_id, loaded, query, promotion)
