"""What `planopt plan` says and what a stage does are the same step: shown on every standing, mode and stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.loop.agenda import agenda_of
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.loop.stages import decide, observe, promote, replan, validate
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.step import STAGES, Step, only_looks
from planopt_assets.loop.steps import planned_steps, step
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store.store import Store
from planopt_tests.loop.test_standing import STANDINGS
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.no_spark import no_spark
from planopt_tests.promote.events import EXPIRED, accept, chain_of, verdict_of
from planopt_tests.rows import FEWER, OTHER, candidate, decision, standing, verdict

pytestmark = pytest.mark.fast

MEASURED = (("modelled_cpu_ns", 3_000_000_000), ("runs_per_day", 24.0), ("saving_cpu_ns_per_run", 480_000_000))
BOTH = FEWER.merged(OTHER)
BEYOND = replace(decision(policy=BOTH, policy_before=FEWER.to_json()), arithmetic=MEASURED)
IN_FORCE = chain_of(accept(FEWER))


def weighed(found: Standing) -> Standing:
    """The same with decisions that say what a trial gains and costs."""
    return replace(found, decisions=[replace(d, arithmetic=MEASURED) for d in found.decisions])


KINDS: dict[str, Standing] = {
    **{name: weighed(found) for name, (found, *_) in STANDINGS.items()},
    "changed since": standing(artifacts=[], changes=("sales v5 -> v6",)),
    "accepted by themselves, not planned together": standing(
        decisions=[decision(policy=p) for p in (FEWER, verdict_of(FEWER).policy)],
        candidates=[candidate()],
        verdicts=[verdict()],
    ),
    "accepted, and not asked about yet": standing(
        decisions=[decision()], candidates=[candidate()], verdicts=[verdict()]
    ),
    "proposed beyond what is accepted": standing(
        decisions=[decision(), BEYOND], candidates=[candidate()], verdicts=[verdict()]
    ),
    "planned beyond what is accepted": standing(
        decisions=[decision(), BEYOND], candidates=[candidate(), candidate(BOTH)], verdicts=[verdict()]
    ),
    "in force": standing(decisions=[decision()], candidates=[candidate()], verdicts=[verdict()], chain=IN_FORCE),
    "in force and due to go": standing(decisions=[decision("no_change")], chain=IN_FORCE, due=EXPIRED),
    "in force without lineage": standing(decisions=[decision("no_change")], chain=IN_FORCE, unlinked=True),
}
WORK: dict[str, tuple[Callable[..., list[StageResult]], Any, str]] = {  # the stage, and what does its work
    "observe": (observe.observe, observe._Observation, "take"),
    "decide": (decide.decide_queries, decide, "next_decisions"),
    "replan": (replan.replan, replan, "_candidates"),
    "validate": (validate.validate, validate, "_experiment"),
}
EVERY = pytest.mark.parametrize("found", KINDS.values(), ids=KINDS)
MODES = pytest.mark.parametrize("mode", ["observe", "advise", "auto"])


class Worked(Exception):
    """A stage began to work."""


class InMemory(Store):
    def newest(self) -> MemorySnapshot:
        return MemorySnapshot()


class OneQuery(Run):
    """A run that finds its query where the test has put it."""

    def __init__(self, found: Standing) -> None:
        query = Query(found.query_id, sql="SELECT 1")
        workload = Workload("demo", Path("planopt.yaml"), "memory", (), (query,), mode=found.mode)
        store = InMemory("memory", "demo", no_spark)
        workspace: Any = SimpleNamespace(workload=workload, store=store, started_at=float("inf"), tables=())
        workspace.sessions_lost, workspace.revive = 0, lambda: None
        super().__init__(workspace, "run-1")
        self.found = found

    def standings(self) -> dict[str, Standing]:
        return {self.found.query_id: self.found}


def works(found: Standing, stage: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the stage begins to work on the query."""

    def begin(*_: Any, **__: Any) -> Any:
        raise Worked

    function, holder, name = WORK[stage]
    monkeypatch.setattr(holder, name, begin)
    try:
        (result,) = function(OneQuery(found), [found.query_id])
    except Worked:
        return True
    assert not result.changed
    return False


@MODES
@EVERY
@pytest.mark.parametrize("stage", WORK)
def test_a_stage_works_exactly_where_its_step_is_needed(
    found: Standing, mode: Any, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = replace(found, mode=mode)
    assert works(there, stage, monkeypatch) is step(there, stage).needed


@MODES
@EVERY
def test_promote_writes_exactly_where_its_step_is_needed(found: Standing, mode: Any) -> None:
    there, written = replace(found, mode=mode), []
    run = OneQuery(there)
    run.commit = lambda promotion: written.append(promotion)  # type: ignore[method-assign]
    run.append = lambda stage, nouns: written.extend(n for new in nouns.values() for n in new)  # type: ignore[method-assign]
    stored = [*there.verdicts, *there.carried]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(promote, "_stored", lambda run, query_id: stored)
        promote.promote(run, [there.query_id])
    assert bool(written) is step(there, "promote").needed


@MODES
@EVERY
def test_a_query_is_settled_exactly_where_the_plan_has_nothing_to_do(found: Standing, mode: Any) -> None:
    there = replace(found, mode=mode)
    needed = [one.stage for one in planned_steps(there) if one.needed]
    assert there.settled is (needed == [])


@MODES
@EVERY
def test_what_the_plan_calls_needed_is_what_the_stage_will_find_needed(found: Standing, mode: Any) -> None:
    there = replace(found, mode=mode)
    assert [s.stage for s in planned_steps(there) if s.needed] == [s for s in STAGES if step(there, s).needed]


def test_every_kind_of_step_is_among_them() -> None:
    steps = [s for found in KINDS.values() for mode in ("observe", "advise", "auto") for s in _steps(found, mode)]
    seen = {(s.stage, s.need) for s in steps}
    assert {stage for stage, need in seen if need == "needed"} == set(STAGES)
    assert {stage for stage, need in seen if need == "depends"} == set(STAGES) - {"observe"}
    assert {stage for stage, need in seen if need == "off"} == set(STAGES) - {"observe"}


def _steps(found: Standing, mode: Any) -> Sequence[Step]:
    return planned_steps(replace(found, mode=mode))


def test_the_agenda_prints_the_same_steps() -> None:
    nothing: Any = None
    decided = {n: s for n, s in KINDS.items() if s.decided or not s.observed}  # of the others decide would be asked
    for name, found in decided.items():
        (item,) = agenda_of(nothing, nothing, {"q": found}, ["q"]).items
        assert item.steps == planned_steps(found), name


# What a step says


def test_a_step_after_one_that_is_needed_depends_on_it() -> None:
    steps = {s.stage: (s.need, s.why) for s in planned_steps(standing(artifacts=[]))}
    assert steps == {
        "observe": ("needed", "never observed"),
        "decide": ("depends", "on what is observed"),
        "replan": ("depends", "on what is decided"),
        "validate": ("depends", "on whether a candidate changes the plan"),
        "promote": ("depends", "on the verdicts"),
    }


def test_in_mode_observe_candidates_of_an_earlier_mode_are_not_tried() -> None:
    waiting = standing(decisions=[decision()], candidates=[candidate()], mode="observe")
    assert step(waiting, "validate") == only_looks("validate")
    assert waiting.settled


def test_foreseen_decisions_tell_whether_there_will_be_something_to_plan() -> None:
    observed = standing()
    assert {s.stage: s.need for s in planned_steps(observed, [decision()])}["replan"] == "needed"
    nothing = {s.stage: s.need for s in planned_steps(observed, [decision("no_change")])}
    assert (nothing["decide"], nothing["replan"]) == ("needed", "depends")
