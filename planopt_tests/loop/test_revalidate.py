"""Which queries are measured again: those with something in force that can be applied and was observed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.errors import ChainBroken
from planopt_assets.loop.stages import revalidate as stage
from planopt_assets.loop.stages.revalidate import revalidate_step
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.store.codecs.deciding import CANDIDATES, EDGES
from planopt_tests.rows import FEWER, OTHER, candidate, decision, nothing_beyond, promotion, standing, verdict

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


def test_what_was_measured_again_is_not_tried_once_more_by_the_next_run() -> None:
    """An unchanged night starts no Spark. A suspended policy needs a trial that can put it in force again."""
    given = verdict(FEWER, purpose="confirm")
    known: dict[str, Any] = {"decisions": [decision("no_change")], "candidates": [candidate(FEWER)]}
    after = replace(IN_FORCE, **known, past_verdicts=[given])
    assert (after.unjudged, after.settled) == ([], True)
    assert replace(after, suspended="sales grew").unjudged == [candidate(FEWER)]
    assert replace(IN_FORCE, **known).unjudged == [candidate(FEWER)]


def test_it_keeps_no_proposal_from_being_planned_and_meets_it_as_an_arm() -> None:
    given = verdict(FEWER, purpose="confirm")
    proposes = replace(IN_FORCE, decisions=[decision(policy=OTHER)], past_verdicts=[given])
    assert not replace(proposes, candidates=[candidate(FEWER)]).replanned
    both = replace(proposes, candidates=[candidate(FEWER), candidate(OTHER)])
    assert both.unjudged == [candidate(FEWER), candidate(OTHER)]
    done = [verdict(FEWER), verdict(OTHER, "reject")]
    judged = replace(both, verdicts=done, past_verdicts=[given, *done])
    assert not judged.decided  # the next round starts from what is in force
    assert replace(judged, decisions=[*judged.decisions, nothing_beyond(FEWER)]).settled


def test_a_policy_that_is_planned_for_it_comes_from_its_promotion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "planned_candidate", lambda *asked: candidate(FEWER))
    monkeypatch.setattr(stage, "try_candidates", lambda run, asked: [])
    stored: dict[Any, list[Any]] = {}
    run = SimpleNamespace(
        store=SimpleNamespace(refresh=lambda: None),
        standings=lambda: {"q": IN_FORCE},
        workload=SimpleNamespace(query=lambda query_id: None),
        workspace=SimpleNamespace(revive=lambda: None, arm=lambda policy: None),
        append=lambda name, rows: stored.update(rows),
    )
    stage.revalidate(run, ["q"])  # type: ignore[arg-type]
    assert stored[CANDIDATES] == [candidate(FEWER)]
    assert [(e.child_id, e.parent_id) for e in stored[EDGES]] == [(candidate(FEWER).id, IN_FORCE.active.id)]  # type: ignore[union-attr]
