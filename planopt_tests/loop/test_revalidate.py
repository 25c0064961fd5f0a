"""Which queries are measured again: those with something in force that can be applied and was observed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.errors import ChainBroken
from planopt_assets.loop.stages.revalidate import revalidate_step
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_tests.rows import FEWER, promotion, standing

pytestmark = pytest.mark.fast

IN_FORCE = standing(active=promotion(FEWER))


def test_a_policy_in_force_is_measured_again_also_a_pinned_one() -> None:
    assert revalidate_step(IN_FORCE).needed
    assert revalidate_step(standing(active=replace(promotion(FEWER), state="fixed"))).needed


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (standing(), "runs as original"),
        (standing(active=promotion(ORIGINAL)), "runs as original"),
        (replace(IN_FORCE, mode="observe"), "only looks"),
        (replace(IN_FORCE, artifacts=[]), "observe first"),
        (standing(active=promotion(Policy.of({"spark.sql.ansi.enabled": "false"}))), "not applied"),
        (
            replace(IN_FORCE, broken=ChainBroken("a link is missing", where="query q", fix="repair")),
            "a link is missing",
        ),
    ],
)
def test_others_are_left_alone_and_say_why(found: object, why: str) -> None:
    step = revalidate_step(found)  # type: ignore[arg-type]
    assert not step.needed
    assert why in step.why
