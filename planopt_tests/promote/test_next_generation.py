"""The next link of the chain: only from a verdict that accepts with equal results, whoever asks."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.errors import PromotionRefused
from planopt_assets.promote.next_generation import GENESIS, next_generation
from planopt_tests.rows import FEWER, OTHER, verdict

pytestmark = pytest.mark.fast


def test_the_first_promotion_is_generation_one_and_starts_the_chain() -> None:
    first = next_generation("demo", None, verdict(FEWER))
    assert (first.id, first.generation, first.previous_hash) == ("pro-q-g1", 1, GENESIS)


def test_the_next_promotion_follows_from_the_one_in_force() -> None:
    first = next_generation("demo", None, verdict(FEWER))
    second = next_generation("demo", first, verdict(OTHER))
    assert (second.id, second.generation, second.previous_hash) == ("pro-q-g2", 2, first.chain_hash)


def test_a_promotion_names_the_verdict_the_candidate_and_the_inputs_it_rests_on() -> None:
    row = verdict(FEWER)
    made = next_generation("demo", None, row)
    assert (made.workload, made.query_id, made.policy, made.state) == ("demo", "q", FEWER, "accepted")
    assert (made.verdict_id, made.candidate_id, made.input_fingerprint, made.reason) == (
        row["verdict_id"],
        row["candidate_id"],
        row["input_fingerprint"],
        row["reason"],
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": "reject"},
        {"outcome": "inconclusive"},
        {"outcome": "accept", "results_equal": False},
        {"outcome": "accept", "results_equal": None},
    ],
    ids=["rejected", "inconclusive", "not equal", "not known to be equal"],
)
def test_any_other_verdict_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(PromotionRefused) as refusal:
        next_generation("demo", None, verdict(FEWER, **changes))
    assert refusal.value.facts() == {
        "code": "PLN-401",
        "where": "query q",
        "what": f"verdict ver-run-q-{FEWER.id[4:]} says {changes['outcome']}",
        "fix": "only a verdict `accept` with equal results can be promoted",
    }
