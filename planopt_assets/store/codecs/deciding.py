"""The tables that decide, replan, validate and promote write, and the edges between all rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from planopt_assets.model.candidate import Candidate
from planopt_assets.model.decision import Arithmetic, Decision
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.records import Edge
from planopt_assets.model.trial import Trial
from planopt_assets.model.verdict import Criterion, Gain, Judgement, Outcome, Verdict
from planopt_assets.store.codecs.codec import ELSEWHERE, Codec, Form, named, single
from planopt_assets.store.codecs.forms import DIGEST, POLICY, TEXTS, Lazy
from planopt_assets.store.lineage import kind_of


def _arithmetic(text: str | None) -> Arithmetic:
    """In the order it was computed; most decisions are read for what they say, not for how it was computed."""
    return Lazy(lambda: tuple(json.loads(text or "{}").items()))


DECISIONS = Codec(
    "policy_decisions",
    Decision,
    derived={
        "decision_id": lambda d: d.id,
        "policy_before_id": lambda d: d.policy_before.id,
        "policy_after_id": lambda d: d.policy_after.id,
    },
    policy_before=POLICY,
    policy_after=POLICY,
    arithmetic=single(lambda value: json.dumps(dict(value)), _arithmetic),
    evidence_ids=TEXTS,
)

CANDIDATES = Codec(
    "candidate_plans",
    Candidate,
    derived={"candidate_id": lambda c: c.id, "policy_id": lambda c: c.policy.id},
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
)


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
) -> Judgement:
    gain = None
    if metric is not None and ratio is not None and low is not None and high is not None:
        gain = Gain(metric, ratio, low, high, confidence)
    return Judgement(outcome, reason, results_equal, Lazy(lambda: _criteria(criteria)), gain, pairs)


def _criteria(text: str | None) -> tuple[Criterion, ...]:
    return tuple(Criterion(**content) for content in json.loads(text or "[]"))


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
    id=named("verdict_id"),
    policy=POLICY,
    judgement=Form(
        _columns_of,
        _judgement,
        (
            *("outcome", "reason", "results_equal", "criteria"),
            *("gain_metric", "gain_ratio", "gain_low", "gain_high", "gain_confidence", "pairs"),
        ),
    ),
    trial_ids=TEXTS,
)

PROMOTIONS = Codec(
    "active_policies",
    Promotion,
    derived={
        "promotion_id": lambda p: p.id,
        "policy_id": lambda p: p.policy.id,
        "chain_hash": lambda p: p.chain_hash,
    },
    policy=POLICY,
    evidence_ids=TEXTS,
)

EDGES = Codec(
    "lineage",
    Edge,
    derived={"child_kind": lambda e: kind_of(e.child_id), "parent_kind": lambda e: kind_of(e.parent_id)},
)
