"""The prices that decide goes by: the given ones, the stored ones, or new ones once the store has doubled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planopt_assets.errors import RowDamaged
from planopt_assets.loop.cost_models import new_model, prices_now, prices_of
from planopt_assets.model.cost_model import GIVEN, Prices
from planopt_assets.store.codecs.observing import SHARED
from planopt_assets.store.prices import content_of, stored_prices
from planopt_tests.decide.test_price_fit import ran
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.rows import decision, stored

pytestmark = pytest.mark.fast


def store(executions: int, *models: Prices, **others: Any) -> MemorySnapshot:
    """Executions of 20 queries, one after the other, and the cost models that were stored before."""
    work = [w for number in range(6) for w in ran()[number::6]][:executions]
    counted = [
        stored(
            "runtime_counters",
            execution_id=f"obs-{number}",
            query_id=w.query_id,
            purpose="observe",
            cpu_ns=w.cpu_ns,
            input_rows=w.rows,
            scan_files=w.files,
            tasks=w.tasks,
            shuffle_blocks=w.blocks,
        )
        for number, w in enumerate(work)
    ]
    rows = [stored("provenance", **SHARED.to_row(content_of(prices, "q0"))) for prices in models]
    return MemorySnapshot(runtime_counters=counted, provenance=rows, **others)


def test_a_young_store_goes_by_the_given_prices() -> None:
    assert prices_now(store(59)) == GIVEN
    assert new_model(store(59), "q0") == []


def test_once_it_holds_enough_they_are_fitted_and_the_model_is_stored_with_the_first_decision() -> None:
    found = prices_now(store(60))
    assert (found.executions, found.queries) == (60, 20)
    (row,) = new_model(store(60), "q0")
    assert (row.kind, row.hash, json.loads(row.content)["row_ns"]) == ("cost_model", found.id, found.row_ns)


def test_a_stored_model_stays_until_the_store_has_doubled() -> None:
    first = prices_now(store(60))
    assert prices_now(store(119, first)) == first
    assert new_model(store(119, first), "q0") == []
    again = prices_now(store(120, first))
    assert (again.executions, again != first) == (120, True)


def test_first_runs_are_cold_and_do_not_count() -> None:
    cold = [stored("trials", trial_id=f"obs-{number}", warm_up=True) for number in range(2)]
    assert prices_now(store(61, trials=cold)) == GIVEN  # 59 are left
    assert prices_now(store(62, trials=cold)).executions == 62


def test_a_decision_names_its_prices_and_is_asked_again_by_those() -> None:
    first, second = prices_now(store(60)), prices_now(store(120))
    named = decision(arithmetic=json.dumps({"prices": first.id}))
    assert prices_of(store(120, first, second), [named]) == first
    assert prices_of(store(120, first, second), [decision()]) == GIVEN
    assert prices_of(store(120, first), []) == second


def test_a_damaged_model_is_an_error_that_names_its_row() -> None:
    damaged = store(0, GIVEN)
    damaged.tables["provenance"][0]["content"] = '{"row_ns": 1}'
    with pytest.raises(RowDamaged, match="provenance"):
        stored_prices(damaged)
