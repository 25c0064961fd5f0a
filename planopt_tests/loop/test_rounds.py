"""After an accept the rules are asked what the query needs beyond it: where a round starts, and its evidence."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, propose
from planopt_assets.loop.decisions import decisions_for, history_of
from planopt_assets.loop.run import StageResult
from planopt_assets.loop.stages.validate import _add, _after, _asked, _may_explore
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.steps import step
from planopt_assets.model.conditions import Circumstances, Conditions, TableState
from planopt_assets.model.decision import Decision
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.signals import Exchange, Signals
from planopt_assets.model.stamp import Stamp
from planopt_assets.model.trial import Trial, TrialRow
from planopt_assets.model.verdict import Verdict
from planopt_assets.model.workload import Query, Workload
from planopt_assets.promote.confirmation import confirmation
from planopt_assets.replan.candidates import Proposed, combination, next_singles
from planopt_assets.store.codecs.deciding import TRIAL_ROWS
from planopt_assets.store.codecs.forms import dumped
from planopt_tests.decide.cases import WORKED
from planopt_tests.loop.fake_workspace import HALF_THE_WORK, FakeWorkspace, experiment, working
from planopt_tests.measured import counters
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.promote.events import EXPIRED, REGRESSED, accept, chain_of, fix, verdict_of
from planopt_tests.rows import FEWER, OTHER, artifact, candidate, decision, nothing_beyond, standing, stored, verdict

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run

pytestmark = pytest.mark.fast

BOTH = FEWER.merged(OTHER)
PARTITIONS = "spark.sql.shuffle.partitions"


def beyond(policy: Policy, base: Policy = FEWER) -> Decision:
    """A proposal that starts from an accepted policy."""
    return decision(policy=policy, policy_before=base.to_json())


def accepted(**others: Any) -> Standing:
    """A query whose first round is over, with an accepted policy; nobody was asked about that yet."""
    known = {"decisions": [decision()], "candidates": [candidate(FEWER)], "verdicts": [verdict(FEWER)]}
    return standing(**{**known, **others})


# Which policy a round starts from


def test_the_first_round_starts_from_original() -> None:
    for found in (standing(), standing(decisions=[decision()]), accepted(verdicts=[])):
        assert (found.base, found.base_policy) == (None, ORIGINAL)


def test_an_accepted_policy_is_asked_about_in_its_turn() -> None:
    found = accepted()
    assert (found.base, found.decided, found.settled) == (found.verdicts[0], False, False)
    one = step(found, "decide")
    assert (one.need, one.why) == ("needed", "what it needs beyond shuffle.partitions=2, which is accepted")


def test_a_query_that_needs_nothing_more_is_settled() -> None:
    found = accepted(decisions=[decision(), nothing_beyond(FEWER)])
    assert (found.decided, found.settled, found.outcome) == (True, True, "accept")


def test_a_proposal_beyond_it_is_planned_and_tried_against_it() -> None:
    proposed = accepted(decisions=[decision(), beyond(BOTH)])
    assert step(proposed, "replan").why == "1 proposals beyond shuffle.partitions=2"
    planned = replace(proposed, candidates=[*proposed.candidates, candidate(BOTH)])
    assert (planned.base_policy, _asked(planned)) == (FEWER, [([candidate(BOTH)], "add")])
    assert step(planned, "validate").why == "1 candidates without a verdict, against shuffle.partitions=2"


@pytest.mark.parametrize("outcome", ["reject", "inconclusive"])
def test_what_adds_nothing_leaves_the_accepted_policy_the_best(outcome: str) -> None:
    tried = [verdict(FEWER), verdict(BOTH, outcome, purpose="add")]
    found = accepted(
        decisions=[decision(), beyond(BOTH)], candidates=[candidate(FEWER), candidate(BOTH)], verdicts=tried
    )
    assert (found.base, found.to_promote, found.settled) == (tried[0], tried[0], True)


def test_what_is_accepted_beyond_it_is_promoted_and_starts_the_next_round() -> None:
    tried = [verdict(FEWER), verdict(BOTH, gain_ratio=0.5, gain_low=0.4, gain_high=0.6, purpose="add")]
    found = accepted(
        decisions=[decision(), beyond(BOTH)], candidates=[candidate(FEWER), candidate(BOTH)], verdicts=tried
    )
    assert (found.base, found.to_promote, found.decided) == (tried[1], tried[1], False)
    ended = replace(found, decisions=[*found.decisions, nothing_beyond(BOTH)])
    assert (ended.settled, ended.replanned) == (True, True)


def test_what_replaces_a_setting_of_it_is_an_answer_too_and_starts_the_next_round() -> None:
    eight = Policy.of({PARTITIONS: "8"})
    assert not FEWER.within(eight)
    proposal = beyond(eight)
    tried = [verdict(FEWER), verdict(eight, gain_ratio=0.5, gain_low=0.4, gain_high=0.6, purpose="add")]
    candidates = [candidate(FEWER), candidate(eight, decision_ids=[proposal.id])]
    found = accepted(decisions=[decision(), proposal], candidates=candidates, verdicts=tried)
    assert (found.base, found.to_promote, found.decided) == (tried[1], tried[1], False)
    assert replace(found, decisions=[*found.decisions, nothing_beyond(eight)]).settled


def test_a_round_is_finished_before_the_next_one_starts() -> None:
    two = {"decisions": [decision(), decision(policy=OTHER)], "candidates": [candidate(FEWER), candidate(OTHER)]}
    assert accepted(**two).base is None  # one candidate has no verdict yet
    assert accepted(**two, verdicts=[verdict(FEWER), verdict(OTHER, "reject")]).base_policy == FEWER


def test_the_next_run_goes_on_where_the_time_ended() -> None:
    found = accepted(decisions=[decision(), beyond(BOTH)], candidates=[candidate(FEWER), candidate(BOTH)])
    assert (found.base_policy, step(found, "validate").needed) == (FEWER, True)


@pytest.mark.parametrize("end", [REGRESSED, EXPIRED], ids=["got worse", "expired"])
def test_nothing_is_added_to_a_policy_that_was_taken_back(end: Any) -> None:
    found = accepted(verdicts=[verdict_of(FEWER)], chain=chain_of(accept(FEWER), end))
    assert (found.base, found.decided) == (None, True)


def test_nothing_is_added_while_a_pin_stands() -> None:
    assert accepted(chain=chain_of(fix(OTHER))).base is None


def test_a_policy_carried_over_from_similar_inputs_is_asked_about_too() -> None:
    found = standing(decisions=[decision("no_change")], carried=[verdict(FEWER)])
    assert (found.base_policy, found.decided) == (FEWER, False)


# What it is decided from

SIGNALS = Signals(exchanges=(Exchange(node=3, partitions=2, bytes_written=4096),))
PROOF = verdict(FEWER, trial_ids=["tri-o-r1", "tri-f-r0", "tri-f-r1"])


def rows(signals: Signals | None) -> MemorySnapshot:
    """An observation, a trial of original, and a first and a counted trial of the accepted policy."""
    (execution,) = WORKED.executions
    told = {"observation_id": "obs-run-q-b0", "binding": 0, "settings": dumped(dict(WORKED.settings))}
    observed = stored("plan_artifacts", **told, signals=dumped(asdict(Signals(exchanges=execution.exchanges))))
    trials = [
        Trial("tri-o-r1", ORIGINAL.id, 1, 0, 0, False, "ok", query_id="q"),
        Trial("tri-f-r0", FEWER.id, 0, 0, 0, True, "ok", query_id="q", signals=signals),
        Trial("tri-f-r1", FEWER.id, 1, 1, 0, False, "ok", query_id="q"),
    ]
    counted = {"obs-run-q-b0": execution.counters, **{t.id: counters(cpu_s=2.0, input_rows=10**6) for t in trials}}
    return MemorySnapshot(
        plan_artifacts=[observed],
        trials=[stored("trials", **TRIAL_ROWS.to_row(TrialRow.of(t))) for t in trials],
        runtime_counters=[stored("runtime_counters", execution_id=i, **asdict(c)) for i, c in counted.items()],
    )


def asked(monkeypatch: pytest.MonkeyPatch, found: Standing, snapshot: MemorySnapshot) -> tuple[Any, list[Evidence]]:
    """The decisions of one rule that always proposes the same, and the evidence that it was given."""
    seen: list[Evidence] = []

    def rule(evidence: Evidence) -> Answer:
        seen.append(evidence)
        return propose(dict(OTHER.settings), "because", saved_cpu_ns=480_000_000, arithmetic={})

    monkeypatch.setattr(decide_module, "RULES", (("any_rule", rule),))
    query = Query("q", sql="SELECT 1", runs_per_day=24)
    workload = Workload("demo", Path("planopt.yaml"), "memory", (), (query,))
    return decisions_for(workload, snapshot, found, found.base), seen


def test_the_trials_of_the_accepted_policy_are_the_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    (told,), (evidence,) = asked(monkeypatch, accepted(verdicts=[PROOF]), rows(SIGNALS))
    assert (told.kind, told.policy_before, told.policy_after) == ("proposal", FEWER, BOTH)
    assert told.evidence_ids == ("tri-f-r1",)
    (execution,) = evidence.executions
    assert (evidence.policy, evidence.setting(PARTITIONS)) == (FEWER, "2")
    assert (execution.exchanges, execution.counters.cpu_ns) == (SIGNALS.exchanges, 2_000_000_000)


def test_the_first_round_can_be_asked_again_whatever_was_accepted_since(monkeypatch: pytest.MonkeyPatch) -> None:
    found = accepted(verdicts=[PROOF])
    _, (evidence,) = asked(monkeypatch, replace(found, verdicts=[]), rows(SIGNALS))
    assert (evidence.policy, evidence.setting(PARTITIONS)) == (ORIGINAL, "200")


def test_where_an_older_planopt_did_not_look_at_the_plan_nothing_can_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = accepted(verdicts=[PROOF])
    (told,), seen = asked(monkeypatch, found, rows(None))
    assert (told.kind, told.reason, seen) == (
        "cannot_tell",
        "the trials of shuffle.partitions=2 do not tell its plan",
        [],
    )
    assert replace(found, decisions=[*found.decisions, told]).settled


# What it remembers


def at(sequence: int, found: Verdict) -> Verdict:
    return replace(found, stamp=Stamp("run", sequence=sequence))


def test_a_round_knows_the_verdicts_stored_with_the_one_it_starts_from_and_no_later_ones() -> None:
    base, beside, later = at(5, verdict(FEWER)), at(5, verdict(OTHER, "reject")), at(6, verdict(BOTH, "reject"))
    found = standing([replace(artifact(), stamp=Stamp("run", sequence=2))], past_verdicts=[base, beside, later])
    assert [v.verdict for v in history_of(found, base).verdicts] == [base, beside]
    assert history_of(found).verdicts == ()


@pytest.mark.parametrize(
    ("outcome", "others", "kind"),
    [
        ("reject", {}, "no_change"),
        ("inconclusive", {}, "no_change"),
        ("inconclusive", {"pairs": 0, "reason": "outrun: another is accepted"}, "proposal"),
    ],
    ids=["rejected", "unclear", "never had its turn"],
)
def test_what_failed_by_itself_is_not_tried_on_top(
    monkeypatch: pytest.MonkeyPatch, outcome: str, others: dict[str, Any], kind: str
) -> None:
    sized = Conditions(Circumstances(tables=(TableState("sales", "t-1", 100),)))
    same = {"canonical_fingerprint": "cql_1", "context_hash": "ctx_1", "conditions": dumped(sized.facts())}
    told = [at(5, replace(PROOF, conditions=sized)), at(5, verdict(OTHER, outcome, **same, **others))]
    known = {"canonical_fingerprint": "cql_1", "context_hash": "ctx_1", "sizes": {"sales": 100}}
    found = accepted(verdicts=[told[0]], past_verdicts=told, **known)
    (one,), _ = asked(monkeypatch, found, rows(SIGNALS))
    assert one.kind == kind
    assert ("before by itself" in one.reason) is (kind == "no_change")


# How it is tried


def test_the_first_run_of_a_candidate_is_looked_at_and_no_other_run() -> None:
    workspace = FakeWorkspace(working({FEWER: 2.0, BOTH: 1.0}, {BOTH: HALF_THE_WORK}), warm=True)
    outcome = experiment(workspace, BOTH, baseline=workspace.arm(FEWER), look=lambda arm, done: SIGNALS)
    assert outcome.verdict.outcome == "accept"
    assert [(t.policy_id, t.round) for t in outcome.trials if t.signals] == [(BOTH.id, 0)]


def test_its_gain_is_told_against_original() -> None:
    told = _after(verdict(BOTH, gain_ratio=0.5, gain_high=0.6).judgement, verdict(FEWER).gain, "beyond FEWER")
    assert told.gain is not None
    assert (told.gain.ratio, told.gain.high) == pytest.approx((0.7 * 0.5, 0.8 * 0.6))
    assert told.reason == "beyond FEWER: the reason for accept"


def test_what_adds_nothing_to_another_policy_takes_back_nothing() -> None:
    chain = chain_of(accept(BOTH))
    proof = verdict(BOTH, verdict_id=chain[-1].verdict_id)
    found = confirmation(chain[-1], [proof, verdict(BOTH, "reject", verdict_id="ver-9", purpose="add")])
    assert found is not None
    assert found.state == "open"


def test_the_stage_tells_the_best_of_all_rounds_and_all_trials() -> None:
    first = StageResult("q", True, "accept: first", {"trials": 7, "accepted": 1, "gain_ratio": 0.7}, "one")
    results = {"q": first}
    assert _add(results, StageResult("q", True, "reject: more", {"trials": 3, "accepted": 0}, "two"))
    assert (results["q"].summary, results["q"].numbers["trials"]) == ("accept: first", 10)
    assert _add(
        results, StageResult("q", True, "accept: more", {"trials": 7, "accepted": 1, "gain_ratio": 0.5}, "three")
    )
    assert (results["q"].summary, results["q"].numbers) == (
        "accept: more",
        {"trials": 17, "accepted": 2, "gain_ratio": 0.5},
    )
    assert results["q"].markdown == "one\n\ntwo\n\nthree"
    assert not _add(results, StageResult("q", False, "nothing"))


def test_an_addition_may_not_go_beyond_the_limits_of_original_step_by_step() -> None:
    """180 tasks beside the 100 of the accepted policy are within twice as many. Original had 50."""
    workspace = FakeWorkspace(working({FEWER: 2.0, BOTH: 1.0}, {BOTH: {**HALF_THE_WORK, "tasks": 180}}), warm=True)
    for observed, outcome in ((), "accept"), ((counters(tasks=100),), "accept"), ((counters(tasks=50),), "reject"):
        found = experiment(workspace, BOTH, baseline=workspace.arm(FEWER), original=observed).verdict
        assert found.outcome == outcome
    assert found.reason == "guard tasks_of_original broken: 50 -> 180"
    assert found.found_worse


# How long an option may take

OPTION = decision(policy=BOTH, policy_before=FEWER.to_json(), rule="explore")


def may_explore(*, explored_s: float, left_s: float) -> bool:
    """Beyond a policy whose last trial took 2 s. Original was observed on a cold JVM, in 3 s."""
    found = accepted(
        decisions=[decision(), nothing_beyond(FEWER), OPTION],
        candidates=[candidate(FEWER), candidate(BOTH)],
        verdicts=[PROOF],
    )
    assert found.rounds.exploring
    workload = Workload("demo", Path("planopt.yaml"), "memory", (), (Query("q", sql="SELECT 1", runs_per_day=24),))
    run = SimpleNamespace(workload=workload, snapshot=rows(SIGNALS), explored_s=explored_s, explore_left_s=left_s)
    return _may_explore(cast("Run", run), found)


def test_an_option_fits_where_its_own_trials_do_as_decide_has_found() -> None:
    assert may_explore(explored_s=1.0, left_s=14.0)  # 7 executions of 2 s; of original they would be 21
    assert not may_explore(explored_s=1.0, left_s=13.9)


def test_the_first_option_of_a_run_has_its_turn_however_short_the_run_is() -> None:
    assert may_explore(explored_s=0.0, left_s=0.1)


# It ends

CHANGES = [Policy.of({f"spark.knob.{name}": "1"}) for name in "abcd"]


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_whatever_is_accepted_the_rounds_end_with_every_policy_asked_about_once(data: st.DataObject) -> None:
    """A loop of decide, replan and validate over rules that always propose what is not set yet."""
    found, asked = standing(decisions=[]), list[Policy]()
    for _ in range(200):
        base = found.base_policy
        if not found.decided:
            asked.append(base)
            wanted = [c for c in CHANGES if not c.within(base)]
            told = [beyond(base.merged(c), base) for c in wanted] or [nothing_beyond(base)]
            found = replace(found, decisions=[*found.decisions, *told])
        elif not found.replanned:
            proposed, tried = [Proposed.of(d) for d in found.this_round if d.proposes], found.tried
            planned = [p for p, _ in next_singles(proposed, tried)]
            tried |= {p.id: "kept" for p in planned}
            together = combination(proposed, tried)
            planned += [together[0]] if together else []
            kept = [candidate(p, kept=data.draw(st.booleans())) for p in planned]
            found = replace(found, candidates=[*found.candidates, *kept])
        elif found.unjudged:
            one = found.unjudged[0]
            outcome = data.draw(st.sampled_from(["accept", "reject", "inconclusive"]))
            high = 0.9 * (found.base.gain.high if found.base and found.base.gain else 1.0)
            given_ = verdict(one.policy, outcome, gain_high=high, purpose="add" if found.base else "try")
            found = replace(found, verdicts=[*found.verdicts, given_])
        else:
            break
    assert found.settled
    assert len(asked) == len(set(asked))
    assert asked[0] == ORIGINAL
