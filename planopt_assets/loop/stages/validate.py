"""Validate: try every kept candidate against the query as original, and store each trial and verdict."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt_assets.loop.experiment import Experiment, Judged
from planopt_assets.loop.markdown import verdict_markdown
from planopt_assets.loop.priority import in_order
from planopt_assets.loop.run import Run, StageResult, nothing_to_do, remark_on
from planopt_assets.model.verdict import Verdict
from planopt_assets.store.codecs.deciding import EDGES, TRIALS, VERDICTS
from planopt_assets.store.codecs.observing import DETAILS, EXECUTIONS
from planopt_assets.store.lineage import edges
from planopt_assets.validate.judge import JUDGE_VERSION

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.store.codecs.codec import AnyCodec

STAGE = "validate"


def validate(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Verdicts for every candidate that has none; verdicts are written last, so each has its trials in the store."""
    kept: dict[AnyCodec, list[Any]] = {EXECUTIONS: [], TRIALS: [], EDGES: [], VERDICTS: []}
    results = []
    steps = {standing.query_id: (standing, step) for standing, step in run.steps(STAGE, query_ids)}
    best_first = in_order({q: standing.promise for q, (standing, _) in steps.items()})  # a budget buys the most
    for query_id in sorted(best_first, key=lambda q: steps[q][0].ended_session):
        standing, step = steps[query_id]
        if not step.needed:
            results.append(nothing_to_do(query_id, step))
            continue
        if time.monotonic() >= run.deadline:
            results.append(StageResult(query_id, False, "the run's budget is spent: left for the next run"))
            continue
        run.progress(STAGE, query_id, "interleaved trials against original")
        run.workspace.revive()
        lost, experiment = run.workspace.sessions_lost, _experiment(run, standing)
        judged = experiment.run()
        inputs = standing.input_fingerprint
        ran = [
            replace(t, query_id=query_id, seed=run.workload.seed, input_fingerprint=inputs) for t in experiment.trials
        ]
        given = [_verdict(run, standing, one) for one in judged]
        observations = [a.observation_id for a in standing.artifacts]
        kept[EXECUTIONS] += [e for t in ran if (e := t.execution) is not None]
        kept[TRIALS] += ran
        kept[EDGES] += [edge for t in ran for edge in edges(query_id, STAGE, t.id, observations)]
        kept[EDGES] += [edge for v in given for edge in edges(query_id, STAGE, v.id, [v.candidate_id, *v.trial_ids])]
        kept[VERDICTS] += given
        if run.workspace.sessions_lost > lost:
            run.keep(STAGE, query_id, kept)
        if experiment.stranded is not None:
            raise experiment.stranded
        results.append(_result(query_id, given, len(ran)))
        run.progress(STAGE, query_id, results[-1].summary)
    run.append(STAGE, kept)
    return results


def _experiment(run: Run, standing: Standing) -> Experiment:
    observed = [a.observation_id for a in sorted(standing.artifacts, key=lambda a: a.binding)]
    walls = {e.id: e.counters.wall_ns / 1e9 for e in run.snapshot.read(EXECUTIONS, execution_id=observed)}
    digests = {d.observation_id: d.digest for d in run.snapshot.read(DETAILS, observation_id=observed)}
    return Experiment(
        run.workspace,
        run.workload.query(standing.query_id),
        standing.unjudged,
        [digest for o in observed if (digest := digests[o]) is not None],
        trial_prefix=run.event_id("tri", standing.query_id),
        run_deadline=run.deadline,
        observed_wall_s=[walls[o] for o in observed],
        rules=run.rules,
    )


def _verdict(run: Run, standing: Standing, judged: Judged) -> Verdict:
    assert standing.input_fingerprint is not None, "only an observed query has candidates"
    return Verdict(
        run.event_id("ver", standing.query_id, judged.candidate.id),
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
    )


def _result(query_id: str, verdicts: Sequence[Verdict], trials: int) -> StageResult:
    best = min(verdicts, key=lambda v: ("accept", "inconclusive", "reject").index(v.outcome))
    numbers: dict[str, int | float] = {"trials": trials, "accepted": sum(v.accepted for v in verdicts)}
    if best.gain:
        numbers |= {"gain_ratio": best.gain.ratio, "gain_ratio_high": best.gain.high}
        if best.gain.confidence is not None:
            numbers["gain_confidence"] = best.gain.confidence
    markdown = "\n\n".join(verdict_markdown(v.policy, v.judgement) for v in verdicts)
    words = remark_on(*(v.policy for v in verdicts))
    return StageResult(query_id, True, f"{best.outcome}: {best.reason}", numbers, markdown, words)
