"""Promote: take back what expired or got worse, then put the best accepted policy in force, by its stored verdict."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.errors import PromotionRefused
from planopt_assets.loop.run import Run, StageResult, words_of
from planopt_assets.model.promotion import Promotion, in_force
from planopt_assets.promote.transitions import Accept, Event, next_generation
from planopt_assets.store.codecs.deciding import EDGES, VERDICTS
from planopt_assets.store.lineage import promotion_edges
from planopt_assets.store.tried import linked_promotions

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.records import Edge
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.model.workload import Knobs

STAGE = "promote"


def promote(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """In `auto`, or by hand, promote what was accepted; in `advise` say how to. Before that, watch.

    Asked by hand for a query without an accepted verdict on its current inputs, it refuses, and promotes nothing.
    """
    steps = run.steps(STAGE, query_ids)
    if run.by_hand:
        for standing, _ in steps:
            _refuse_by_hand(run, standing)
    unlinked = [standing for standing, step in steps if step.needed and standing.unlinked]
    lineage = missing_edges(linked_promotions(run.snapshot), unlinked) if unlinked else []
    results = []
    for standing, step in steps:
        done = _Promoted(run, standing)
        if step.needed:
            done.take_back()
        if step.needed or run.by_hand:
            done.put_in_force()
        lineage += [edge for promotion in done.made for edge in promotion_edges(promotion)]
        results.append(done.result())
        run.progress(STAGE, standing.query_id, results[-1].summary)
    run.append(STAGE, {EDGES: lineage})
    return results


class _Promoted:
    """One query on its way through the stage: what is in force, and the generations made so far."""

    def __init__(self, run: Run, standing: Standing) -> None:
        self._run, self._standing = run, standing
        self.made: list[Promotion] = []

    def take_back(self) -> None:
        """Write what watch found due."""
        if self._standing.due is not None:
            self._add(self._standing.due)
            self._standing = replace(self._standing, due=None)

    def put_in_force(self) -> None:
        """Promote what was accepted: by its verdict as the store has it now."""
        run, verdict = self._run, self._chosen
        if verdict is None or not (run.workload.mode == "auto" or run.by_hand):
            verdict = self._standing.to_renew  # the policy stays the same: that needs no person
        if verdict is not None:
            stored = _stored(run, self._standing.query_id)
            self._add(accept_event(self._standing, verdict, stored, run.workload.knobs, by_hand=run.by_hand))

    def result(self) -> StageResult:
        if self._standing.broken is not None:
            return StageResult(self._standing.query_id, False, self._standing.reason)
        return _result(self._standing, self.made, waiting=self._chosen is not None)

    @property
    def _chosen(self) -> Verdict | None:
        return chosen(self._standing, by_hand=self._run.by_hand)

    def _add(self, event: Event) -> None:
        standing = self._standing
        promotion = next_generation(self._run.workload.name, standing.query_id, standing.chain, event)
        self._run.commit(promotion)
        self.made.append(promotion)
        self._standing = replace(standing, chain=(*standing.chain, promotion))


def chosen(standing: Standing, *, by_hand: bool) -> Verdict | None:
    """The verdict to promote by; a person who asks gets a refusal for the best one, not silence."""
    verdict = standing.promotable(by_hand=by_hand)
    if verdict is None and by_hand and standing.best is not None:
        fixed = standing.active is not None and standing.active.fixed
        return standing.best if fixed or in_force(standing.chain) != standing.best.policy else None
    return verdict


def accept_event(
    standing: Standing, verdict: Verdict, stored: Sequence[Verdict], limits: Knobs, *, by_hand: bool
) -> Accept:
    """The promotion that a verdict asks for, to be checked against what the store holds now."""
    return Accept(
        verdict_id=verdict.id,
        candidate_id=verdict.candidate_id,
        inputs=standing.input_fingerprint,
        stored=tuple(stored),
        carried=frozenset(v.id for v in standing.carried),
        by_hand=by_hand,
        limits=limits,
        similar_within=standing.similar_within,
    )


def missing_edges(linked: Collection[str], standings: Sequence[Standing]) -> list[Edge]:
    """Edges of promotions whose run was killed between the commit and its lineage."""
    chained = [promotion for standing in standings for promotion in standing.chain]
    return [edge for promotion in chained if promotion.id not in linked for edge in promotion_edges(promotion)]


def _stored(run: Run, query_id: str) -> list[Verdict]:
    """Read just now: what the standing was made from may be older."""
    return run.store.newest().read(VERDICTS, query_id=query_id)


def _refuse_by_hand(run: Run, standing: Standing) -> None:
    """All refusals of a promotion by hand, before anything is written."""
    if standing.broken is not None:
        raise standing.broken
    if standing.best is None:
        raise PromotionRefused(
            f"no accepted verdict on its current inputs; its outcome is {standing.outcome}: {standing.reason}",
            where=f"query {standing.query_id}",
            fix=f"run `planopt run {standing.query_id}` and look at `planopt why {standing.query_id}`",
        )
    verdict = chosen(standing, by_hand=True)
    if verdict is not None:
        event = accept_event(standing, verdict, _stored(run, standing.query_id), run.workload.knobs, by_hand=True)
        next_generation(run.workload.name, standing.query_id, standing.chain, event)


def _result(standing: Standing, made: Sequence[Promotion], *, waiting: bool) -> StageResult:
    query_id = standing.query_id
    numbers = {"generation": len(standing.chain)}
    said = [promotion.describe() for promotion in made]
    if waiting:
        said.append(f"accepted, waiting for a person: planopt promote {query_id}")
    if not made and standing.suspended:
        said.append(f"suspended: {in_force(standing.chain).describe()}, because {standing.suspended}")
    summary = "; ".join(said) or f"stays as it is: {in_force(standing.chain).describe()}"
    details = [f"**{p.describe()}**\n\n{p.reason}" for p in made]
    details += [f"`planopt promote {query_id}`"] if waiting else []
    words = words_of(standing.chain, "" if made else standing.suspended)
    return StageResult(query_id, bool(made), summary, numbers, "\n\n".join(details), words)
