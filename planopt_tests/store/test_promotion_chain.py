"""Promotions are chained by hash: a row that was changed, taken out or moved is found before anything is believed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.errors import ChainBroken
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import Promotion, in_force
from planopt_assets.promote.transitions import Accept
from planopt_assets.store.promotions import verified_chain
from planopt_tests.promote.events import REGRESSED, accept, chain_of, fix, verdict_of
from planopt_tests.rows import FEWER, OTHER, Row

pytestmark = pytest.mark.fast


def stored(promotion: Promotion) -> Row:
    return {
        "query_id": promotion.query_id,
        "generation": promotion.generation,
        "policy": promotion.policy.to_json(),
        "state": promotion.state,
        "reason": promotion.reason,
        "verdict_id": promotion.verdict_id,
        "candidate_id": promotion.candidate_id,
        "input_fingerprint": promotion.input_fingerprint,
        "previous_hash": promotion.previous_hash,
        "chain_hash": promotion.chain_hash,
        "restores": promotion.restores,
        "who": promotion.who,
        "evidence_ids": list(promotion.evidence_ids),
    }


CHAIN = chain_of(accept(FEWER), accept(OTHER), replace(REGRESSED, evidence=("obs-1-q-b0",)), fix(OTHER))


def rows() -> list[Row]:
    return [stored(p) for p in CHAIN]


def broken_at(tampered: list[Row]) -> str:
    with pytest.raises(ChainBroken) as error:
        verified_chain("demo", "q", tampered)
    assert error.value.code == "PLN-403"
    return error.value.what


# Whole


def test_a_whole_chain_is_read_back_oldest_first() -> None:
    assert verified_chain("demo", "q", rows()) == tuple(CHAIN)


@settings(deadline=None)
@given(st.permutations(range(4)))
def test_the_order_in_which_the_rows_are_read_does_not_matter(order: list[int]) -> None:
    assert verified_chain("demo", "q", [rows()[place] for place in order]) == tuple(CHAIN)


def test_the_newest_promotion_is_in_force() -> None:
    assert in_force(verified_chain("demo", "q", rows())) == CHAIN[-1].policy


def test_a_query_that_was_never_promoted_has_no_chain_and_nothing_in_force() -> None:
    assert verified_chain("demo", "q", []) == ()
    assert in_force(()) == ORIGINAL


# Broken


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("policy", ORIGINAL.to_json()),
        ("state", "expired"),
        ("restores", 7),
        ("who", "eve"),
        ("evidence_ids", ["obs-forged"]),
        ("verdict_id", "ver-forged-q-can_1"),
        ("candidate_id", "can_forged"),
        ("input_fingerprint", "inp_forged"),
        ("query_id", "another"),
        ("previous_hash", "chn_forged"),
        ("chain_hash", "chn_forged"),
    ],
)
def test_a_row_that_was_changed_breaks_the_chain(place: int, column: str, value: str) -> None:
    tampered = rows()
    tampered[place][column] = value
    assert broken_at(tampered) == f"generation {place + 1} of query 'q' does not follow from the one before"


def test_a_row_that_was_changed_with_its_own_hash_made_to_fit_breaks_the_next_one() -> None:
    forged = replace(CHAIN[1], verdict_id="ver-forged-q-can_1")
    assert broken_at([rows()[0], stored(forged), *rows()[2:]]).startswith("generation 3 ")


@pytest.mark.parametrize(("missing", "noticed"), [(0, 2), (1, 3)])
def test_a_missing_generation_breaks_the_chain(missing: int, noticed: int) -> None:
    tampered = rows()
    del tampered[missing]
    assert broken_at(tampered).startswith(f"generation {noticed} ")


def test_generations_that_changed_places_break_the_chain() -> None:
    tampered = rows()
    tampered[0]["generation"], tampered[1]["generation"] = 2, 1
    assert broken_at(tampered).startswith("generation 1 ")


def test_a_generation_that_is_there_twice_breaks_the_chain() -> None:
    assert broken_at([*rows(), rows()[3]]).startswith("generation 4 ")


def test_a_chain_that_does_not_start_with_generation_one_is_broken_though_its_hashes_fit() -> None:
    assert broken_at([stored(replace(CHAIN[0], generation=2))]).startswith("generation 2 ")


def test_the_chain_of_another_workload_is_not_this_ones() -> None:
    with pytest.raises(ChainBroken):
        verified_chain("another", "q", rows())


def _as_it_was_named(policy: Policy) -> Accept:
    verdict = verdict_of(policy, candidate_id=f"can_{policy.id[4:]}")
    return Accept(verdict.id, verdict.candidate_id, "inp_1", (verdict,))


def test_a_chain_of_an_older_planopt_has_the_hashes_it_always_had() -> None:
    first, second = chain_of(*(_as_it_was_named(policy) for policy in (FEWER, OTHER)))
    later = dict.fromkeys(("restores", "who", "evidence_ids"))
    assert verified_chain("demo", "q", [stored(p) | later for p in (first, second)]) == (first, second)
    assert first.chain_hash == "chn_bf7b0e24eceb6e0d"


def test_the_error_names_the_command_that_repairs() -> None:
    with pytest.raises(ChainBroken, match="planopt repair"):
        verified_chain("demo", "q", rows()[1:])
