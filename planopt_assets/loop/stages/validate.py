"""Validate: try every kept candidate, store each trial and verdict, and go on from what was accepted.

The first round tries candidates against the query as original. Once a policy is accepted, the rules are asked what the
query needs beyond it, and the next round tries that against the accepted policy. It ends when no rule proposes, nothing
is accepted, or the time of the run is over; the next run goes on there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt_assets.decide.explore.explore import trial_s
from planopt_assets.loop.decisions import evidence_for
from planopt_assets.loop.experiment import Experiment, Judged
from planopt_assets.loop.priority import in_order
from planopt_assets.loop.proof import Proof, proof_of
from planopt_assets.loop.run import Run, StageResult, nothing_to_do
from planopt_assets.loop.seen import explained, thresholds_of
from planopt_assets.loop.stages.decide import decide_queries
from planopt_assets.loop.stages.replan import replan
from planopt_assets.loop.trial_runs import Look
from planopt_assets.loop.verdict_facts import verdict_result
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import in_force
from planopt_assets.model.trial import TrialRow
from planopt_assets.model.verdict import NOT_TRIED, Gain, Judgement, Purpose, Verdict
from planopt_assets.store.codecs.deciding import EDGES, TRIAL_ROWS, VERDICTS
from planopt_assets.store.codecs.observing import DETAILS, EXECUTIONS
from planopt_assets.store.lineage import edges
from planopt_assets.validate.judge import JUDGE_VERSION

if TYPE_CHECKING:
    from planopt_assets.engine.execution.execute import Measured
    from planopt_assets.loop.standing import Standing
    from planopt_assets.loop.step import Step
    from planopt_assets.model.arm import Arm
    from planopt_assets.model.candidate import Candidate
    from planopt_assets.model.signals import Signals
    from planopt_assets.model.trial import Trial
    from planopt_assets.store.codecs.codec import AnyCodec
    from planopt_assets.validate.error_budget import ErrorBudget

STAGE = "validate"
TRIES: tuple[Purpose, ...] = ("try", "add")
"""What is new is tried, against original or against what was accepted."""


def validate(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Verdicts for every candidate that has none, and on the policy in force where it is due to be confirmed.

    All queries have their first round before any has its second. A person who asks for this stage alone gets one round.
    """
    results = {one.query_id: one for one in _one_round(run, query_ids)}
    tried = [query_id for query_id, one in results.items() if one.changed or _explores_on(run, query_id)]
    while tried and not run.by_hand and not run.no_trials:
        run.round += 1
        decided = {one.query_id for one in decide_queries(run, tried) if one.changed}
        replan(run, tried)
        added = {one.query_id for one in _one_round(run, tried) if _add(results, one)}
        tried = [q for q in tried if q in decided | added]  # where an option was dropped, the next one is chosen
    return list(results.values())


def _explores_on(run: Run, query_id: str) -> bool:
    """Whether the option that was chosen before this stage changed no plan, so that the next one has its turn."""
    return run.explore_left_s > 0 and run.standings()[query_id].rounds.to_explore


def _one_round(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """What is in force is asked about in the first round alone: each of its answers is for another night."""
    steps = run.steps(STAGE, query_ids)
    asked = [(s, _asked(s) if step.needed else [], step) for s, step in steps]
    if run.round > 1:
        asked = [(s, [one for one in ones if one[1] in TRIES], step) for s, ones, step in asked]
    return try_candidates(run, asked)


def _add(results: dict[str, StageResult], more: StageResult) -> bool:
    """Tell what a further round found beside what the rounds before it did. False: it had nothing to do."""
    if not more.changed:
        return False
    before = results[more.query_id]
    numbers = {**before.numbers, **more.numbers}
    counted = {name: before.numbers.get(name, 0) + more.numbers.get(name, 0) for name in ("trials", "accepted")}
    markdown = f"{before.markdown}\n\n{more.markdown}"
    if not more.numbers.get("accepted"):
        results[more.query_id] = replace(before, numbers={**before.numbers, **counted}, markdown=markdown)
    else:
        results[more.query_id] = replace(more, numbers={**numbers, **counted}, markdown=markdown)
    return True


def try_candidates(run: Run, asked: Sequence[tuple[Standing, list[Asked], Step]]) -> list[StageResult]:
    """Trials of each query's candidates. Verdicts are written last, so each has its trials in the store."""
    kept: dict[AnyCodec, list[Any]] = {EXECUTIONS: [], TRIAL_ROWS: [], EDGES: [], VERDICTS: []}
    results = []
    tried = {standing.query_id: (standing, experiments, step) for standing, experiments, step in asked}
    best_first = in_order({q: standing.promise for q, (standing, _, _) in tried.items()})  # a budget buys the most
    for query_id in sorted(best_first, key=lambda q: tried[q][0].ended_session):
        standing, experiments, step = tried[query_id]
        if not experiments:
            results.append(_standing_result(standing, step))
            continue
        if standing.rounds.exploring and not _may_explore(run, standing):
            experiments = [(candidates, purpose) for candidates, purpose in experiments if purpose not in TRIES]
        if not experiments:
            results.append(StageResult(query_id, False, "the run's share for exploration is spent: left for the next"))
            continue
        if words := run.no_trials:
            results.append(StageResult(query_id, False, words))
            continue
        run.workspace.revive()
        lost, given, trials = run.workspace.sessions_lost, list[Verdict](), 0
        error = standing.error_budget
        for candidates, purpose in experiments:
            run.progress(STAGE, query_id, _WORDS[purpose])
            experiment = _experiment(run, standing, candidates, purpose, error)
            started = time.monotonic()
            answers = _answers(experiment, standing, purpose)
            if standing.rounds.exploring and purpose in TRIES:
                run.explored_s += time.monotonic() - started
            error = error.after_all(one.error_spent for one in answers)
            proof = proof_of(run, standing)
            judged = [_verdict(run, standing, one, purpose, proof) for one in answers]
            _keep(kept, run, standing, experiment.trials, judged)
            given, trials = [*given, *judged], trials + len(experiment.trials)
            if run.workspace.sessions_lost > lost:
                run.keep(STAGE, query_id, kept)
            if experiment.stranded is not None:
                raise experiment.stranded
        results.append(verdict_result(query_id, given, trials=trials, changed=True))
        run.progress(STAGE, query_id, results[-1].summary)
    run.append(STAGE, kept)
    return results


def _may_explore(run: Run, standing: Standing) -> bool:
    """Whether the trial of an option fits into what the run has left for exploration.

    The first one always does: decide has found that it fits into a run, and a shorter run must not put it off for ever.
    """
    if not run.explored_s:
        return True
    evidence, _ = evidence_for(run.workload, run.snapshot, standing, standing.base)
    return evidence is None or trial_s(evidence) <= run.explore_left_s


Asked = tuple[list["Candidate"], Purpose]
"""One experiment: its candidates, and what they are tried for."""

_WORDS: dict[Purpose, str] = {
    "try": "interleaved trials against original",
    "confirm": "the policy in force once more against original",
    "leave_out": "the policy in force against itself without one part",
    "add": "what was accepted against itself with more",
}


def _asked(standing: Standing) -> list[Asked]:
    """What is to be tried, each as an experiment of its own: the policy in force once more, and new candidates."""
    asked: list[Asked] = []
    if (due := standing.to_confirm) is not None:
        asked.append(([due], "confirm"))
    if standing.unjudged:
        asked.append((standing.unjudged, "add" if standing.base else "try"))
    if standing.leaving_out:
        asked.append((standing.leaving_out, "leave_out"))
    return asked


def _answers(experiment: Experiment, standing: Standing, purpose: Purpose) -> list[Judged]:
    """What an experiment found, as compared with original. It rests on the runs of the candidate itself then."""
    judged = experiment.run()
    before = {"leave_out": standing.promoted_by, "add": standing.base}.get(purpose)
    if before is None:
        return judged
    words, policy_of = _against(before, purpose), {t.id: t.policy_id for t in experiment.trials}
    return [
        replace(
            one,
            judgement=_after(one.judgement, before.gain, words),
            trial_ids=tuple(t for t in one.trial_ids if policy_of[t] == one.candidate.policy.id),
        )
        for one in judged
    ]


def _against(before: Verdict, purpose: Purpose) -> str:
    return "against the policy in force" if purpose == "leave_out" else f"beyond {before.policy.describe()}"


def _after(judgement: Judgement, before: Gain | None, words: str) -> Judgement:
    """The same as compared with original. What nothing ran for keeps its reason: history knows it by that."""
    if judgement.reason.startswith(NOT_TRIED):
        return judgement
    gain = judgement.gain.after(before) if judgement.gain and before else None
    return replace(judgement, reason=f"{words}: {judgement.reason}", gain=gain)


def _keep(
    kept: dict[AnyCodec, list[Any]],
    run: Run,
    standing: Standing,
    trials: Sequence[Trial],
    verdicts: Sequence[Verdict],
) -> None:
    query_id, inputs = standing.query_id, standing.input_fingerprint
    ran = [replace(t, query_id=query_id, seed=run.workload.seed, input_fingerprint=inputs) for t in trials]
    observations = [a.observation_id for a in standing.artifacts]
    kept[EXECUTIONS] += [replace(e, cores=run.workspace.cores) for t in ran if (e := t.execution) is not None]
    kept[TRIAL_ROWS] += [TrialRow.of(t) for t in ran]
    kept[EDGES] += [edge for t in ran for edge in edges(query_id, STAGE, t.id, observations)]
    kept[EDGES] += [edge for v in verdicts for edge in edges(query_id, STAGE, v.id, [v.candidate_id, *v.trial_ids])]
    kept[VERDICTS] += verdicts


def _experiment(
    run: Run, standing: Standing, candidates: list[Candidate], purpose: Purpose, error: ErrorBudget
) -> Experiment:
    """`error` is what the experiments before it have left."""
    observed = [a.observation_id for a in sorted(standing.artifacts, key=lambda a: a.binding)]
    counted = {e.id: e.counters for e in run.snapshot.read(EXECUTIONS, execution_id=observed)}
    digests = {d.observation_id: d.digest for d in run.snapshot.read(DETAILS, observation_id=observed)}
    baseline = _baseline(standing, purpose)
    return Experiment(
        run.workspace,
        run.workload.query(standing.query_id),
        candidates,
        [digest for o in observed if (digest := digests[o]) is not None],
        trial_prefix=run.event_id("tri", standing.query_id, *_part(purpose)),
        run_deadline=run.deadline,
        observed_wall_s=[counted[o].wall_ns / 1e9 for o in observed],
        rules=replace(run.rules, worth_gain=0.0) if purpose == "leave_out" else run.rules,
        error=error if purpose != "confirm" else None,
        baseline=run.workspace.arm(baseline),
        look=_look(run, standing.query_id) if purpose != "confirm" else None,
        in_force=in_force(standing.chain),
        original=[counted[o] for o in observed] if baseline != ORIGINAL else (),
        first=next((d.policy_after for d in standing.this_round if d.goes_first), ORIGINAL),
    )


def _baseline(standing: Standing, purpose: Purpose) -> Policy:
    """What candidates are tried against."""
    against: dict[Purpose, Policy] = {"leave_out": in_force(standing.chain), "add": standing.base_policy}
    return against.get(purpose, ORIGINAL)


def _look(run: Run, query_id: str) -> Look:
    """What the first run of a candidate shows, as an observation would; kept for the round that may start from it."""
    workspace, query, thresholds = run.workspace, run.workload.query(query_id), thresholds_of(run)

    def look(arm: Arm, execution: Measured) -> Signals:
        facts = [workspace.facts(t) for t in workspace.tables_read(query, arm)]
        return explained(workspace, query, execution, facts, thresholds).signals

    return look


def _part(purpose: Purpose) -> tuple[str, ...]:
    """Of the ids of trials and verdicts: a run may try the same policies for both purposes."""
    return () if purpose == "try" else (purpose,)


def _verdict(run: Run, standing: Standing, judged: Judged, purpose: Purpose, proof: Proof) -> Verdict:
    assert standing.input_fingerprint is not None, "only an observed query has candidates"
    return Verdict(
        run.event_id("ver", standing.query_id, *_part(purpose), judged.candidate.id),
        standing.query_id,
        judged.candidate.id,
        judged.candidate.policy,
        judged.judgement,
        judged.trial_ids,
        standing.input_fingerprint,
        canonical_fingerprint=standing.canonical_fingerprint,
        context_hash=standing.context_hash,
        input_bytes=standing.input_bytes,
        seed=run.workload.seed,
        judge_version=JUDGE_VERSION,
        executions=judged.executions,
        error_available=judged.error_available,
        error_spent=judged.error_spent,
        purpose=purpose,
        conditions=proof.conditions(judged.candidate.policy),
    )


def _standing_result(standing: Standing, step: Step) -> StageResult:
    """Nothing to try: verdicts that still stand are shown again, so that the newest page has them."""
    verdicts = (*standing.verdicts, *standing.carried)
    if not verdicts:
        return nothing_to_do(standing.query_id, step)
    return verdict_result(standing.query_id, verdicts, trials=0, changed=False)
