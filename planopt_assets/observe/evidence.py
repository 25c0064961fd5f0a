"""What decide may look at, from what the store holds of one observation: nothing else goes in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from planopt_assets.model.counters import Counters
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.execution import Execution
from planopt_assets.model.observation import PlanArtifact, PlanDetails
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.signals import Signals
from planopt_assets.model.workload import Objective


def evidence_of(
    artifacts: Sequence[PlanArtifact],
    details: Mapping[str, PlanDetails],
    executions: Mapping[str, Execution],
    runs_per_day: float,
    objective: Objective = "cpu",
) -> Evidence:
    """One observation of all bindings; `details` and `executions` are by observation id."""
    ordered = sorted(artifacts, key=lambda a: a.binding)
    first = ordered[0]
    return Evidence(
        query_id=first.query_id,
        query_fingerprint=first.query_fingerprint,
        input_fingerprint=first.input_fingerprint,
        plan_fingerprint=first.plan_fingerprint or "",
        policy=ORIGINAL,
        settings=details[first.observation_id].settings,
        executions=tuple(_observed(details[a.observation_id], executions[a.observation_id]) for a in ordered),
        runs_per_day=runs_per_day,
        objective=objective,
    )


@dataclass(frozen=True, slots=True)
class ShownTrial:
    """What a trial of an accepted policy tells about one binding."""

    trial_id: str
    counters: Counters
    signals: Signals


def under(evidence: Evidence, policy: Policy, plan_fingerprint: str, shown: Sequence[ShownTrial]) -> Evidence:
    """The evidence of the same query under an accepted policy, from its trials. `shown` has one for each binding.

    A setting of the policy is in force there. Which optimizer rules had an effect was not recorded. The plan has no
    fingerprint where the policy is carried over from other inputs.
    """
    changed = dict(policy.settings)
    return replace(
        evidence,
        policy=policy,
        plan_fingerprint=plan_fingerprint,
        settings=tuple((name, changed.get(name, value)) for name, value in evidence.settings),
        executions=tuple(
            ObservedExecution(
                observation_id=one.trial_id,
                counters=one.counters,
                **{f.name: getattr(one.signals, f.name) for f in fields(one.signals)},
            )
            for one in shown
        ),
    )


def _observed(details: PlanDetails, execution: Execution) -> ObservedExecution:
    signals = details.signals
    assert signals is not None, "only a captured query has evidence"
    return ObservedExecution(
        observation_id=details.observation_id,
        counters=execution.counters,
        effective_rules=details.effective_rules,
        **{f.name: getattr(signals, f.name) for f in fields(signals)},
    )
