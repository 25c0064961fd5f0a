"""One query under the old and the new layout, as the trial measured it, beside what was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING

from planopt_assets.model.layout_verdict import MeasuredRead
from planopt_assets.validate.intervals import ratio_interval

if TYPE_CHECKING:
    from planopt_assets.loop.maintaining.layout_experiment import Measured
    from planopt_assets.maintain.workload_judge import QueryPairs
    from planopt_assets.model.layout_proposal import ExpectedRead, LayoutProposal
    from planopt_assets.model.verdict import Outcome

SHOWN_CONFIDENCE = 0.90
NOT_COMPARED = "only some files were tried: files and bytes are not compared with the prediction"


def measured_read(
    proposal: LayoutProposal, together: Sequence[LayoutProposal], one: Measured, metric: str, *, whole: bool = True
) -> MeasuredRead:
    """What became of one query; `metric` is the counter of the objective.

    What it saved is measured. Where layouts of several tables were tried together, it is shared out between them as
    it was predicted. The prediction is about the whole table: where only some files were tried, nothing is compared
    with it. Worked: 1,000 files, predicted 10; of 200 that were tried 2 are left. 1,000 - 198 = 802 would be an error
    of 80 times, and there is none.
    """
    query, pairs = one.subject.query, one.pairs
    expected = next((e for e in proposal.expected if e.query_id == query.id), None)
    notes = ["its own result varies"] if one.varies else []
    if not pairs.pairs:
        return MeasuredRead(query.id, query.runs_per_day, "inconclusive", note="; ".join(notes))
    ratio = ratio_interval([p.totals(metric) for p in pairs.pairs], metric, SHOWN_CONFIDENCE)
    outcome: Outcome = "accept" if ratio.high < 1 else "reject" if ratio.low > 1 else "inconclusive"
    policy = _best_policy(one, metric)
    if policy != one.subject.after.policy.id:
        notes.append("on the new layout original is better than the policy in force")
    if expected and not whole:
        notes.append(NOT_COMPARED)
    share = {of: _share(proposal, together, query.id, of) for of in ("cpu", "files", "bytes")}
    files, read = (_change(pairs, f"scan_{of}", share[of]) if whole else None for of in ("files", "bytes"))
    return MeasuredRead(
        query.id,
        query.runs_per_day,
        outcome,
        policy_id=policy,
        ratio=ratio.ratio,
        low=ratio.low,
        high=ratio.high,
        saving_cpu_ns=round(_saved(pairs, "cpu_ns") * share["cpu"]),
        files_before=expected.files_before if expected else None,
        files_after=expected.files_before + files if expected and files is not None else None,
        bytes_before=expected.bytes_before if expected else None,
        bytes_after=expected.bytes_before + read if expected and read is not None else None,
        predicted_files_after=expected.files_after if expected else None,
        predicted_bytes_after=expected.bytes_after if expected else None,
        note="; ".join(notes),
    )


def _best_policy(one: Measured, metric: str) -> str:
    """Of the arms over the clone, the one that takes less. Original runs in one round, and is compared with that."""
    after, original = one.subject.after, one.subject.original
    if original is None:
        return after.policy.id
    ledger = one.runs.ledger
    rounds = zip(ledger.pairs(after.id), ledger.pairs(original.id), strict=False)
    sides = [(a.totals(metric)[1], o.totals(metric)[1]) for a, o in rounds]
    better = bool(sides) and fmean(o for _, o in sides) < fmean(a for a, _ in sides)
    return original.policy.id if better else after.policy.id


def _saved(pairs: QueryPairs, name: str) -> float:
    return fmean(b - c for b, c in (p.totals(name) for p in pairs.pairs))


def _share(proposal: LayoutProposal, together: Sequence[LayoutProposal], query_id: str, of: str) -> float:
    """How much of what a query saves this table stands for, by the prediction. CPU, files and bytes have their own.

    Worked: lineitem is predicted to save 3 s of CPU a run, orders 1 s: three quarters of what was measured are
    lineitem's. A table that is predicted to lose has no share.
    """
    saved = {p.id: sum(max(0, _predicted(e, of)) for e in p.expected if e.query_id == query_id) for p in together}
    whole = sum(saved.values())
    return saved[proposal.id] / whole if whole else 1 / len(together)


def _predicted(read: ExpectedRead, of: str) -> int:
    if of == "cpu":
        return read.saving_cpu_ns
    return read.files_before - read.files_after if of == "files" else read.bytes_before - read.bytes_after


def _change(pairs: QueryPairs, name: str, share: float) -> int | None:
    """By how much a counter is higher in a run on the clones; below zero: lower. Other tables are the same."""
    if any(getattr(c, name) is None for p in pairs.pairs for c in (*p.baseline, *p.candidate)):
        return None
    return round(share * median(c - b for b, c in (p.totals(name) for p in pairs.pairs)))
