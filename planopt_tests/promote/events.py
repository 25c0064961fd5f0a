"""Chains made from events, as the loop and the command line make them."""

from __future__ import annotations

from typing import Any

from planopt_assets.model.policy import Policy
from planopt_assets.model.promotion import Chain
from planopt_assets.model.verdict import Verdict
from planopt_assets.promote.transitions import Accept, Event, Expire, Fix, Revert, Unfix, next_generation
from planopt_tests.rows import verdict

A = Policy.of({"spark.sql.shuffle.partitions": "2"})
B = Policy.of({"spark.sql.files.openCostInBytes": "65536"})
C = Policy.of({"spark.sql.files.maxPartitionBytes": "33554432"})


def verdict_of(policy: Policy, number: int = 1, **changes: Any) -> Verdict:
    """The verdict with this number on a policy."""
    return verdict(policy, **{"verdict_id": f"ver-{number}-q-{policy.id[4:]}", **changes})


def accept(policy: Policy, number: int = 1, *, by_hand: bool = False, inputs: str = "inp_1") -> Accept:
    given = verdict_of(policy, number, input_fingerprint=inputs)
    return Accept(given.id, given.candidate_id, inputs, (given,), by_hand=by_hand)


def fix(policy: Policy) -> Fix:
    return Fix(policy, "it is known to be good", "ada")


UNFIX = Unfix("no longer needed", "ada")
REGRESSED = Revert("last_good", "it got worse")
ROLLED_BACK = Revert("last_good", "I do not like it", who="ada")
EXPIRED = Expire("the engine changed")


def chain_of(*events: Event) -> Chain:
    chain: Chain = ()
    for event in events:
        chain = (*chain, next_generation("demo", "q", chain, event))
    return chain
