"""The tables that decide, replan, validate and promote write, and the edges between all rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, get_args

from planopt_assets.model.candidate import Candidate
from planopt_assets.model.decision import SAVINGS, Arithmetic, Decision, DecisionKind
from planopt_assets.model.promotion import Promotion, State
from planopt_assets.model.records import Edge
from planopt_assets.model.trial import Trial, TrialRow, TrialSignals
from planopt_assets.model.verdict import Criterion, Gain, Judgement, Outcome, Verdict
from planopt_assets.store.codecs.codec import ELSEWHERE, Codec, Form, Joined, named
from planopt_assets.store.codecs.damage import decoded, plain
from planopt_assets.store.codecs.forms import CONDITIONS, DIGEST, POLICY, SIGNALS, TEXTS, Lazy
from planopt_assets.store.lineage import kind_of

_OF_THE_ROW = ("query_id", "run_id")  # what a field that is decoded later must say if it is damaged


def _arithmetic(text: str | None, query_id: str, run_id: str | None) -> Arithmetic:
    """In the order it was computed; most decisions are read for what they say, not for how it was computed."""
    return Lazy(lambda: decoded(lambda: _facts(text), "policy_decisions", "arithmetic", query_id, run_id))


def _facts(text: str | None) -> tuple[tuple[str, Any], ...]:
    content = plain(json.loads(text or "{}"), dict, "the arithmetic")
    for name in SAVINGS:
        plain(content.get(name, 0), (int, float), name)
    return tuple(content.items())


DECISIONS = Codec(
    "policy_decisions",
    Decision,
    derived={
        "decision_id": lambda d: d.id,
        "policy_before_id": lambda d: d.policy_before.id,
        "policy_after_id": lambda d: d.policy_after.id,
    },
    required=("query_id", "kind", "rule", "policy_before", "policy_after", "reason", "expected_gain_cpu_ns"),
    choices={"kind": frozenset(get_args(DecisionKind))},
    policy_before=POLICY,
    policy_after=POLICY,
    arithmetic=Form(lambda value: (json.dumps(dict(value)),), _arithmetic, also=_OF_THE_ROW),
    evidence_ids=TEXTS,
)

CANDIDATES = Codec(
    "candidate_plans",
    Candidate,
    derived={"candidate_id": lambda c: c.id, "policy_id": lambda c: c.policy.id},
    required=("query_id", "policy", "kept", "reason", "diff"),
    policy=POLICY,
    decision_ids=TEXTS,
    took_effect=TEXTS,
)


# Validate


TRIALS = Codec(
    "trials",
    Trial,
    id=named("trial_id"),
    digest=DIGEST,
    counters=ELSEWHERE,  # they are an execution's, in `runtime_counters`
    signals=ELSEWHERE,  # in the same row, and read apart
)
TRIAL_SIGNALS = Codec("trials", TrialSignals, signals=SIGNALS)
TRIAL_ROWS = Joined("trials", TrialRow, trial=TRIALS, shown=TRIAL_SIGNALS)


def _judgement(
    outcome: Outcome,
    reason: str,
    results_equal: bool | None,
    criteria: str | None,
    metric: str | None,
    ratio: float | None,
    low: float | None,
    high: float | None,
    confidence: float | None,
    pairs: int,
    query_id: str,
    run_id: str | None,
) -> Judgement:
    gain = None
    if metric is not None and ratio is not None and low is not None and high is not None:
        gain = Gain(metric, ratio, low, high, confidence)
    looked_at = Lazy(lambda: decoded(lambda: _criteria(criteria), "verdicts", "criteria", query_id, run_id))
    return Judgement(outcome, reason, results_equal, looked_at, gain, pairs)


def _criteria(text: str | None) -> tuple[Criterion, ...]:
    return tuple(_criterion(content) for content in plain(json.loads(text or "[]"), list, "the list of criteria"))


def _criterion(content: Any) -> Criterion:
    """Checked value by value: a promotion rests on it."""
    found = Criterion(**content)
    plain(found.name, str, "a name")
    if found.passed is not None:
        plain(found.passed, bool, f"{found.name}: passed")
    for value in (found.baseline, found.candidate):
        if value is not None:
            plain(value, (int, float), f"{found.name}: a value")
    plain(found.threshold, str, f"{found.name}: its threshold")
    plain(found.note, str, f"{found.name}: its note")
    return found


def _columns_of(judgement: Judgement) -> Sequence[Any]:
    gain = judgement.gain
    return (
        judgement.outcome,
        judgement.reason,
        judgement.results_equal,
        json.dumps([asdict(c) for c in judgement.criteria]),
        *((gain.metric, gain.ratio, gain.low, gain.high, gain.confidence) if gain else (None,) * 5),
        judgement.pairs,
    )


VERDICTS = Codec(
    "verdicts",
    Verdict,
    derived={"policy_id": lambda v: v.policy.id},
    required=(
        *("query_id", "verdict_id", "candidate_id", "policy", "outcome", "reason", "pairs", "input_fingerprint"),
    ),
    choices={"outcome": frozenset(get_args(Outcome))},
    id=named("verdict_id"),
    policy=POLICY,
    judgement=Form(
        _columns_of,
        _judgement,
        (
            *("outcome", "reason", "results_equal", "criteria"),
            *("gain_metric", "gain_ratio", "gain_low", "gain_high", "gain_confidence", "pairs"),
        ),
        also=_OF_THE_ROW,
    ),
    trial_ids=TEXTS,
    conditions=CONDITIONS,
)

PROMOTIONS = Codec(
    "active_policies",
    Promotion,
    derived={
        "promotion_id": lambda p: p.id,
        "policy_id": lambda p: p.policy.id,
        "chain_hash": lambda p: p.chain_hash,
    },
    required=(
        *("query_id", "generation", "policy", "state", "reason"),
        *("verdict_id", "candidate_id", "input_fingerprint", "previous_hash"),
    ),
    choices={"state": frozenset(get_args(State))},
    policy=POLICY,
    evidence_ids=TEXTS,
    conditions=CONDITIONS,
)

EDGES = Codec(
    "lineage",
    Edge,
    derived={"child_kind": lambda e: kind_of(e.child_id), "parent_kind": lambda e: kind_of(e.parent_id)},
)
