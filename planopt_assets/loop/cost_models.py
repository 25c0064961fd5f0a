"""The prices that decide goes by: those of the store's newest cost model, or a new one once the store has doubled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from planopt_assets.decide.price_fit import ENOUGH_EXECUTIONS, fitted
from planopt_assets.model.cost_model import GIVEN, Prices
from planopt_assets.store.prices import content_of, executions_of_ours, measured_work, stored_prices

if TYPE_CHECKING:
    from planopt_assets.model.decision import Decision
    from planopt_assets.model.records import SharedContent
    from planopt_assets.store.snapshot import Snapshot

GROWN = 2  # times as many executions as the last model knew: then it is fitted again


def prices_now(snapshot: Snapshot) -> Prices:
    """What a decision taken now goes by: the same for every query of a stage, and for who only foresees it."""
    return snapshot.once("prices", lambda: _now(snapshot))


def prices_of(snapshot: Snapshot, decisions: Iterable[Decision]) -> Prices:
    """What these decisions went by, which they name. Without any: what they would go by now."""
    taken = list(decisions)
    if not taken:
        return prices_now(snapshot)
    names = {d.prices_id for d in taken if d.prices_id is not None}
    return next((p for p in stored_prices(snapshot) if p.id in names), GIVEN) if names else GIVEN


def new_model(snapshot: Snapshot, query_id: str) -> list[SharedContent]:
    """The row to store with the first decision that goes by new prices. Nothing where the store has them."""
    prices = prices_now(snapshot)
    known = prices == GIVEN or prices in stored_prices(snapshot)
    return [] if known else [content_of(prices, query_id)]


def _now(snapshot: Snapshot) -> Prices:
    stored = stored_prices(snapshot)
    last = stored[-1] if stored else GIVEN
    held = executions_of_ours(snapshot)
    if held < max(ENOUGH_EXECUTIONS, GROWN * last.executions):
        return last
    return fitted(measured_work(snapshot), held) or last
