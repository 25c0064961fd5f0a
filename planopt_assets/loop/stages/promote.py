"""Promote: take back what expired or got worse, then put the best accepted policy in force, by its stored verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import PromotionRefused
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.model.promotion import Chain, Promotion, in_force
from planopt_assets.promote.transitions import Accept, next_generation
from planopt_assets.store.promotions import commit, promotion_edges

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing

STAGE = "promote"


def promote(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """In `auto`, or by hand, promote what was accepted; in `advise` say how to. Before that, watch.

    Asked by hand for a query without an accepted verdict on its current inputs, it refuses, and promotes nothing.
    """
    standings = run.standings()
    if run.by_hand:
        for query_id in query_ids:
            _refuse_by_hand(run, standings[query_id])
    lineage = missing_edges(run.reader.rows("lineage", ["child_id"], stage=STAGE), standings)
    results = []
    for query_id in query_ids:
        standing, made = standings[query_id], []
        if run.workload.mode != "observe" and standing.due is not None:
            made.append(next_generation(run.workload.name, query_id, standing.chain, standing.due))
            commit(lambda: run.workspace.spark, run.reader, made[-1], run.run_id)
            standing = replace(standing, chain=(*standing.chain, made[-1]), active=made[-1], due=None)
        verdict = chosen(standing, by_hand=run.by_hand)
        if verdict is not None and (run.workload.mode == "auto" or run.by_hand):
            event = accept_event(standing, verdict, _stored(run, query_id), by_hand=run.by_hand)
            made.append(next_generation(run.workload.name, query_id, standing.chain, event))
            commit(lambda: run.workspace.spark, run.reader, made[-1], run.run_id)
            standing, verdict = replace(standing, chain=(*standing.chain, made[-1]), active=made[-1]), None
        lineage += [edge for promotion in made for edge in promotion_edges(promotion)]
        results.append(_result(standing, made, waiting=verdict is not None))
        run.progress(STAGE, query_id, results[-1].summary)
    run.append(STAGE, {"lineage": lineage})
    return results


def chosen(standing: Standing, *, by_hand: bool) -> dict[str, Any] | None:
    """The verdict to promote by; a person who asks gets a refusal for the best one, not silence."""
    verdict = standing.promotable(by_hand=by_hand)
    if verdict is None and by_hand and standing.best is not None:
        fixed = standing.active is not None and standing.active.fixed
        return standing.best if fixed or in_force(standing.chain).id != standing.best["policy_id"] else None
    return verdict


def accept_event(
    standing: Standing, verdict: dict[str, Any], stored: Sequence[dict[str, Any]], *, by_hand: bool
) -> Accept:
    """The promotion that a verdict asks for, to be checked against what the store holds now."""
    return Accept(
        verdict_id=verdict["verdict_id"],
        candidate_id=verdict["candidate_id"],
        inputs=standing.input_fingerprint,
        stored=tuple(stored),
        carried=frozenset(v["verdict_id"] for v in standing.carried),
        by_hand=by_hand,
    )


def missing_edges(known: Sequence[dict[str, Any]], standings: dict[str, Standing]) -> list[dict[str, Any]]:
    """Edges of promotions whose run was killed between the commit and its lineage."""
    recorded = {row["child_id"] for row in known}
    chained = [promotion for standing in standings.values() for promotion in standing.chain]
    return [edge for promotion in chained if promotion.id not in recorded for edge in promotion_edges(promotion)]


def words_of(chain: Chain) -> dict[str, str]:
    """State and reason of what is in force, for Dagster and `--json`."""
    if not chain:
        return {"state": "original", "reason": "nothing was ever promoted"}
    return {"state": chain[-1].state, "reason": chain[-1].reason}


def _stored(run: Run, query_id: str) -> list[dict[str, Any]]:
    """Read just now: what the standing was made from may be older."""
    return run.reader.rows("verdicts", query_id=query_id)


def _refuse_by_hand(run: Run, standing: Standing) -> None:
    """All refusals of a promotion by hand, before anything is written."""
    if standing.best is None:
        raise PromotionRefused(
            f"no accepted verdict on its current inputs; its outcome is {standing.outcome}: {standing.reason}",
            where=f"query {standing.query_id}",
            fix=f"run `planopt run {standing.query_id}` and look at `planopt why {standing.query_id}`",
        )
    verdict = chosen(standing, by_hand=True)
    if verdict is not None:
        event = accept_event(standing, verdict, _stored(run, standing.query_id), by_hand=True)
        next_generation(run.workload.name, standing.query_id, standing.chain, event)


def _result(standing: Standing, made: Sequence[Promotion], *, waiting: bool) -> StageResult:
    query_id = standing.query_id
    numbers = {"generation": len(standing.chain)}
    said = [promotion.describe() for promotion in made]
    if waiting:
        said.append(f"accepted, waiting for a person: planopt promote {query_id}")
    summary = "; ".join(said) or f"stays as it is: {in_force(standing.chain).describe()}"
    details = [f"**{p.describe()}**\n\n{p.reason}" for p in made]
    details += [f"`planopt promote {query_id}`"] if waiting else []
    return StageResult(query_id, bool(made), summary, numbers, "\n\n".join(details), words_of(standing.chain))
