"""Validate: try every kept candidate against the query as original, and store each trial and verdict."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt_assets.loop.experiment import Experiment, Judged
from planopt_assets.loop.priority import in_order
from planopt_assets.loop.proof import Proof, proof_of
from planopt_assets.loop.run import Run, StageResult, nothing_to_do
from planopt_assets.loop.verdict_facts import verdict_result
from planopt_assets.model.promotion import in_force
from planopt_assets.model.verdict import Gain, Judgement, Purpose, Verdict
from planopt_assets.store.codecs.deciding import EDGES, TRIALS, VERDICTS
from planopt_assets.store.codecs.observing import DETAILS, EXECUTIONS
from planopt_assets.store.lineage import edges
from planopt_assets.validate.judge import JUDGE_VERSION

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.loop.steps import Step
    from planopt_assets.model.candidate import Candidate
    from planopt_assets.model.trial import Trial
    from planopt_assets.store.codecs.codec import AnyCodec
    from planopt_assets.validate.error_budget import ErrorBudget

STAGE = "validate"


def validate(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Verdicts for every candidate that has none, and on the policy in force where it is due to be confirmed."""
    steps = run.steps(STAGE, query_ids)
    return try_candidates(run, [(s, _asked(s) if step.needed else [], step) for s, step in steps])


def try_candidates(run: Run, asked: Sequence[tuple[Standing, list[Asked], Step]]) -> list[StageResult]:
    """Trials of each query's candidates. Verdicts are written last, so each has its trials in the store."""
    kept: dict[AnyCodec, list[Any]] = {EXECUTIONS: [], TRIALS: [], EDGES: [], VERDICTS: []}
    results = []
    tried = {standing.query_id: (standing, experiments, step) for standing, experiments, step in asked}
    best_first = in_order({q: standing.promise for q, (standing, _, _) in tried.items()})  # a budget buys the most
    for query_id in sorted(best_first, key=lambda q: tried[q][0].ended_session):
        standing, experiments, step = tried[query_id]
        if not experiments:
            results.append(_standing_result(standing, step))
            continue
        if time.monotonic() >= run.deadline:
            results.append(StageResult(query_id, False, "the run's budget is spent: left for the next run"))
            continue
        run.workspace.revive()
        lost, given, trials = run.workspace.sessions_lost, list[Verdict](), 0
        error = standing.error_budget
        for candidates, purpose in experiments:
            run.progress(STAGE, query_id, _WORDS[purpose])
            experiment = _experiment(run, standing, candidates, purpose, error)
            answers = _answers(experiment, standing, purpose)
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


Asked = tuple[list["Candidate"], Purpose]
"""One experiment: its candidates, and what they are tried for."""

_WORDS: dict[Purpose, str] = {
    "try": "interleaved trials against original",
    "confirm": "the policy in force once more against original",
    "leave_out": "the policy in force against itself without one part",
}


def _asked(standing: Standing) -> list[Asked]:
    """What is to be tried, each as an experiment of its own: the policy in force once more, and new candidates."""
    asked: list[Asked] = []
    if (due := standing.to_confirm) is not None:
        asked.append(([due], "confirm"))
    if standing.unjudged:
        asked.append((standing.unjudged, "try"))
    if standing.leaving_out:
        asked.append((standing.leaving_out, "leave_out"))
    return asked


def _answers(experiment: Experiment, standing: Standing, purpose: Purpose) -> list[Judged]:
    """What an experiment found, as compared with original. It rests on the runs of the candidate itself then."""
    judged = experiment.run()
    if purpose != "leave_out":
        return judged
    assert standing.promoted_by is not None
    before, policy_of = standing.promoted_by.gain, {t.id: t.policy_id for t in experiment.trials}
    return [
        replace(
            one,
            judgement=_after(one.judgement, before),
            trial_ids=tuple(t for t in one.trial_ids if policy_of[t] == one.candidate.policy.id),
        )
        for one in judged
    ]


def _after(judgement: Judgement, before: Gain | None) -> Judgement:
    words = f"against the policy in force: {judgement.reason}"
    gain = judgement.gain.after(before) if judgement.gain and before else None
    return replace(judgement, reason=words, gain=gain)


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
    kept[TRIALS] += ran
    kept[EDGES] += [edge for t in ran for edge in edges(query_id, STAGE, t.id, observations)]
    kept[EDGES] += [edge for v in verdicts for edge in edges(query_id, STAGE, v.id, [v.candidate_id, *v.trial_ids])]
    kept[VERDICTS] += verdicts


def _experiment(
    run: Run, standing: Standing, candidates: list[Candidate], purpose: Purpose, error: ErrorBudget
) -> Experiment:
    """`error` is what the experiments before it have left."""
    observed = [a.observation_id for a in sorted(standing.artifacts, key=lambda a: a.binding)]
    walls = {e.id: e.counters.wall_ns / 1e9 for e in run.snapshot.read(EXECUTIONS, execution_id=observed)}
    digests = {d.observation_id: d.digest for d in run.snapshot.read(DETAILS, observation_id=observed)}
    return Experiment(
        run.workspace,
        run.workload.query(standing.query_id),
        candidates,
        [digest for o in observed if (digest := digests[o]) is not None],
        trial_prefix=run.event_id("tri", standing.query_id, *_part(purpose)),
        run_deadline=run.deadline,
        observed_wall_s=[walls[o] for o in observed],
        rules=run.rules,
        error=error if purpose != "confirm" else None,
        baseline=run.workspace.arm(in_force(standing.chain)) if purpose == "leave_out" else None,
        in_force=in_force(standing.chain),
    )


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
