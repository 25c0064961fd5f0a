"""Planted regressions: none is accepted, and each says why."""

from __future__ import annotations

import pytest

from planopt_assets.errors import QueryHangs
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.validate.judge_rules import Rules
from planopt_tests.loop.fake_workspace import (
    FEWER,
    HALF,
    HALF_THE_WORK,
    RIGHT,
    WRONG,
    Behaviour,
    FakeWorkspace,
    Ran,
    experiment,
    working,
)
from planopt_tests.measured import MIB

pytestmark = pytest.mark.fast

FEW = Rules().confirm_pairs  # where counters show it, and for a candidate that has no chance


PLANTED: dict[str, tuple[Behaviour, str]] = {
    "faster but spills": (
        working(HALF, {FEWER: {**HALF_THE_WORK, "disk_spill_bytes": 64 * MIB}}),
        "guard disk_spill_bytes broken: 0 -> 67,108,864",
    ),
    "faster on one binding, slower on another": (
        lambda policy, before, binding: Ran(
            (0.5 if binding == 0 else 3.6) if policy is FEWER else 3.0, counted=HALF_THE_WORK if policy is FEWER else {}
        ),
        "guard binding_1_cpu_ns broken: 1.200",
    ),
    "slower by 20 %": (
        working({ORIGINAL: 3.0, FEWER: 3.6}, {FEWER: HALF_THE_WORK}),
        "guard wall_ns broken: 1.200",
    ),
    "times out": (working({ORIGINAL: 3.0, FEWER: 500.0}, {}), "the candidate ran out of time"),
    "hangs in planning": (
        lambda policy, before, binding: (
            QueryHangs("hangs in planning: given up after 10 s", where="q", fix="wait") if policy is FEWER else Ran(3.0)
        ),
        "the candidate hangs in planning",
    ),
    "wrong in a single row": (
        lambda policy, before, binding: Ran(HALF[policy], WRONG if policy is FEWER else RIGHT),
        "the result is not the same: same number of rows, different values",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_regression_is_rejected_and_says_why(name: str) -> None:
    behaviour, words = PLANTED[name]
    bindings = 2 if "binding" in name else 1
    # Observed before, so that also a candidate that goes first is given an end.
    outcome = experiment(FakeWorkspace(behaviour), FEWER, bindings=bindings, observed_wall_s=(3.0,) * bindings)
    assert outcome.verdict.outcome == "reject"
    assert outcome.verdict.reason.startswith(words)


def test_the_same_candidate_without_its_fault_is_accepted() -> None:
    assert experiment(FakeWorkspace(working(HALF, {FEWER: HALF_THE_WORK})), FEWER).verdict.outcome == "accept"
