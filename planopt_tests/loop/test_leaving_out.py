"""A confirmed combination is tried without each of its proposals: a part that harms does not ride along."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from planopt_assets.errors import VerdictStale
from planopt_assets.loop.decisions import history_of
from planopt_assets.loop.proof import Proof
from planopt_assets.loop.stages import validate as stage
from planopt_assets.loop.stages.validate import _after, _asked
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.standings import _without_a_part
from planopt_assets.loop.steps import step
from planopt_assets.model.conditions import Circumstances
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import Verdict
from planopt_assets.model.workload import Query
from planopt_assets.promote.confirmation import Confirmation, confirmation
from planopt_assets.promote.transitions import Accept, Event, next_generation
from planopt_assets.store.codecs.deciding import VERDICTS
from planopt_assets.validate.error_budget import FULL_BUDGET, ErrorBudget
from planopt_tests.loop.fake_workspace import HALF_THE_WORK, FakeWorkspace, experiment, working
from planopt_tests.promote.events import REGRESSED, accept, chain_of
from planopt_tests.rows import FEWER, OTHER, artifact, candidate, decision, standing, verdict

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run
    from planopt_assets.model.candidate import Candidate
    from planopt_assets.store.codecs.codec import AnyCodec

pytestmark = pytest.mark.fast

BOTH = FEWER.merged(OTHER)
CONFIRMED = Confirmation("confirmed", "confirmed by ver-2")
EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
PROOF = verdict(BOTH, recorded_at=EARLY)


def in_force(**others: Any) -> Standing:
    known: dict[str, Any] = {
        "decisions": [decision("no_change")],
        "chain": chain_of(accept(BOTH)),
        "promoted_by": PROOF,
        "past_verdicts": [PROOF],
        "confirmation": CONFIRMED,
        "in_force_as": candidate(BOTH),
        "without_a_part": (OTHER, FEWER),
    }
    return standing(**{**known, **others})


def test_a_confirmed_combination_is_planned_without_each_of_its_proposals() -> None:
    found = in_force()
    assert found.unplanned == (OTHER, FEWER)
    one = step(found, "replan")
    assert (one.need, one.why) == ("needed", "the policy in force without one part: 2 policies")


A, B, C = FEWER, OTHER, Policy.of({"spark.sql.adaptive.skewJoin.enabled": "true"})
ALL = A.merged(B).merged(C)


@pytest.mark.parametrize(
    ("planned", "rests"),
    [
        ([A, B, C, ALL], [B.merged(C), A.merged(C), A.merged(B)]),
        ([A, A.merged(B), A.merged(C), ALL], [B.merged(C), A.merged(C), A.merged(B)]),
        ([A, B, A.merged(B), ALL], [B.merged(C), A.merged(C)]),
        ([A, A.merged(B), ALL], [B.merged(C), A.merged(C)]),
    ],
    ids=["one round", "two proposals beyond an accepted one", "one beyond a combination", "three rounds"],
)
@pytest.mark.parametrize("first_on", ["inp_1", "inp_0"], ids=["on the same inputs", "carried over from similar ones"])
def test_of_a_proposal_beyond_an_accepted_policy_only_the_addition_is_left_out(
    planned: list[Policy], rests: list[Policy], first_on: str
) -> None:
    """What was added last needs no such trial: it was accepted against the rest."""
    candidates = [candidate(p, input_fingerprint=first_on if p == A else "inp_1") for p in planned]
    last = candidates[-1]
    chain = chain_of(Accept("ver-1", last.id, "inp_1", (verdict(ALL, verdict_id="ver-1", candidate_id=last.id),)))
    assert list(_without_a_part(Query("q", sql="SELECT 1", runs_per_day=24), chain, candidates)) == rests


def test_then_each_is_tried_against_the_policy_in_force_and_not_against_original() -> None:
    planned = [candidate(OTHER), candidate(FEWER)]
    found = in_force(candidates=planned)
    assert (found.unplanned, found.unjudged) == ((), [])
    assert _asked(found) == [(planned, "leave_out")]
    assert step(found, "validate").why == (
        "the policy in force is tried without one of its parts, 2 times (about 16 executions)"
    )


TRIED = [verdict(p, "reject", purpose="leave_out", verdict_id=f"ver-{p.id}", recorded_at=LATE) for p in (FEWER, OTHER)]


@pytest.mark.parametrize(
    "found",
    [
        in_force(without_a_part=()),
        in_force(confirmation=Confirmation("open", "to be confirmed", due_at=9)),
        in_force(past_verdicts=[PROOF, *TRIED], candidates=[candidate(OTHER), candidate(FEWER)], verdicts=TRIED),
        in_force(candidates=[candidate(OTHER, kept=False), candidate(FEWER, kept=False)]),
        in_force(mode="observe"),
        in_force(promoted_by=verdict(BOTH, gain_metric=None)),
        in_force(suspended="sales grew", candidates=[candidate(BOTH)], verdicts=[verdict(BOTH, "inconclusive")]),
    ],
    ids=[
        *("no combination, or not worth it", "not confirmed", "tried", "the plan stays", "only looks", "gain unknown"),
        "the policy in force is not proven on these inputs",
    ],
)
def test_otherwise_nothing_is_left_out(found: Standing) -> None:
    assert found.unplanned == ()
    assert _asked(found) == []
    assert found.settled


def test_what_was_left_out_before_the_combination_was_accepted_again_is_tried_again() -> None:
    again = verdict(BOTH, verdict_id="ver-again", recorded_at=datetime(2026, 2, 1, tzinfo=UTC))
    assert in_force(promoted_by=again, past_verdicts=[PROOF, *TRIED, again]).to_leave_out == (OTHER, FEWER)


def test_a_harmful_part_is_found_against_the_policy_in_force() -> None:
    seconds = {BOTH: 2.0, FEWER: 1.5}
    workspace = FakeWorkspace(working(seconds, {FEWER: HALF_THE_WORK}), warm=True)
    outcome = experiment(workspace, FEWER, baseline=workspace.arm(BOTH))
    assert (outcome.verdict.outcome, outcome.judged[0].error_spent > 0) == ("accept", True)
    assert outcome.verdict.gain.ratio == pytest.approx(0.75)
    assert {t.policy_id for t in outcome.trials} == {BOTH.id, FEWER.id}
    assert outcome.trials[0].policy_id == BOTH.id  # the session has run original, not the policy in force
    assert outcome.trials[0].warm_up


def test_its_gain_is_told_against_original_so_that_it_goes_before_the_combination() -> None:
    found = verdict(FEWER, gain_ratio=0.75, gain_low=0.7, gain_high=0.8)
    told = _after(found.judgement, PROOF.gain, "against the policy in force")
    assert told.gain is not None
    assert (told.gain.ratio, told.gain.high) == pytest.approx((0.7 * 0.75, 0.8 * 0.8))
    assert told.reason.startswith("against the policy in force: ")
    better = verdict(FEWER, gain_high=told.gain.high, purpose="leave_out")
    assert in_force(verdicts=[better], carried=[PROOF]).to_promote == better


KEPT = verdict(OTHER, purpose="leave_out", recorded_at=LATE)
"""Better than the combination; of original it says nothing."""


def remembered(*events: Event) -> list[Verdict]:
    seen = artifact(recorded_at=datetime(2026, 3, 1, tzinfo=UTC))
    told = history_of(standing(artifacts=[seen], past_verdicts=[TRIED[0], KEPT], chain=chain_of(*events)))
    return [v.verdict for v in told.verdicts]


def test_a_part_that_could_not_be_left_out_may_be_tried_by_itself_later() -> None:
    assert remembered(accept(BOTH)) == [KEPT]


def test_what_was_better_than_the_combination_counts_only_as_long_as_the_combination_does() -> None:
    assert remembered(accept(BOTH), REGRESSED) == []  # it may be tried against original
    given = {"verdicts": [KEPT], "past_verdicts": [PROOF, KEPT], "mode": "auto"}
    assert in_force(**given).to_promote == KEPT
    reverted = chain_of(accept(BOTH), REGRESSED)
    assert in_force(**given, chain=reverted).to_promote is None
    assert in_force(**given, chain=reverted).promotable(by_hand=True) is None
    assert in_force(past_verdicts=[PROOF, KEPT], carried=[KEPT], chain=reverted).best is None


def test_nor_does_the_state_machine_put_it_in_force_then() -> None:
    event = Accept(KEPT.id, KEPT.candidate_id, "inp_1", (PROOF, KEPT))
    assert next_generation("demo", "q", chain_of(accept(BOTH)), event).policy == OTHER
    for chain in ((), chain_of(accept(BOTH), REGRESSED)):
        with pytest.raises(VerdictStale, match="which is not in force"):
            next_generation("demo", "q", chain, event)


def test_one_that_was_taken_back_itself_is_remembered_as_that() -> None:
    better = Accept(KEPT.id, KEPT.candidate_id, "inp_1", (PROOF, KEPT))
    assert remembered(accept(BOTH), better, REGRESSED) == [KEPT]


def test_a_trial_against_the_policy_in_force_confirms_and_takes_back_nothing() -> None:
    chain = chain_of(accept(FEWER))
    proof = verdict(FEWER, verdict_id=chain[-1].verdict_id)
    found = confirmation(chain[-1], [proof, TRIED[0]])
    assert found is not None
    assert found.state == "open"


def test_two_experiments_of_one_stage_do_not_spend_the_same_share_of_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new candidate is tried, and then a part is left out: the second trial may err less than the first."""
    third = Policy.of({"spark.sql.files.maxPartitionBytes": "33554432"})
    fake = FakeWorkspace(working({ORIGINAL: 3.0, third: 1.5, BOTH: 2.0, FEWER: 1.5}, {}))
    given = list[float]()

    def made(run: Run, found: Standing, candidates: list[Candidate], purpose: str, error: ErrorBudget) -> Any:
        given.append(error.available)
        baseline = fake.arm(BOTH) if purpose == "leave_out" else None
        done = experiment(fake, candidates[0].policy, error=error, baseline=baseline)
        return SimpleNamespace(run=lambda: done.judged, trials=done.trials, stranded=None)

    monkeypatch.setattr(stage, "_experiment", made)
    monkeypatch.setattr(stage, "proof_of", lambda run, found: Proof(Circumstances(), ()))
    kept: dict[AnyCodec, list[Any]] = {}
    run = SimpleNamespace(
        workspace=SimpleNamespace(sessions_lost=0, cores=2, revive=lambda: None),
        workload=SimpleNamespace(seed=7),
        no_trials="",
        progress=lambda *words: None,
        event_id=lambda *parts: "-".join(parts),
        append=lambda name, rows: kept.update(rows),
    )
    found = in_force(candidates=[candidate(third), candidate(FEWER)])
    stage.try_candidates(run, [(found, _asked(found), step(found, "validate"))])  # type: ignore[arg-type]
    spent = [v.error_spent for v in kept[VERDICTS]]
    assert [v.purpose for v in kept[VERDICTS]] == ["try", "leave_out"]
    assert all(spent)
    assert given == [FULL_BUDGET.available, FULL_BUDGET.after(spent[0]).available]
