"""The policy in force is tried once more on a later day: as a step that `plan` shows and `validate` does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.loop.agenda import Item
from planopt_assets.loop.decisions import history_of
from planopt_assets.loop.stages.validate import _asked
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.steps import planned_steps, step
from planopt_assets.model.workload import Knobs, Workload
from planopt_assets.promote.confirmation import Confirmation
from planopt_assets.report.html import write_report
from planopt_assets.report.standing_facts import standing_facts
from planopt_assets.report.terminal import print_why
from planopt_assets.report.why import why_facts
from planopt_tests.loop.fake_workspace import HALF, SLIGHTLY_LESS, FakeWorkspace, experiment, working
from planopt_tests.promote.events import accept, chain_of
from planopt_tests.rows import FEWER, OTHER, artifact, candidate, decision, standing, verdict

pytestmark = pytest.mark.fast

OPEN = Confirmation("open", "to be confirmed, step 1 of 2", due_at=1_000)
WALL = '[{"name": "wall_ns", "passed": true, "baseline": 1.5e9, "candidate": 1e9, "threshold": ""}]'


def in_force(**others: Any) -> Standing:
    known: dict[str, Any] = {
        "decisions": [decision("no_change")],
        "chain": chain_of(accept(FEWER)),
        "promoted_by": verdict(FEWER, criteria=WALL),
        "confirmation": OPEN,
        "in_force_as": candidate(FEWER),
        "at": 1_000,
    }
    return standing(**{**known, **others})


def test_a_due_confirmation_is_a_step_that_names_its_cost() -> None:
    one = step(in_force(), "validate")
    assert one.needed
    assert one.why == "generation 1 is to be confirmed, step 1 of 2 (about 8 executions, 12 s)"
    assert not in_force().settled
    assert standing_facts(in_force())["confirmation"] == {
        "state": "open",
        "reason": "to be confirmed, step 1 of 2",
        "due": True,
        "cost_s": 12.0,
    }


@pytest.mark.parametrize(
    "found",
    [
        in_force(at=999),
        in_force(confirmation=Confirmation("confirmed", "confirmed by ver-2")),
        in_force(confirmation=None),
        in_force(in_force_as=None),
        in_force(mode="observe"),
        in_force(limits=Knobs(deny=("spark.sql.shuffle.partitions",))),
    ],
    ids=["too early", "confirmed", "nothing to confirm", "its candidate is unknown", "only looks", "vetoed"],
)
def test_otherwise_an_unchanged_night_has_nothing_to_do(found: Standing) -> None:
    assert found.settled
    assert _asked(found) == []


def test_a_query_that_cannot_be_run_is_not_confirmed() -> None:
    assert in_force(artifacts=[artifact("failed")]).to_confirm is None


def test_it_is_tried_by_itself_beside_new_candidates() -> None:
    new = candidate(OTHER)
    found = in_force(candidates=[new], decisions=[decision(policy=OTHER)])
    assert _asked(found) == [([candidate(FEWER)], "confirm"), ([new], "try")]


def test_a_trial_of_it_that_is_due_anyway_is_enough() -> None:
    again = candidate(FEWER)
    found = in_force(candidates=[again], decisions=[decision(policy=FEWER)])
    assert _asked(found) == [([again], "try")]


def test_plan_shows_what_it_costs() -> None:
    item = Item("q", planned_steps(in_force()), confirmation_cost_s=12.0)
    assert item.to_do
    assert item.facts(None)["confirmation_cost_s"] == 12.0


def test_decide_does_not_remember_a_confirmation_as_a_trial() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    given = verdict(FEWER, "inconclusive", purpose="confirm", recorded_at=early)
    assert history_of(standing(artifacts=[artifact(recorded_at=late)], past_verdicts=[given])).verdicts == ()


# In an experiment


def test_a_confirmation_takes_seven_executions_and_spends_nothing_of_the_error_budget() -> None:
    slightly = FakeWorkspace(working(HALF, {FEWER: SLIGHTLY_LESS}), warm=True)
    (judged,) = experiment(slightly, FEWER, error=None).judged
    assert (judged.judgement.outcome, judged.executions) == ("accept", 7)  # clocks alone would need six pairs
    assert (judged.error_available, judged.error_spent) == (0.0, 0.0)


def test_a_policy_that_lost_its_gain_is_rejected() -> None:
    lost = FakeWorkspace(working({**HALF, FEWER: 3.0}, {FEWER: SLIGHTLY_LESS}))
    assert experiment(lost, FEWER, error=None).verdict.outcome == "reject"


def test_a_confirmed_policy_says_so_in_its_facts() -> None:
    found = replace(in_force(), confirmation=Confirmation("confirmed", "confirmed by ver-2: cpu -30%"))
    assert standing_facts(found)["confirmation"]["state"] == "confirmed"


def test_why_and_the_report_say_where_it_stands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    print_why(why_facts(in_force()))
    assert "confirmation: to be confirmed, step 1 of 2" in capsys.readouterr().out
    workload = Workload("demo", Path("planopt.yaml"), "store", (), ())
    page = write_report(workload, {"q": in_force()}, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The policy in force: to be confirmed, step 1 of 2." in page
