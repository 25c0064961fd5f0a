"""What a stage did and where every query stands, in one line and as a table: the first things that a page shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.redaction import redact

if TYPE_CHECKING:
    from planopt_assets.loop.run import StageResult
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.workload import Objective

ROWS = 100
"""A table of 1,000 rows would be a page that nobody reads, and 0.2 MB in every event that holds it."""
_CELL = 240
_LESS = {"cpu": "less CPU", "latency": "less time", "bytes": "fewer bytes read"}
_COUNTED = {
    "accept": "proven better with equal results",
    "reject": "tried and not better",
    "inconclusive": "tried without a clear answer",
    "no_change": "fine as they are",
    "refused": "refused by the SQL gate",
    "cannot_tell": "failed",
    "broken": "with a damaged history",
    "not_run": "not finished",
}
"""Outcomes in the order in which a reader wants them."""


def run_summary(
    stage: str, results: Sequence[StageResult], standings: Mapping[str, Standing], objective: Objective
) -> str:
    """One row per query of the workload: those of the run first, those with news on top."""
    order = list(_COUNTED)
    did = {r.query_id: r for r in results}
    shown = sorted(standings.values(), key=lambda s: (s.query_id not in did, order.index(s.outcome)))
    lines = [
        "| query | what happened |",
        "|---|---|",
        *(_row(stage, did.get(s.query_id), s, objective) for s in shown[:ROWS]),
    ]
    if len(shown) > ROWS:
        lines += ["", f"{len(shown) - ROWS:,} more queries are not shown. `planopt status` lists all."]
    return redact("\n".join(lines))


def headline(standings: Sequence[Standing], in_run: int) -> str:
    """`3 queries, 1 in this run: 1 proven better with equal results, 2 fine as they are`."""
    counts = Counter(s.outcome for s in standings)
    parts = [f"{counts[outcome]:,} {words}" for outcome, words in _COUNTED.items() if counts[outcome]]
    noun = "query" if len(standings) == 1 else "queries"
    return f"{len(standings):,} {noun}, {in_run:,} in this run: {', '.join(parts)}"


def happened(stage: str, result: StageResult | None, standing: Standing, objective: Objective) -> str:
    """What the stage did for a query. Where it had nothing to do, and after the trials, where the query stands."""
    final = stage in ("validate", "promote")
    if result is None or final or not result.changed:
        return sentence(standing, objective)
    return result.summary


def sentence(standing: Standing, objective: Objective) -> str:
    """Where a query stands, for a reader who knows none of planopt's words."""
    outcome, reason, active = standing.outcome, standing.reason.rstrip("."), standing.active
    if outcome == "accept":
        said = f"The change was proven: {_LESS[objective]}, equal results."
        if active is not None and active.policy == standing.policy:
            return f"{said} It is in force."
        if standing.to_promote is not None and standing.mode == "auto":
            return f"{said} Stage `promote` puts it in force."
        if standing.to_promote is not None:
            return f"{said} To put it in force: `planopt promote {standing.query_id}`."
        return said
    return {
        "reject": f"A change was tried and not taken: {reason}.",
        "inconclusive": f"A change was tried without a clear answer: {reason}.",
        "no_change": f"Nothing to change: {reason}.",
        "refused": f"Not run, it is not allowed: {reason}.",
        "cannot_tell": f"It could not run: {reason}.",
        "broken": f"Nothing is done until it is repaired: {reason}.",
        "not_run": f"Not finished: {reason}.",
    }[outcome]


def _row(stage: str, result: StageResult | None, standing: Standing, objective: Objective) -> str:
    """Two columns: beside Dagster's own there is room for fifty letters, and a policy has no place to break a line."""
    said = f"{happened(stage, result, standing, objective).rstrip('.')}."
    gain = standing.gain.describe() if standing.gain else ""
    parts = [
        _cell(said),
        *([f"**Gain:** {_cell(gain)}."] if gain and gain not in said else []),
        f"**Policy:** {_cell(_policy(standing))}.",
    ]
    return f"| {_cell(standing.query_id)} | {' '.join(parts)} |"


def _policy(standing: Standing) -> str:
    """What is in force, and what was tried if that is something else."""
    in_force = standing.active.policy if standing.active else ORIGINAL
    tried = standing.deciding.policy if standing.deciding else in_force
    named = f"{in_force.describe()} in force"
    return named if tried == in_force else f"tried {tried.describe()}; {named}"


def _cell(text: str) -> str:
    """One line, without the sign that ends a cell; long texts are cut, because the query's own page has them whole."""
    flat = " ".join(text.split()).replace("|", "\\|")
    return flat if len(flat) <= _CELL else f"{flat[: _CELL - 1]}…"
