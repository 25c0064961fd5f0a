"""What is needed for one query, stage by stage: the one place that decides it.

`planopt plan` prints the steps, each stage executes those of its own that are needed, and a query without any is
settled. So what `plan` says and what `run` does cannot differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.loop.step import STAGES, UNCHANGED, Step, only_looks
from planopt_assets.promote.confirmation import EXECUTIONS, cost_s

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.decision import Decision


def step(standing: Standing, stage: str) -> Step:
    """The step of a stage on the evidence as it is, once the stages before it have done what they could."""
    if standing.broken is not None:
        return Step(stage, "off", str(standing.broken))
    return _STEPS[stage](standing)


def planned_steps(standing: Standing, foreseen: Sequence[Decision] | None = None) -> tuple[Step, ...]:
    """All steps of a run that starts now, in order.

    What a stage finds decides about those after it, unless they have work of their own already. `foreseen` are the
    decisions that decide will take, where they can be known.
    """
    steps = [step(standing, stage) for stage in STAGES]
    if foreseen is not None and steps[1].needed:
        steps[2] = _foreseen_replan(standing, foreseen)
    return tuple(_after(steps[:place], one) for place, one in enumerate(steps))


def _after(before: Sequence[Step], one: Step) -> Step:
    """A step that a step before it may change depends on that one."""
    waits = next((b for b in reversed(before) if b.needed or b.need == "depends"), None)
    if one.needed or waits is None or one.by_mode:
        return one
    return replace(one, need="depends", why=_WAITS_FOR[one.stage])


_WAITS_FOR = {
    "decide": "on what is observed",
    "replan": "on what is decided",
    "validate": "on whether a candidate changes the plan",
    "promote": "on the verdicts",
}


def _observe(standing: Standing) -> Step:
    if standing.missing is not None:
        return Step("observe", "needed", f"it cannot run: {standing.missing}")
    if standing.left_alone:
        return Step("observe", "off", f"left alone: {standing.reason}")
    if standing.failed:
        return Step("observe", "needed", f"it failed last time: {standing.reason}")
    if standing.observed:
        return Step("observe", "done", UNCHANGED)
    changed = ", ".join(standing.changes)
    return Step("observe", "needed", f"changed: {changed}" if changed else "never observed")


def _decide(standing: Standing) -> Step:
    if standing.mode == "observe":
        return only_looks("decide")
    if standing.rounds.to_explore:
        return Step("decide", "needed", "no rule has anything left: an option is chosen that helped similar queries")
    if standing.decided:
        return Step("decide", "done", f"{len(standing.decisions)} decisions, {len(standing.proposed)} proposals")
    if not standing.observed:
        return Step("decide", "depends", "nothing observed for these inputs: materialize observe first")
    if standing.base is not None:
        return Step("decide", "needed", f"what it needs beyond {standing.base.policy.describe()}, which is accepted")
    return Step("decide", "needed", "observed, but not decided on yet")


def _replan(standing: Standing) -> Step:
    if standing.mode == "observe":
        return only_looks("replan")
    if not standing.decided:
        return Step("replan", "depends", "nothing decided for these inputs: materialize decide first")
    if standing.unplanned:
        return Step("replan", "needed", f"the policy in force without one part: {len(standing.unplanned)} policies")
    if standing.replanned and not (standing.proposed or standing.candidates):
        return Step("replan", "off", "no rule has a change that is worth a trial")
    if standing.replanned:
        return Step("replan", "done", f"{len(standing.candidates)} candidates planned")
    if standing.suspended and not standing.candidates:
        return Step("replan", "needed", f"the policy in force is suspended and tried again: {standing.suspended}")
    return Step("replan", "needed", _to_plan(standing))


def _to_plan(standing: Standing) -> str:
    proposed = f"{sum(d.proposes for d in standing.this_round)} proposals"
    if standing.base is not None:
        return f"{proposed} beyond {standing.base.policy.describe()}"
    return "what was accepted is to be tried together" if standing.candidates else proposed


def _foreseen_replan(standing: Standing, decisions: Sequence[Decision]) -> Step:
    proposed = sum(d.proposes for d in decisions)
    if standing.suspended:
        return Step("replan", "needed", f"the policy in force is suspended and tried again: {standing.suspended}")
    if proposed:
        return Step("replan", "needed", f"{proposed} proposals")
    return Step("replan", "off", "no rule has a change that is worth a trial")


def _validate(standing: Standing) -> Step:
    if standing.mode == "observe":
        return only_looks("validate")
    if standing.unjudged:
        against = f", against {standing.base.policy.describe()}" if standing.base else ""
        return Step("validate", "needed", f"{len(standing.unjudged)} candidates without a verdict{against}")
    if standing.to_confirm is not None:
        return Step("validate", "needed", _to_confirm(standing))
    if standing.leaving_out:
        return Step("validate", "needed", _to_leave_out(standing))
    if standing.verdicts:
        return Step("validate", "done", f"{len(standing.verdicts)} verdicts")
    return Step("validate", "off", "no candidate to try")


def _to_confirm(standing: Standing) -> str:
    """What a confirmation is for, and what it costs."""
    assert standing.active is not None
    assert standing.confirmation is not None
    seconds = cost_s(standing.promoted_by)
    cost = f"about {EXECUTIONS} executions" + (f", {seconds:.0f} s" if seconds is not None else "")
    return f"generation {standing.active.generation} is {standing.confirmation.reason} ({cost})"


def _to_leave_out(standing: Standing) -> str:
    tries, seconds = len(standing.leaving_out), cost_s(standing.promoted_by)
    cost = f"about {tries * EXECUTIONS} executions" + (f", {tries * seconds:.0f} s" if seconds is not None else "")
    return f"the policy in force is tried without one of its parts, {tries} times ({cost})"


def _promote(standing: Standing) -> Step:
    if standing.mode == "observe":
        return only_looks("promote")
    if standing.due is not None:
        return Step("promote", "needed", f"to be taken back: {standing.due.reason}")
    if standing.unlinked:
        return Step("promote", "needed", "a run was killed before it wrote the lineage of its promotion")
    if standing.to_renew is not None and not (standing.to_promote is not None and standing.mode == "auto"):
        return Step("promote", "needed", f"proven on these inputs too: {standing.to_renew.reason}")
    if standing.to_promote is not None:
        if standing.mode == "auto":
            return Step("promote", "needed", f"accepted: {standing.to_promote.reason}")
        return Step("promote", "off", f"accepted, waiting for a person: planopt promote {standing.query_id}")
    if standing.active is not None and standing.suspended:
        return Step("promote", "done", f"generation {standing.active.generation} is suspended: {standing.suspended}")
    if standing.active is not None:
        return Step("promote", "done", f"generation {standing.active.generation} is in force")
    return Step("promote", "off", "nothing accepted")


_STEPS = {"observe": _observe, "decide": _decide, "replan": _replan, "validate": _validate, "promote": _promote}
