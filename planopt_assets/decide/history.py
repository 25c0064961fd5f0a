"""Reuses earlier verdicts: only for the same query, on similar inputs, and for a limited time.

Worked: `shuffle.partitions=8` was rejected on Monday on 10 GiB of tables. On Tuesday the table has a new version and
11 GiB. That is similar, so the proposal is not tried again. It is tried again after a month, when the tables reach
21 GiB, or when a new version of the judge, the rules or Spark changes the context.

A policy that watch reverted counts as rejected from that day on. A policy that expired may be tried again at once,
because its evidence no longer applies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planopt_assets.model.decision import Arithmetic
from planopt_assets.model.past_verdict import PastVerdict
from planopt_assets.model.policy import Policy
from planopt_assets.model.verdict import Outcome, Verdict

SIMILAR = 2.0  # inputs of half to double the bytes are similar
DAY_S = 86_400
RETRY_AFTER_DAYS: dict[Outcome, int] = {
    "reject": 30,
    "inconclusive": 7,  # the cause was noise or a budget, which may change
    "accept": 90,  # evidence ages
}


@dataclass(frozen=True, slots=True)
class PastVerdicts:
    """The current inputs, and all verdicts on this query that existed when they were observed."""

    canonical_fingerprint: str | None = None
    context_hash: str | None = None
    input_bytes: int | None = None
    verdicts: tuple[PastVerdict, ...] = ()


NO_HISTORY = PastVerdicts()


@dataclass(frozen=True, slots=True)
class Memory:
    """Why a proposal needs no new trial, with the ids behind it: verdicts, or promotions that took a policy back."""

    reason: str
    evidence_ids: tuple[str, ...]
    arithmetic: Arithmetic


def recall(policy: Policy, history: PastVerdicts, now: int) -> Memory | None:
    """What is known about a policy on similar inputs. None: nothing recent, so it may be tried.

    First, an accepted policy that contains this one (itself, or a combination). Then the last verdict on exactly this
    policy.
    """
    known = comparable(history, now)
    accepted = [v for v in known if v.counts_as == "accept" and policy.within(v.verdict.policy)]
    if accepted:
        names = ", ".join(f"{v.verdict.policy.describe()} by {v.verdict.id}" for v in accepted)
        return _memory(f"accepted before on similar inputs: {names}", accepted, history, now)
    judged = next((v for v in known if v.verdict.policy == policy), None)
    if judged is None:
        return None
    if judged.taken_back is not None:
        by = judged.taken_back
        return _memory(f"accepted before, and taken back: {by.reason} ({by.promotion_id})", [judged], history, now)
    verdict = judged.verdict
    how = "rejected" if verdict.outcome == "reject" else "tried without a clear answer"
    return _memory(f"{how} before: {verdict.reason} ({verdict.id})", [judged], history, now)


def comparable(history: PastVerdicts, now: int) -> list[PastVerdict]:
    """The newest verdict on each policy, for the same query and context, on inputs of similar size."""
    newest: dict[Policy, PastVerdict] = {}
    for past in sorted(history.verdicts, key=lambda v: v.place):
        verdict = past.verdict
        if _same_query(verdict, history) and similar(verdict.input_bytes, history.input_bytes):
            newest.pop(verdict.policy, None)  # so that the order is that of the newest verdicts
            newest[verdict.policy] = past
    return [v for v in newest.values() if v.counts_as and now - v.counts_from < RETRY_AFTER_DAYS[v.counts_as] * DAY_S]


def similar(one: int | None, other: int | None) -> bool:
    """Whether two sizes are within a factor of two. An unknown size is similar to none.

    >>> similar(10, 20), similar(10, 21), similar(10, 5), similar(10, None)
    (True, False, True, False)
    """
    if one is None or other is None:
        return False
    return max(one, other) <= SIMILAR * min(one, other)


def _same_query(verdict: Verdict, history: PastVerdicts) -> bool:
    return (
        history.canonical_fingerprint is not None
        and history.context_hash is not None
        and verdict.canonical_fingerprint == history.canonical_fingerprint
        and verdict.context_hash == history.context_hash
    )


def _memory(reason: str, verdicts: Iterable[PastVerdict], history: PastVerdicts, now: int) -> Memory:
    told = tuple(verdicts)
    last = told[-1]
    outcome = last.counts_as or last.verdict.outcome
    arithmetic: Arithmetic = (
        ("history_outcome", outcome),
        ("history_input_bytes", last.verdict.input_bytes or 0),
        ("input_bytes", history.input_bytes or 0),
        ("similar_within", SIMILAR),
        ("judged_days_ago", (now - last.counts_from) // DAY_S),
        ("retry_after_days", RETRY_AFTER_DAYS[outcome]),
    )
    # A policy that was taken back is named by its promotion: naming the accepted verdict would mean relying on it.
    return Memory(reason, tuple(v.taken_back.promotion_id if v.taken_back else v.verdict.id for v in told), arithmetic)
