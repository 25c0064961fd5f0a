"""What each rule answered about a generated query: one proposes where the night has trials, all others find nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass

from benchmarks.store_scale.executions import table_bytes
from benchmarks.store_scale.nights import Night, Row, edges
from benchmarks.store_scale.observed import Inputs, Known
from benchmarks.store_scale.queries import RETRY_AFTER_NIGHTS, RUNS_PER_DAY
from planopt_assets.decide.explore.explore import DROPPED
from planopt_assets.decide.rules import RULES
from planopt_assets.loop.versions import contract
from planopt_assets.model.candidate import Candidate
from planopt_assets.model.decision import EXPLORE, Arithmetic, Decision
from planopt_assets.model.policy import ORIGINAL, Policy

PROPOSES = "right_size_shuffle"
_SAVING = 158_400_000
_WORTH: Arithmetic = (
    ("cpu_ns_per_block", 200_000),
    ("saving_cpu_ns_per_run", _SAVING),
    ("bound_cpu_ns", 1_381_058_000),
    ("bound_wall_ns", 690_529_000),
    ("modelled_cpu_ns", 1_481_058_000),
    ("modelled_wall_ns", 790_529_000),
    ("runs_per_day", RUNS_PER_DAY),
    ("horizon_days", 30),
    ("floor_share", 0.02),
    ("saving_cpu_ns_over_horizon", 114_048_000_000),
    ("trial_cost_cpu_ns", 14_810_580_000),
)


@dataclass(frozen=True, slots=True)
class Judged:
    """The last verdict on a query's proposal."""

    verdict_id: str
    tried: Candidate
    night: int

    @property
    def candidate_id(self) -> str:
        return self.tried.id

    @property
    def input_fingerprint(self) -> str:
        return self.tried.input_fingerprint


def decisions(known: Known, inputs: Inputs, night: Night, last: Judged | None) -> tuple[Decision, ...]:
    """One per rule; a proposal that was judged on an earlier night is remembered, not tried again.

    Where no policy was accepted, nothing is left to explore.
    """
    answers = tuple(
        _proposing(known, inputs, night, last) if rule == PROPOSES else _nothing(known, inputs, night, rule)
        for rule, _ in RULES
    )
    return answers if known.query.fate == "accept" else (*answers, _explored(known, inputs, night, ORIGINAL))


def beyond(known: Known, inputs: Inputs, night: Night) -> tuple[Decision, ...]:
    """One per rule, about a query under its accepted policy: nothing is to be added, and nothing left to explore."""
    policy = known.query.policy
    answers = tuple(_nothing(known, inputs, night, rule, policy) for rule, _ in RULES)
    return (*answers, _explored(known, inputs, night, policy))


def _explored(known: Known, inputs: Inputs, night: Night, policy: Policy) -> Decision:
    words = "nothing left to explore: of 20 options 2 fit the plan, 2 were explored"
    arithmetic: Arithmetic = (("known_until", 0), ("options", 20), (DROPPED, ""))
    return _decision(known, inputs, night, EXPLORE, words, arithmetic, before=policy)


def _proposing(known: Known, inputs: Inputs, night: Night, last: Judged | None) -> Decision:
    query = known.query
    if query.fate == "no_change":
        words = "not worth a trial: would save 10 ms of about 1481 ms CPU, below 2%"
        return _decision(known, inputs, night, PROPOSES, words, _WORTH)
    if last is None or query.tried_on(night.number) == night.number:
        words = "the largest shuffle is 400,000 bytes: 2 partitions hold it, 200 only add 792 small blocks"
        return _decision(known, inputs, night, PROPOSES, words, _WORTH, proposes=True)
    how = {"accept": "accepted before on similar inputs", "reject": "rejected before"}
    words = (
        f"{how.get(query.fate, 'tried without a clear answer before')}: {query.policy.describe()} by {last.verdict_id}"
    )
    remembered: Arithmetic = (
        *_WORTH,
        ("history_outcome", query.fate),
        ("history_input_bytes", table_bytes(query, last.night)),
        ("input_bytes", table_bytes(query, night.number)),
        ("similar_within", 2.0),
        ("judged_days_ago", night.number - last.night - 1),
        ("retry_after_days", RETRY_AFTER_NIGHTS[query.fate] - 1),
    )
    return _decision(known, inputs, night, PROPOSES, words, remembered, relies_on=(last.verdict_id,))


def _nothing(known: Known, inputs: Inputs, night: Night, rule: str, policy: Policy = ORIGINAL) -> Decision:
    operators = len(known.trees["final"])
    words = f"none of {operators} operators is one for {rule}"
    arithmetic: Arithmetic = (
        ("operators", operators),
        ("beyond_their_limit", 0),
        ("threshold_bytes", 67_108_864),
        ("cpu_ns_per_task", 5_000_000),
    )
    return _decision(known, inputs, night, rule, words, arithmetic, before=policy)


def _decision(
    known: Known,
    inputs: Inputs,
    night: Night,
    rule: str,
    words: str,
    arithmetic: Arithmetic,
    *,
    proposes: bool = False,
    relies_on: tuple[str, ...] = (),
    before: Policy = ORIGINAL,
) -> Decision:
    return Decision(
        kind="proposal" if proposes else "no_change",
        query_id=known.query.id,
        rule=rule,
        policy_before=before,
        policy_after=known.query.policy if proposes else before,
        reason=words,
        expected_gain_cpu_ns=_SAVING if proposes else 0,
        arithmetic=(("finding", words), *arithmetic),
        evidence_ids=(night.observation_id(known.query.id), *relies_on),
        input_fingerprint=inputs.fingerprint,
        plan_fingerprint=known.plan_fingerprint,
        catalogue_version=contract(night.workload.master)["catalogue"],
    )


def decide_rows(decided: tuple[Decision, ...]) -> dict[str, list[Row]]:
    return {
        "lineage": [edge for d in decided for edge in edges(d.query_id, "decide", d.id, d.evidence_ids)],
        "policy_decisions": [_row(d) for d in decided],
    }


def _row(decision: Decision) -> Row:
    same = ("query_id", "kind", "rule", "reason", "expected_gain_cpu_ns", "input_fingerprint", "plan_fingerprint")
    return {
        **{name: getattr(decision, name) for name in same},
        "decision_id": decision.id,
        "policy_before": decision.policy_before.to_json(),
        "policy_after": decision.policy_after.to_json(),
        "policy_before_id": decision.policy_before.id,
        "policy_after_id": decision.policy_after.id,
        "arithmetic": json.dumps(dict(decision.arithmetic)),
        "evidence_ids": list(decision.evidence_ids),
        "catalogue_version": decision.catalogue_version,
    }
