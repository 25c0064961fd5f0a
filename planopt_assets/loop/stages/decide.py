"""Decide: ask the rules about every query that was observed and not decided on yet.

Where an accepted policy is carried over from similar inputs, they are asked a second time, about that policy. Where
they have nothing left, an option is explored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planopt_assets.loop.cost_models import new_models
from planopt_assets.loop.exploring import next_decisions
from planopt_assets.loop.run import Run, StageResult, nothing_to_do, remark_on
from planopt_assets.model.decision import Decision
from planopt_assets.model.records import Edge
from planopt_assets.store.codecs.deciding import DECISIONS, EDGES
from planopt_assets.store.codecs.observing import SHARED
from planopt_assets.store.lineage import edges

STAGE = "decide"


def decide_queries(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """One stored decision per rule, query and policy to start from, also for `no_change` and `cannot_tell`."""
    results: dict[str, StageResult] = {}
    asked: Sequence[str] = query_ids
    for once in (STAGE, f"{STAGE}:carried", f"{STAGE}:explore"):
        answers = _ask(run, asked, once) if asked else []
        for one in answers:
            results[one.query_id] = _joined(results.get(one.query_id), one)
        asked = [one.query_id for one in answers if one.changed]
    return list(results.values())


def _ask(run: Run, query_ids: Sequence[str], once: str) -> list[StageResult]:
    lineage: list[Edge] = []
    decided: list[Decision] = []
    results = []
    for standing, step in run.steps(STAGE, query_ids):
        if not step.needed:
            results.append(nothing_to_do(standing.query_id, step))
            continue
        decisions = next_decisions(run.workload, run.snapshot, standing)
        decided += decisions
        for decision in decisions:
            lineage += edges(standing.query_id, STAGE, decision.id, decision.evidence_ids)
        results.append(_result(standing.query_id, decisions))
        run.progress(STAGE, standing.query_id, results[-1].summary)
    run.append(once, {SHARED: new_models(run.snapshot, decided), EDGES: lineage, DECISIONS: decided})
    return results


def _joined(before: StageResult | None, now: StageResult) -> StageResult:
    """What was said about original, and then about an accepted policy."""
    if before is None or not now.changed:
        return before or now
    numbers = {name: before.numbers.get(name, 0) + value for name, value in now.numbers.items()}
    markdown = f"{before.markdown}\n\n{now.markdown}"
    words = {**before.words, **now.words}
    return replace(now, summary=f"{before.summary}; {now.summary}", numbers=numbers, markdown=markdown, words=words)


def _result(query_id: str, decisions: tuple[Decision, ...]) -> StageResult:
    wanted = [d for d in decisions if d.proposes]
    beyond = decisions[0].beyond
    nothing = f"beyond {beyond}: {decisions[0].reason}" if beyond else decisions[0].reason
    summary = "; ".join(f"try {d.policy_after.describe()}" for d in wanted) or nothing
    lines = [f"Beyond {beyond}, which is accepted:\n"] if beyond else []
    lines += ["| rule | decision | reason |", "|---|---|---|"]
    lines += [
        f"| {d.rule} | {d.kind} {d.policy_after.describe() if d.proposes else ''} | {d.reason} |" for d in decisions
    ]
    numbers = {"proposals": len(wanted), "expected_gain_cpu_s": sum(d.expected_gain_cpu_ns for d in wanted) / 1e9}
    words = remark_on(*(d.policy_after for d in wanted))
    return StageResult(query_id, True, summary, numbers, "\n".join(lines), words)
