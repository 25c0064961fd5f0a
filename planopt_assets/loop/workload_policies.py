"""One policy for all queries, proposed from what most of them gained from. Never starts Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.decide.common_settings import common_settings
from planopt_assets.decide.knobs import objections
from planopt_assets.model.conditions import within
from planopt_assets.model.ids import content_id
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.promotion import in_force
from planopt_assets.model.workload_policy import WHOLE_WORKLOAD, WorkloadPolicy
from planopt_assets.store.codecs.deciding import TRIALS, VERDICTS

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.policy import Policy
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot


def workload_policy(workload: Workload, snapshot: Snapshot, standings: Mapping[str, Standing]) -> WorkloadPolicy | None:
    """What is proposed for all queries, with the newest verdict on it that still counts. None: nothing is common."""
    gained = {s.query_id: _gained(s) for s in standings.values() if s.captured and _was_tried(s)}
    policy = common_settings(gained)
    if policy == ORIGINAL or objections(policy, workload.knobs):
        return None
    supporters = tuple(query_id for query_id, own in gained.items() if policy.within(own))
    return WorkloadPolicy(policy, supporters, len(standings), _verdict_on(policy, workload, snapshot, standings))


def _gained(standing: Standing) -> Policy:
    held = in_force(standing.chain)
    if held != ORIGINAL and not standing.not_applied:
        return held
    return standing.best.policy if standing.best else ORIGINAL


def _was_tried(standing: Standing) -> bool:
    return bool(standing.verdicts or standing.carried or standing.chain)


def _verdict_on(
    policy: Policy, workload: Workload, snapshot: Snapshot, standings: Mapping[str, Standing]
) -> Verdict | None:
    """The newest one on the same queries in the same context, of similar size together."""
    context, size = context_of(workload, standings)
    known = [
        v
        for v in snapshot.read(VERDICTS, query_id=WHOLE_WORKLOAD)
        if v.policy == policy and v.context_hash == context and _similar(v.input_bytes, size, workload.similar_within)
    ]
    return known[-1] if known else None


def _similar(then: int | None, now: int | None, factor: float) -> bool:
    return then is not None and now is not None and within(then, now, factor)


def with_untried(found: WorkloadPolicy, workload: Workload, snapshot: Snapshot) -> WorkloadPolicy:
    """The same with the queries that its trial left out: their result depends on the plan, or nobody observed them."""
    ids = set(found.verdict.trial_ids) if found.verdict else set()
    tried = {t.query_id for t in snapshot.read(TRIALS, trial_id=ids)}
    return replace(found, untried=tuple(q.id for q in workload.queries if q.id not in tried))


def context_of(workload: Workload, standings: Mapping[str, Standing]) -> tuple[str, int | None]:
    """What a verdict on the whole depends on: the meaning and the context of every query, and the rates."""
    rates = {q.id: float(q.runs_per_day) for q in workload.queries}
    content = [[s.query_id, s.canonical_fingerprint, s.context_hash, rates[s.query_id]] for s in standings.values()]
    sizes = [s.input_bytes for s in standings.values() if s.captured]
    known = [size for size in sizes if size is not None]
    return content_id("ctx", content), sum(known) if len(known) == len(sizes) else None
