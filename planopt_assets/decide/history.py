"""Reuses earlier verdicts: only for the same query, on similar inputs, and for a limited time.

Worked: `shuffle.partitions=8` was rejected on Monday on a table of 10 GiB. On Tuesday it has a new version and 11 GiB.
That is similar, so the proposal is not tried again. A month later it is tried again if its tables have reached
12.5 GiB: a retry on the same inputs would only be another chance to be lucky. It is tried again at once when one of its
tables has more than doubled, or when a new version of the judge, the rules or Spark changes the context. A trial that
ended without a clear answer is repeated after 3 days, then after 6, 12 and so on.

A policy that watch reverted counts as rejected from that day on, and for good if that happened twice. A policy that
expired may be tried again at once, because its evidence no longer applies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from planopt_assets.model.conditions import within
from planopt_assets.model.decision import Arithmetic
from planopt_assets.model.past_verdict import PastVerdict
from planopt_assets.model.policy import Policy
from planopt_assets.model.verdict import Outcome, Verdict
from planopt_assets.model.workload import SIMILAR

MOVED = 1.25  # inputs that grew or shrank by this are new evidence on what was rejected
DAY_S = 86_400
RETRY_AFTER_DAYS: dict[Outcome, int] = {
    "reject": 30,  # and then only on inputs that have moved
    "inconclusive": 3,  # noise, a budget or too small a gain, which may change; twice as long after each further one
    "accept": 90,  # evidence ages
}


@dataclass(frozen=True, slots=True)
class PastVerdicts:
    """The current inputs, and all verdicts on this query that existed when they were observed."""

    canonical_fingerprint: str | None = None
    context_hash: str | None = None
    input_bytes: int | None = None
    verdicts: tuple[PastVerdict, ...] = ()
    sizes: Mapping[str, int | None] = field(default_factory=dict)  # bytes of each table read
    similar_within: float = SIMILAR


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


def recall_alone(change: Policy, history: PastVerdicts, now: int) -> Memory | None:
    """What is known about a change by itself, where it is now proposed beyond an accepted policy. None: nothing.

    What gained nothing over original is not tried again on top of each policy that does.
    """
    judged = next((v for v in comparable(history, now) if v.verdict.policy == change), None)
    if judged is None or judged.counts_as == "accept" or not _was_measured(judged.verdict):
        return None
    how = "rejected" if judged.verdict.outcome == "reject" else "tried without a clear answer"
    return _memory(f"{how} before by itself: {judged.verdict.reason} ({judged.verdict.id})", [judged], history, now)


def _was_measured(verdict: Verdict) -> bool:
    """Not only planned, or outrun before its turn."""
    return verdict.outcome == "reject" or verdict.judgement.pairs > 0


def comparable(history: PastVerdicts, now: int) -> list[PastVerdict]:
    """The newest verdict on each policy that still answers, for the same query and context, on similar inputs."""
    return [verdicts[-1] for verdicts in _by_policy(history).values() if _answers(verdicts, history, now)]


def _by_policy(history: PastVerdicts) -> dict[Policy, list[PastVerdict]]:
    """The verdicts that count here, oldest first; the policy with the newest verdict comes last."""
    told: dict[Policy, list[PastVerdict]] = {}
    for past in sorted((v for v in history.verdicts if _counts_here(v.verdict, history)), key=lambda v: v.place):
        of_policy = told.pop(past.verdict.policy, [])
        told[past.verdict.policy] = [*of_policy, past]
    return told


def _answers(of_policy: Sequence[PastVerdict], history: PastVerdicts, now: int) -> bool:
    """Whether the newest verdict still counts: for its days, and a rejection until the inputs have moved as well."""
    last = of_policy[-1]
    if last.counts_as is None:
        return False
    if last.taken_back is not None and last.taken_back.for_good:
        return True
    if now - last.counts_from < retry_after_days(of_policy) * DAY_S:
        return True
    return last.counts_as == "reject" and not moved(last.verdict.input_bytes, history.input_bytes)


def retry_after_days(of_policy: Sequence[PastVerdict]) -> int:
    """How long the newest verdict on a policy counts. After n without a clear answer: 3 days, doubled n - 1 times."""
    outcome = of_policy[-1].counts_as or of_policy[-1].verdict.outcome
    in_a_row = len(list(takewhile(lambda v: v.counts_as == outcome, reversed(of_policy))))
    return RETRY_AFTER_DAYS[outcome] * (2 ** (in_a_row - 1) if outcome == "inconclusive" else 1)


def moved(one: int | None, other: int | None) -> bool:
    """Whether two sizes differ so much that a trial may end otherwise.

    >>> moved(10, 12), moved(10, 13), moved(10, 8), moved(10, 7)
    (False, True, True, True)
    """
    if one is None or other is None:
        return True
    return max(one, other) >= MOVED * min(one, other)


def similar(then: Mapping[str, int | None], now: Mapping[str, int | None], factor: float = SIMILAR) -> bool:
    """Whether every table is of a similar size; an unknown size is similar to none.

    Table by table, not in sum: beside a large table a small one may grow a hundredfold.

    >>> similar({"sales": 10}, {"sales": 20}), similar({"sales": 10}, {"sales": 21}), similar({"sales": 10}, {})
    (True, False, False)
    >>> similar({"sales": 9_000, "days": 10}, {"sales": 9_000, "days": 1_000})
    False
    """
    pairs = [(then.get(name), now.get(name)) for name in then.keys() | now.keys()]
    return bool(pairs) and all(a is not None and b is not None and within(a, b, factor) for a, b in pairs)


def _counts_here(verdict: Verdict, history: PastVerdicts) -> bool:
    """The same query and context, on similar inputs."""
    same = (
        history.canonical_fingerprint is not None
        and history.context_hash is not None
        and verdict.canonical_fingerprint == history.canonical_fingerprint
        and verdict.context_hash == history.context_hash
    )
    then = verdict.conditions.proven.sizes if verdict.conditions else {}
    return same and similar(then, history.sizes, history.similar_within)


def _memory(reason: str, verdicts: Iterable[PastVerdict], history: PastVerdicts, now: int) -> Memory:
    told = tuple(verdicts)
    last = told[-1]
    outcome = last.counts_as or last.verdict.outcome
    arithmetic: Arithmetic = (
        ("history_outcome", outcome),
        ("history_input_bytes", last.verdict.input_bytes or 0),
        ("input_bytes", history.input_bytes or 0),
        ("similar_within", history.similar_within),
        ("judged_days_ago", (now - last.counts_from) // DAY_S),
        ("retry_after_days", retry_after_days(_by_policy(history)[last.verdict.policy])),
    )
    if outcome == "reject":
        arithmetic = (*arithmetic, ("retry_if_inputs_moved_by", MOVED))
    # A policy that was taken back is named by its promotion: naming the accepted verdict would mean relying on it.
    return Memory(reason, tuple(v.taken_back.promotion_id if v.taken_back else v.verdict.id for v in told), arithmetic)
