"""The trial of a workload policy: every query as original and under the policy, judged on the whole workload.

The sum at the declared rates must be better, and no query may lose more than its `max_loss`. It is the judge of
layouts, which are one choice for all queries too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import NothingForAll
from planopt_assets.loop.maintaining.layout_experiment import LayoutExperiment, Subject
from planopt_assets.loop.workload_policies import context_of, workload_policy
from planopt_assets.model.ids import content_id
from planopt_assets.model.trial import TrialRow
from planopt_assets.model.verdict import Verdict
from planopt_assets.model.workload_policy import WHOLE_WORKLOAD, WorkloadPolicy
from planopt_assets.store.codecs.deciding import EDGES, TRIAL_ROWS, VERDICTS
from planopt_assets.store.codecs.observing import DETAILS, EXECUTIONS
from planopt_assets.store.lineage import edges
from planopt_assets.validate.judge import JUDGE_VERSION

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.policy import Policy
    from planopt_assets.store.codecs.codec import AnyCodec

STAGE = "workload_policy"


def try_workload_policy(run: Run) -> WorkloadPolicy:
    """Measure every query as original and under the policy, and store the verdict on the whole."""
    standings = run.standings()
    found = workload_policy(run.workload, run.snapshot, standings)
    if found is None:
        raise NothingForAll(
            "no setting helped more than half of the queries, and three of them at least",
            where=f"workload {run.workload.name}",
            fix="run the loop first: `planopt run`; `planopt status` shows what each query gained from",
        )
    if found.verdict is not None:
        return found
    if words := run.no_trials:
        raise NothingForAll(words, where=f"workload {run.workload.name}", fix="ask again later")
    asked = [s for s in standings.values() if s.captured and not s.ended_session]
    subjects = [one for s in asked if not (one := _subject(run, s, found.policy)).plan_dependent]
    prefix = run.event_id("tri", "workload", found.policy.id[4:12])
    experiment = LayoutExperiment(
        run.workspace,
        subjects,
        trial_prefix=prefix,
        run_deadline=run.deadline,
        rules=run.rules,
        words=("as original", "under the workload policy"),
    )
    judgement = experiment.run()
    left_out = sorted({q.id for q in run.workload.queries} - {s.query.id for s in subjects})
    if left_out:
        judgement = replace(judgement, reason=f"{judgement.reason}; not tried: {', '.join(left_out)}")
    context, size = context_of(run.workload, standings)
    trials = experiment.trials()
    verdict = Verdict(
        run.event_id("ver", "workload", found.policy.id[4:]),
        WHOLE_WORKLOAD,
        content_id("can", {"policy": found.policy.content, "context": context}),
        found.policy,
        judgement,
        tuple(trial.id for _, _, trial in trials),
        content_id("inp", sorted(s.input_fingerprint or "" for s in asked)),
        context_hash=context,
        input_bytes=size,
        seed=run.workload.seed,
        judge_version=JUDGE_VERSION,
        executions=len(trials),
        purpose="try",
    )
    _keep(run, experiment, verdict, standings)
    return replace(found, verdict=verdict)


def _subject(run: Run, standing: Standing, policy: Policy) -> Subject:
    observed = [a.observation_id for a in sorted(standing.artifacts, key=lambda a: a.binding)]
    details = {d.observation_id: d for d in run.snapshot.read(DETAILS, observation_id=observed)}
    walls = {e.id: e.counters.wall_ns / 1e9 for e in run.snapshot.read(EXECUTIONS, execution_id=observed)}
    return Subject(
        run.workload.query(standing.query_id),
        run.workspace.baseline,
        run.workspace.arm(policy),
        None,
        tuple(digest for o in observed if (digest := details[o].digest) is not None),
        tuple(walls[o] for o in observed),
        any(s.plan_dependent for o in observed if (s := details[o].signals) is not None),
    )


def _keep(run: Run, experiment: LayoutExperiment, verdict: Verdict, standings: Mapping[str, Standing]) -> None:
    ran = [
        replace(
            trial,
            query_id=query_id,
            seed=run.workload.seed,
            input_fingerprint=standings[query_id].input_fingerprint,
        )
        for query_id, _, trial in experiment.trials()
    ]
    lineage = edges(WHOLE_WORKLOAD, STAGE, verdict.id, _parents(verdict, standings))
    for trial in ran:
        seen = [a.observation_id for a in standings[str(trial.query_id)].artifacts]
        lineage += edges(str(trial.query_id), STAGE, trial.id, seen)
    rows: dict[AnyCodec, list[Any]] = {
        EXECUTIONS: [replace(e, cores=run.workspace.cores) for t in ran if (e := t.execution) is not None],
        TRIAL_ROWS: [TrialRow.of(t) for t in ran],
        EDGES: lineage,
        VERDICTS: [verdict],
    }
    run.append(STAGE, rows)


def _parents(verdict: Verdict, standings: Mapping[str, Standing]) -> Iterable[str]:
    """Its trials, and the verdicts of the queries that it was proposed from."""
    return [*verdict.trial_ids, *(s.deciding.id for s in standings.values() if s.deciding and s.deciding.accepted)]
