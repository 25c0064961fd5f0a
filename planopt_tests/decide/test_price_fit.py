"""Prices fitted to executions: they find what work costs, keep what nobody knows, and are moved by no outlier."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.decide.decide import decide
from planopt_assets.decide.price_fit import ENOUGH_EXECUTIONS, ENOUGH_QUERIES, FARTHEST, error, fitted
from planopt_assets.decide.prices import query_cpu_ns
from planopt_assets.model.cost_model import GIVEN, PRICE_OF, Environment, Prices, Work
from planopt_assets.model.work_units import Units
from planopt_assets.model.workload import Knobs
from planopt_tests.decide.cases import WORKED

pytestmark = pytest.mark.fast

TRUE = Prices(
    row_ns=40,
    file_ns=3_000_000,
    task_ns=9_000_000,
    block_ns=450_000,
    query_ns=250_000_000,
    decoded_kib_ns=3_000,
    shuffled_row_ns=600,
    joined_row_ns=120,
    grouped_row_ns=400,
)
HERE = Environment(2, "delta 4.4.0, java 17, spark 4.2.0")


def ran(queries: int = 20, runs: int = 6, *, noise: float = 0.05, seed: int = 7) -> list[Work]:
    """Executions whose CPU is that of the true prices, more or less; every second one with few partitions."""
    draw, found = random.Random(seed), []
    for query in range(queries):
        rows, files, tasks = draw.randrange(10**5, 10**7), draw.randrange(1, 200), draw.randrange(4, 400)
        width = draw.choice((8, 30, 100))
        shuffled, joined, grouped = (round(rows * draw.choice((0, 0.01, 0.3, 1))) for _ in range(3))
        for run in range(runs):
            blocks = tasks * (200 if run % 2 else 2)
            units = Units(rows, rows * width // 1024, files, tasks, blocks, shuffled, joined, grouped)
            cpu = TRUE.query_ns + TRUE.of(units)
            found.append(Work(f"q{query}", round(cpu * draw.gauss(1, noise)), units))
    return found


def test_the_fit_comes_nearer_than_the_given_prices() -> None:
    found = fitted(ran())
    assert found is not None
    assert found.error is not None
    assert found.prior_error is not None
    assert found.error < 1.1 < 1.5 < found.prior_error
    assert found.block_ns == pytest.approx(TRUE.block_ns, rel=0.3)
    assert (found.executions, found.queries) == (120, 20)


@pytest.mark.parametrize("unit", PRICE_OF)
def test_the_price_of_each_unit_is_found_where_queries_differ_in_it(unit: str) -> None:
    """A unit costs twice what was given, in queries that take up to 20 s for it."""
    price, work = 2 * getattr(GIVEN, PRICE_OF[unit]), []
    for query in range(20):
        amount = 10**9 * (query + 1) // price
        work += [Work(f"q{query}", GIVEN.query_ns + price * amount, Units(**{unit: amount}))] * 3
    found = fitted(work)
    assert found is not None
    assert getattr(found, PRICE_OF[unit]) == pytest.approx(price, rel=0.05)
    others = {name for name in PRICE_OF.values() if getattr(found, name) != getattr(GIVEN, name)}
    assert others == {PRICE_OF[unit]}


def test_executions_of_a_busy_machine_move_it_little() -> None:
    work = ran()
    busy = [replace(w, cpu_ns=8 * w.cpu_ns) if n % 10 == 0 else w for n, w in enumerate(work)]
    quiet, disturbed = fitted(work), fitted(busy)
    assert quiet is not None
    assert disturbed is not None
    assert error(work, disturbed) < 1.25
    assert disturbed.block_ns == pytest.approx(quiet.block_ns, rel=0.5)


def test_a_query_that_ran_a_thousand_times_does_not_decide_alone() -> None:
    work = ran()
    often = [*work, *[replace(work[0], cpu_ns=5 * work[0].cpu_ns)] * 1000]
    found = fitted(often)
    assert found is not None
    assert error(work, found) < 1.25


def test_what_no_execution_did_keeps_its_price() -> None:
    work = ran(noise=0)
    found = fitted(
        [replace(w, cpu_ns=w.cpu_ns - w.units.files * TRUE.file_ns, units=replace(w.units, files=0)) for w in work]
    )
    assert found is not None
    assert found.file_ns == GIVEN.file_ns


@pytest.mark.parametrize(
    "work", [ran()[: ENOUGH_EXECUTIONS - 1], ran(ENOUGH_QUERIES - 1, 100)], ids=["few executions", "few queries"]
)
def test_too_little_is_not_fitted(work: list[Work]) -> None:
    assert fitted(work) is None


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.builds(
            Work,
            st.sampled_from([f"q{n}" for n in range(9)]),
            st.integers(1, 10**12),
            st.builds(Units, *(st.integers(0, limit) for limit in (10**9, 10**8, 10**5, 10**5, 10**7, *[10**9] * 3))),
        ),
        min_size=ENOUGH_EXECUTIONS,
        max_size=90,
    )
)
def test_whatever_was_measured_prices_stay_within_reach_of_the_given_ones(work: list[Work]) -> None:
    found = fitted(work)
    if found is not None:
        for name in ("query_ns", *PRICE_OF.values()):
            given_price = getattr(GIVEN, name)
            low, high = given_price / FARTHEST, given_price * FARTHEST
            assert low * 0.99 - 1 <= getattr(found, name) <= high * 1.01 + 1


def test_the_same_work_gives_the_same_id_and_other_work_another_one() -> None:
    first, again, other = fitted(ran()), fitted(ran()), fitted(ran(seed=8))
    assert first is not None
    assert again is not None
    assert other is not None
    assert first.id == again.id != other.id
    assert Prices.from_json(first.to_json()) == first


def test_the_order_of_the_work_does_not_matter() -> None:
    work = ran()
    shuffled = random.Random(3).sample(work, len(work))
    assert shuffled != work
    assert fitted(shuffled) == fitted(work)


def test_a_saving_is_half_of_a_fitted_price_and_never_below_the_given_one() -> None:
    assert (TRUE.saved_block_ns, TRUE.saved_task_ns) == (225_000, 5_000_000)
    assert (GIVEN.saved_block_ns, GIVEN.saved_task_ns) == (GIVEN.block_ns, GIVEN.task_ns)


def test_every_decision_names_the_prices_that_it_went_by_unless_they_are_the_given_ones() -> None:
    told = [dict(d.arithmetic) for d in decide(replace(WORKED, prices=TRUE), Knobs())]
    assert {facts["prices"] for facts in told} == {TRUE.id}
    assert told[0]["cpu_ns_per_block"] == TRUE.saved_block_ns
    assert not any("prices" in dict(d.arithmetic) for d in decide(WORKED, Knobs()))


@pytest.mark.parametrize("prices", [GIVEN, TRUE], ids=["given", "fitted"])
def test_whatever_the_prices_a_long_execution_costs_what_was_measured(prices: Prices) -> None:
    (execution,) = WORKED.executions
    long = replace(execution, counters=replace(execution.counters, cpu_ns=60_000_000_000))
    assert query_cpu_ns(replace(WORKED, executions=(long,), prices=prices)) == 60_000_000_000
