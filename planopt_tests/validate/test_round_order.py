"""The order of the arms: every arm once a round, shuffled anew each round, and drawn again from the seed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.validate.round_order import round_order
from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast

ARMS = ["original", "fewer_partitions", "fewer_tasks", "both"]
SEED = 20_240_101


def orders(arms: list[str], rounds: int = 18, seed: int = SEED, query: str = "q") -> list[list[str]]:
    return [round_order(arms, seed, query, number) for number in range(rounds)]


@settings(deadline=None)
@given(st.lists(st.text(), unique=True), st.integers(0), st.text(), st.integers(0, 100))
def test_a_round_runs_every_arm_exactly_once(arms: list[str], seed: int, query: str, number: int) -> None:
    assert sorted(round_order(arms, seed, query, number)) == sorted(arms)


def test_the_same_seed_query_and_round_give_the_same_order_in_another_process() -> None:
    code = (
        "from planopt_assets.validate.round_order import round_order\n"
        f"print([round_order({ARMS!r}, {SEED}, 'q', n) for n in range(18)])"
    )
    assert output_of(code, hash_seed=3) == f"{orders(ARMS)}\n"


def test_every_second_round_is_the_one_before_it_the_other_way_round() -> None:
    found = orders(ARMS, rounds=19)
    assert all(found[n + 1] == found[n][::-1] for n in range(1, 18, 2))


def test_neither_side_has_the_first_place_more_than_twice_in_three_pairs() -> None:
    firsts = [[round_order(["a", "b"], SEED, f"q{q}", n)[0] for n in (1, 2, 3)] for q in range(50)]
    assert {firsts_of.count("a") for firsts_of in firsts} == {1, 2}


def test_the_baseline_is_not_always_first() -> None:
    first = [order[0] for order in orders(["original", "candidate"])]
    assert set(first) == {"original", "candidate"}


def test_the_order_changes_from_round_to_round() -> None:
    assert len({tuple(order) for order in orders(ARMS)}) > 6


def test_another_seed_and_another_query_give_another_order() -> None:
    assert orders(ARMS) != orders(ARMS, seed=SEED + 1)
    assert orders(ARMS) != orders(ARMS, query="another")


def test_the_given_arms_stay_as_they_were() -> None:
    given_arms = list(ARMS)
    orders(given_arms)
    assert given_arms == ARMS
