"""What a person does to a query's policy: pin, unpin, roll back. Refusals need no Spark, writing does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.errors import NothingToChange
from planopt_assets.loop.histories import artifacts_of
from planopt_assets.loop.plan_dependent import plan_dependent
from planopt_assets.loop.run import Run, StageResult, words_of
from planopt_assets.loop.watching import last_captured
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.redaction import redact
from planopt_assets.promote.pins import known_policy, refuse_unsafe
from planopt_assets.promote.transitions import Event, Fix, Revert, Target, Unfix, next_generation
from planopt_assets.store.codecs.deciding import CANDIDATES, EDGES, VERDICTS
from planopt_assets.store.lineage import promotion_edges
from planopt_assets.store.promotions import chains

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing


def pin(
    run: Run, query_id: str, *, settings: dict[str, str], policy_id: str | None, reason: str, who: str
) -> StageResult:
    """Fix these settings, or a policy the query already had; automation leaves it alone until it is unpinned.

    A person may pin what no trial can prove, and is told so.
    """
    verdicts = run.snapshot.read(VERDICTS, query_id=query_id)
    if policy_id is not None:
        promoted = [p.policy for p in chains(run.snapshot, [query_id]).of(query_id)]
        planned = [c.policy for c in run.snapshot.read(CANDIDATES, query_id=query_id)]
        policy = known_policy(query_id, policy_id, [*promoted, *(v.policy for v in verdicts), *planned])
    else:
        policy = Policy.of(settings)
    refuse_unsafe(query_id, policy, run.workload.knobs, verdicts)
    result = _apply(run, query_id, lambda s: Fix(policy, redact(reason), who, s.input_fingerprint or ""))
    return result if policy == ORIGINAL else _with_warning(run, result)


def _with_warning(run: Run, result: StageResult) -> StageResult:
    newest = last_captured(artifacts_of(run.snapshot, {result.query_id}))
    why = plan_dependent(run.snapshot, {result.query_id: newest}).get(result.query_id)
    if why is None:
        return result
    said = f"{why}: no trial can prove that this policy changes nothing"
    return replace(result, summary=f"{result.summary}. Careful: {said}", words={**result.words, "warning": said})


def unpin(run: Run, query_id: str, *, reason: str, who: str) -> StageResult:
    """Give the query back to automation, with what was accepted before the pin, or original."""
    return _apply(run, query_id, lambda _: Unfix(redact(reason), who))


def rollback(run: Run, query_id: str, *, to: Target, reason: str, who: str) -> StageResult:
    """Back to the last good policy or to original; automation does not promote by the same verdict again."""

    def event(standing: Standing) -> Event:
        policy = standing.active.policy if standing.active else None
        known = [v.id for v in run.snapshot.read(VERDICTS, query_id=query_id) if v.policy == policy]
        return Revert(to, redact(reason), who, tuple(known))

    return _apply(run, query_id, event)


def _apply(run: Run, query_id: str, event: Callable[[Standing], Event]) -> StageResult:
    standing = run.standings()[query_id]
    if standing.broken is not None:
        raise standing.broken
    try:
        promotion = next_generation(run.workload.name, query_id, standing.chain, event(standing))
    except NothingToChange as nothing:
        return StageResult(query_id, False, nothing.what, words=words_of(standing.chain))
    run.commit(promotion)
    run.append("promote", {EDGES: promotion_edges(promotion)})
    numbers = {"generation": promotion.generation}
    return StageResult(query_id, True, promotion.describe(), numbers, words=words_of((promotion,)))
