"""The prices that decide goes by: those of the store's newest cost model, or a new one once the store has doubled.

A model belongs to one environment. What was measured with 2 cores says little of 16: a store that both use has two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.decide.price_fit import ENOUGH_EXECUTIONS, ENOUGH_QUERIES, fitted
from planopt_assets.errors import RowDamaged
from planopt_assets.model.cost_model import GIVEN, Environment, Prices
from planopt_assets.store.prices import Held, MeasuredExecutions, content_of, held, held_by, stored_prices

if TYPE_CHECKING:
    from planopt_assets.model.decision import Decision
    from planopt_assets.model.evidence import Evidence
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.records import SharedContent
    from planopt_assets.store.snapshot import Snapshot

GROWN = 2  # times as many executions as were counted for the last model: then it is fitted again
MOST = 5_000  # executions, the newest; more tell nothing more


def environment_of(evidence: Evidence, observed: PlanArtifact) -> Environment:
    """Where a query was observed."""
    return Environment(evidence.cores, observed.engine or "")


def prices_now(snapshot: Snapshot, environment: Environment) -> Prices:
    """What a decision taken now goes by: the same for every query of a stage, also for `planopt plan`."""
    now = _models_in_use(snapshot)
    if environment not in now:
        now[environment] = _now(snapshot, environment)
    return now[environment]


def prices_of(snapshot: Snapshot, decisions: Iterable[Decision], environment: Environment) -> Prices:
    """What these decisions went by, which they name. Without any: what they would go by now."""
    taken = list(decisions)
    if not taken:
        return prices_now(snapshot, environment)
    named = next((d for d in taken if d.prices_id is not None), None)
    if named is None:
        return GIVEN
    known = [*stored_prices(snapshot), *_models_in_use(snapshot).values()]
    found = next((p for p in known if p.id == named.prices_id), None)
    if found is None:
        raise RowDamaged(
            f"decision {named.id} names the cost model {named.prices_id}, which is not in the store",
            table="policy_decisions",
            column="arithmetic",
            query_id=named.query_id,
            run_id=named.stamp.run_id,
        )
    return found


def new_models(snapshot: Snapshot, decisions: Iterable[Decision]) -> list[SharedContent]:
    """The rows to store with the first decisions that go by new prices. None where the store has them."""
    named = {d.prices_id: d.query_id for d in reversed(list(decisions)) if d.prices_id is not None}
    known = {p.id for p in stored_prices(snapshot)} if named else set()
    fits = {p.id: p for p in _models_in_use(snapshot).values()}
    return [content_of(fits[name], query) for name, query in named.items() if name in fits and name not in known]


def _models_in_use(snapshot: Snapshot) -> dict[Environment, Prices]:
    return snapshot.once("prices", dict)


def _now(snapshot: Snapshot, environment: Environment) -> Prices:
    stored = [p for p in stored_prices(snapshot) if p.environment == environment]
    last = stored[-1] if stored else GIVEN
    most = held(snapshot, environment)
    if most.executions < GROWN * last.counted or not _enough(most):
        return last
    ran = MeasuredExecutions(snapshot)
    counted = ran.counted_in(environment)
    if not _enough(held_by(counted)) or not _enough(held_by(ran.likely_to_tell(counted))):
        return last
    found = fitted(ran.work(counted[-MOST:]), len(counted), environment=environment)
    return last if found is None else replace(found, counted=most.executions)


def _enough(most: Held) -> bool:
    return most.executions >= ENOUGH_EXECUTIONS and most.queries >= ENOUGH_QUERIES
