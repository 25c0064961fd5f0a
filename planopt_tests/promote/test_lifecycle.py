"""The state of a policy, named from stored rows."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.model.promotion import Chain
from planopt_assets.promote.lifecycle import Lifecycle, lifecycle
from planopt_assets.promote.transitions import Revert
from planopt_tests.promote.events import EXPIRED, REGRESSED, ROLLED_BACK, UNFIX, A, B, accept, chain_of, fix, verdict_of
from planopt_tests.rows import candidate

pytestmark = pytest.mark.fast

DAYS = {"accept": 90, "reject": 30, "inconclusive": 7}
REASON = {o: f"the reason for {o}" for o in DAYS}


def state_of(
    *verdicts: Any, candidates: tuple[Any, ...] = (), tried: tuple[str, ...] = (), chain: Chain = ()
) -> Lifecycle | None:
    return lifecycle(
        A,
        candidates=candidates,
        tried=frozenset(tried),
        verdicts=verdicts,
        chain=chain,
        retry_after_days=DAYS,
    )


PLANNED = (candidate(A),)
STATES: dict[str, tuple[Lifecycle | None, Lifecycle | None]] = {
    "nobody proposed it": (state_of(candidates=(candidate(B),)), None),
    "planned, and the plan stays the same": (
        state_of(candidates=(candidate(A, kept=False),)),
        Lifecycle(A, "dropped", "dropped: plan and partitioning stay the same"),
    ),
    "planned": (state_of(candidates=PLANNED), Lifecycle(A, "candidate", "the plan changes")),
    "tried, without a verdict": (
        state_of(candidates=PLANNED, tried=(A.id,)),
        Lifecycle(A, "verifying", "the plan changes"),
    ),
    "rejected": (
        state_of(verdict_of(A, outcome="reject")),
        Lifecycle(A, "rejected", REASON["reject"], retry_after_days=30),
    ),
    "inconclusive": (
        state_of(verdict_of(A, outcome="inconclusive")),
        Lifecycle(A, "inconclusive", REASON["inconclusive"], retry_after_days=7),
    ),
    "inconclusive three times in a row": (
        state_of(*(verdict_of(A, n, outcome="inconclusive") for n in (1, 2, 3))),
        Lifecycle(A, "inconclusive", REASON["inconclusive"], retry_after_days=28),
    ),
    "accepted, not in force": (state_of(verdict_of(A)), Lifecycle(A, "accepted", REASON["accept"])),
    "accepted and in force": (
        state_of(verdict_of(A), chain=chain_of(accept(A))),
        Lifecycle(A, "accepted", REASON["accept"], in_force=True),
    ),
    "the last verdict speaks": (
        state_of(verdict_of(A, outcome="reject"), verdict_of(A, 2)),
        Lifecycle(A, "accepted", REASON["accept"]),
    ),
    "superseded by a better one": (
        state_of(verdict_of(A), chain=chain_of(accept(A), accept(B))),
        Lifecycle(A, "accepted", REASON["accept"]),
    ),
    "pinned": (
        state_of(chain=chain_of(fix(A))),
        Lifecycle(A, "fixed", "it is known to be good", in_force=True),
    ),
    "unpinned": (state_of(chain=chain_of(fix(A), UNFIX)), Lifecycle(A, "reverted", "no longer needed")),
    "reverted": (
        state_of(verdict_of(A), chain=chain_of(accept(A), REGRESSED)),
        Lifecycle(A, "reverted", "it got worse", retry_after_days=30),
    ),
    "rolled back": (
        state_of(verdict_of(A), chain=chain_of(accept(A), ROLLED_BACK)),
        Lifecycle(A, "reverted", "I do not like it"),
    ),
    "passed over by a rollback to original": (
        state_of(verdict_of(A), chain=chain_of(accept(A), accept(B), Revert("original", "start again", "ada"))),
        Lifecycle(A, "reverted", "start again"),
    ),
    "restored after a revert": (
        state_of(verdict_of(A), chain=chain_of(accept(A), accept(B), REGRESSED)),
        Lifecycle(A, "accepted", "it got worse", in_force=True),
    ),
    "expired": (
        state_of(verdict_of(A), chain=chain_of(accept(A), EXPIRED)),
        Lifecycle(A, "expired", "the engine changed"),
    ),
    "expired and accepted again": (
        state_of(verdict_of(A), verdict_of(A, 2), chain=chain_of(accept(A), EXPIRED)),
        Lifecycle(A, "accepted", REASON["accept"]),
    ),
}


@pytest.mark.parametrize(("found", "expected"), STATES.values(), ids=STATES)
def test_a_policy_is(found: Lifecycle | None, expected: Lifecycle | None) -> None:
    assert found == expected


def test_its_facts_are_one_flat_object() -> None:
    found = state_of(verdict_of(A, outcome="reject"))
    assert found is not None
    assert found.facts() == {
        "policy_id": A.id,
        "policy": "shuffle.partitions=2",
        "state": "rejected",
        "reason": "the reason for reject",
        "in_force": False,
        "retry_after_days": 30,
    }
