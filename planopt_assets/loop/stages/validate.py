"""Validate: try every kept candidate against the query as it is, and store each trial and verdict."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planopt_assets.loop.experiment import Experiment, Judged
from planopt_assets.loop.priority import in_order
from planopt_assets.loop.run import Run, StageResult, unchanged
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.policy import Policy
from planopt_assets.observe.evidence import digest_from_json, digest_json
from planopt_assets.store.lineage import edges
from planopt_assets.validate.judge import JUDGE_VERSION

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.trial import Trial

STAGE = "validate"


def validate(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Verdicts for every candidate that has none; verdicts are written last, so each has its trials in the store."""
    standings = run.standings()
    tables = ("runtime_counters", "trials", "lineage", "verdicts")
    rows: dict[str, list[dict[str, Any]]] = {table: [] for table in tables}
    results = []
    for query_id in in_order({q: standings[q].promise for q in query_ids}):  # so that a budget buys the most
        standing = standings[query_id]
        if not standing.unjudged:
            words = "no candidate to try" if not standing.verdicts else ""
            results.append(StageResult(query_id, False, words) if words else unchanged(query_id, STAGE))
            continue
        if time.monotonic() >= run.deadline:
            results.append(StageResult(query_id, False, "the run's budget is spent: left for the next run"))
            continue
        run.progress(STAGE, query_id, "interleaved trials against the query as it is")
        experiment = _experiment(run, standing)
        judged = experiment.run()
        for trial in experiment.trials:
            _add_trial(run, standing, trial, rows)
        for one in judged:
            _add_verdict(run, standing, one, rows)
        results.append(_result(query_id, judged, len(experiment.trials)))
        run.progress(STAGE, query_id, results[-1].summary)
    run.append(STAGE, rows)
    return results


def _experiment(run: Run, standing: Standing) -> Experiment:
    observed = sorted(standing.artifacts, key=lambda a: a["binding"])
    counters = {c["execution_id"]: c for c in run.reader.rows("runtime_counters", query_id=standing.query_id)}
    return Experiment(
        run.workspace,
        run.workload.query(standing.query_id),
        [_candidate(row) for row in standing.unjudged],
        [digest_from_json(a["digest"]) for a in observed],
        trial_prefix=run.event_id("tri", standing.query_id),
        run_deadline=run.deadline,
        observed_wall_s=[counters[a["observation_id"]]["wall_ns"] / 1e9 for a in observed],
        rules=run.rules,
    )


def _candidate(row: dict[str, Any]) -> Candidate:
    return Candidate(
        query_id=row["query_id"],
        policy=Policy.from_json(row["policy"]),
        decision_ids=tuple(row["decision_ids"]),
        kept=row["kept"],
        reason=row["reason"],
        diff=row["diff"],
        plan_fingerprint=row["plan_fingerprint"],
        topology_hash=row["topology_hash"],
        input_fingerprint=row["input_fingerprint"],
    )


def _add_trial(run: Run, standing: Standing, trial: Trial, rows: dict[str, list[dict[str, Any]]]) -> None:
    rows["trials"].append(
        {
            "query_id": standing.query_id,
            "trial_id": trial.id,
            "policy_id": trial.policy_id,
            "seed": run.workload.seed,
            "round": trial.round,
            "position": trial.position,
            "binding": trial.binding,
            "warm_up": trial.warm_up,
            "status": trial.status,
            "error": trial.error,
            "digest": digest_json(trial.digest) if trial.digest else None,
            "input_fingerprint": standing.input_fingerprint,
            "topology_hash": trial.topology_hash,
        }
    )
    rows["lineage"] += edges(standing.query_id, STAGE, trial.id, [a["observation_id"] for a in standing.artifacts])
    if trial.counters:
        rows["runtime_counters"].append(
            {
                "query_id": standing.query_id,
                "execution_id": trial.id,
                "purpose": "trial",
                "policy_id": trial.policy_id,
                "binding": trial.binding,
                **asdict(trial.counters),
            }
        )


def _add_verdict(run: Run, standing: Standing, one: Judged, rows: dict[str, list[dict[str, Any]]]) -> None:
    verdict_id = run.event_id("ver", standing.query_id, one.candidate.id)
    verdict, gain = one.verdict, one.verdict.gain
    rows["verdicts"].append(
        {
            "query_id": standing.query_id,
            "verdict_id": verdict_id,
            "candidate_id": one.candidate.id,
            "policy_id": one.candidate.policy.id,
            "policy": one.candidate.policy.to_json(),
            "outcome": verdict.outcome,
            "reason": verdict.reason,
            "results_equal": verdict.results_equal,
            "criteria": json.dumps([asdict(c) for c in verdict.criteria]),
            "gain_metric": gain.metric if gain else None,
            "gain_ratio": gain.ratio if gain else None,
            "gain_low": gain.low if gain else None,
            "gain_high": gain.high if gain else None,
            "gain_confidence": gain.confidence if gain else None,
            "pairs": verdict.pairs,
            "seed": run.workload.seed,
            "judge_version": JUDGE_VERSION,
            "trial_ids": list(one.trial_ids),
            "input_fingerprint": standing.input_fingerprint,
            "executions": one.executions,
            "canonical_fingerprint": standing.canonical_fingerprint,
            "context_hash": standing.context_hash,
            "input_bytes": standing.input_bytes,
        }
    )
    rows["lineage"] += edges(standing.query_id, STAGE, verdict_id, [one.candidate.id, *one.trial_ids])


def _result(query_id: str, judged: list[Judged], trials: int) -> StageResult:
    from planopt_assets.loop.markdown import verdict_markdown

    best = min(judged, key=lambda j: ("accept", "inconclusive", "reject").index(j.verdict.outcome))
    numbers: dict[str, int | float] = {"trials": trials, "accepted": sum(j.verdict.outcome == "accept" for j in judged)}
    if best.verdict.gain:
        numbers |= {"gain_ratio": best.verdict.gain.ratio, "gain_ratio_high": best.verdict.gain.high}
        if best.verdict.gain.confidence is not None:
            numbers["gain_confidence"] = best.verdict.gain.confidence
    summary = f"{best.verdict.outcome}: {best.verdict.reason}"
    markdown = "\n\n".join(verdict_markdown(j.candidate.policy, j.verdict) for j in judged)
    return StageResult(query_id, True, summary, numbers, markdown)
