"""Promote: put the best accepted policy in force, after reading its verdict again from the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import PromotionRefused
from planopt_assets.promote.next_generation import next_generation
from planopt_assets.run import Run, StageResult
from planopt_assets.store.lineage import edges
from planopt_assets.store.promotions import commit

if TYPE_CHECKING:
    from planopt_assets.model.promotion import Promotion
    from planopt_assets.store.standing import Standing

STAGE = "promote"


def promote(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """In `auto`, or by hand, promote what was accepted; in `advise` say how to.

    Asked by hand for a query without an accepted verdict on its current inputs, it refuses, and promotes nothing.
    """
    standings = run.standings()
    if run.by_hand:
        for query_id in query_ids:
            _refuse_without_verdict(standings[query_id])
    lineage = _missing_edges(run, standings)
    results = []
    for query_id in query_ids:
        standing = standings[query_id]
        verdict = standing.to_promote
        if verdict is None:
            in_force = standing.active.policy.describe() if standing.active else "original"
            results.append(StageResult(query_id, False, f"stays as it is: {in_force}", _numbers(standing)))
        elif run.workload.mode != "auto" and not run.by_hand:
            words = f"accepted, waiting for a person: planopt promote {query_id}"
            results.append(StageResult(query_id, False, words, _numbers(standing), f"`planopt promote {query_id}`"))
        else:
            promotion = next_generation(run.workload.name, standing.active, verdict)
            commit(run.workspace.spark, run.reader, promotion, run.run_id)
            lineage += _edges(promotion)
            summary = f"generation {promotion.generation}: {promotion.policy.describe()}"
            results.append(
                StageResult(
                    query_id,
                    True,
                    summary,
                    {"generation": promotion.generation},
                    f"**{summary}**\n\n{verdict['reason']}",
                )
            )
        run.progress(STAGE, query_id, results[-1].summary)
    run.append(STAGE, {"lineage": lineage})
    return results


def _edges(promotion: Promotion) -> list[dict[str, Any]]:
    return edges(promotion.query_id, STAGE, promotion.id, [promotion.verdict_id, promotion.candidate_id])


def _missing_edges(run: Run, standings: dict[str, Standing]) -> list[dict[str, Any]]:
    """Edges of promotions whose run was killed between the commit and its lineage."""
    known = set(run.reader.table("lineage", ["child_id"], stage=STAGE)["child_id"].to_pylist())
    in_force = [s.active for s in standings.values() if s.active is not None]
    return [edge for p in in_force if p.id not in known for edge in _edges(p)]


def _refuse_without_verdict(standing: Standing) -> None:
    if standing.best is None:
        raise PromotionRefused(
            f"no accepted verdict on its current inputs; its outcome is {standing.outcome}: {standing.reason}",
            where=f"query {standing.query_id}",
            fix=f"run `planopt run {standing.query_id}` and look at `planopt why {standing.query_id}`",
        )


def _numbers(standing: Standing) -> dict[str, int | float]:
    return {"generation": standing.active.generation if standing.active else 0}
