"""A proposal, planned but not run: what it changes in the plan, through which of its parts, or why it was dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.errors import PlanoptError, PolicyNotApplied, SparkFailed
from planopt_assets.model.candidate import Candidate
from planopt_assets.observe.plans.diff import Splits, plan_diff, pushed_diff
from planopt_assets.observe.plans.fingerprint import plan_fingerprint, topology_hash
from planopt_assets.replan.effects import runtime_parts, visible_parts

if TYPE_CHECKING:
    from planopt_assets.engine.workspace import Workspace
    from planopt_assets.model.arm import Arm
    from planopt_assets.model.plan import Plan
    from planopt_assets.model.workload import Query

AT_RUN_TIME = "takes effect only at run time; a trial will tell"


def planned_candidate(
    workspace: Workspace,
    query: Query,
    arm: Arm,
    decision_ids: tuple[str, ...],
    inputs: str,
    *,
    baseline: Arm | None = None,
) -> Candidate:
    """Plan all bindings in the arm; the diff of the first that differs from original stands for the candidate.

    It is kept if its plan differs from that of the baseline, which is original unless told: the accepted policy that it
    adds to has changed the plan already.
    """
    plans, policy, before = _Plans(workspace, query), arm.policy, baseline or workspace.baseline
    kept, diff, fingerprint, topology = False, "", "", ""
    effects: tuple[str, ...] = ()
    try:
        diff, changes = plans.diff(workspace.baseline, arm), plans.diff(before, arm)
        after, _ = plans.of(arm, 0)
        fingerprint, topology = plan_fingerprint(after), topology_hash(after)
        effects = _effects(plans, arm, diff)
        idle = [part for part in policy.parts if part.shows_itself and part.label not in effects]
        if idle:
            joins = workspace.hinted_joins(query, 0, arm)
            reason = f"dropped: {idle[0].idle_words(joins)}"
        elif changes:
            kept, reason = True, "the plan changes"
        elif runtime_parts(policy.beyond(before.policy)):
            kept, reason = True, AT_RUN_TIME
        else:
            reason = "dropped: plan and partitioning stay the same"
    except SparkFailed:
        raise  # no new session after one was lost: that is no candidate's doing
    except PolicyNotApplied as error:
        reason = f"dropped: {error.what}"
    except PlanoptError as error:
        reason = f"dropped: it cannot be planned: {error}"
    return Candidate(
        query.id,
        policy,
        decision_ids,
        kept,
        reason,
        diff if kept else "",
        fingerprint,
        topology,
        inputs,
        took_effect=effects,
    )


def _effects(plans: _Plans, arm: Arm, diff: str) -> tuple[str, ...]:
    """The labels of the parts without which the plan would be another; of all where each alone would do."""
    if not diff:
        return ()
    parts = visible_parts(arm.policy)
    if len(parts) > 1:
        needed = [part for part in parts if plans.diff(arm.under(arm.policy.without(part)), arm)]
        parts = tuple(needed) or parts
    return tuple(part.label for part in parts)


class _Plans:
    """Each arm of a query planned once per binding."""

    def __init__(self, workspace: Workspace, query: Query) -> None:
        self._workspace, self._query = workspace, query
        self._seen: dict[tuple[Arm, int], tuple[Plan, Splits]] = {}

    def of(self, arm: Arm, binding: int) -> tuple[Plan, Splits]:
        if (arm, binding) not in self._seen:
            self._seen[arm, binding] = self._workspace.plan(self._query, binding, arm)
        return self._seen[arm, binding]

    def diff(self, before: Arm, after: Arm) -> str:
        """Of the first binding whose plans differ; every binding is planned, so that one that cannot be is known."""
        found = ""
        for binding in range(len(self._query.bindings)):
            (old, old_splits), (new, new_splits) = self.of(before, binding), self.of(after, binding)
            parts = (plan_diff(old, new, old_splits, new_splits), pushed_diff(old, new))
            found = found or "\n".join(part for part in parts if part)
        return found
