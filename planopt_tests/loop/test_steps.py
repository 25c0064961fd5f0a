"""What `planopt plan` says and what a stage does are the same step: shown on every standing, mode and stage."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.errors import ChainBroken, SessionLost, TableUnreadable
from planopt_assets.loop import steps
from planopt_assets.loop.agenda import agenda_of
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.loop.stages import decide, observe, promote, replan, validate
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.step import STAGES, Step, only_looks
from planopt_assets.loop.steps import planned_steps, step
from planopt_assets.model.conditions import Circumstances, Condition, Conditions
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store.codecs.forms import dumped
from planopt_assets.store.store import Store
from planopt_tests.loop.test_confirming import in_force as confirming
from planopt_tests.loop.test_leaving_out import in_force as leaving_out
from planopt_tests.loop.test_standing import STANDINGS
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.no_spark import no_spark
from planopt_tests.promote.events import EXPIRED, accept, chain_of, verdict_of
from planopt_tests.rows import FEWER, OTHER, artifact, candidate, decision, standing, verdict

pytestmark = pytest.mark.fast

MEASURED = (("modelled_cpu_ns", 3_000_000_000), ("runs_per_day", 24.0), ("saving_cpu_ns_per_run", 480_000_000))
BOTH = FEWER.merged(OTHER)
BEYOND = replace(decision(policy=BOTH, policy_before=FEWER.to_json()), arithmetic=MEASURED)
IN_FORCE = chain_of(accept(FEWER))
GONE = TableUnreadable("there is no table at /data/sales", where="table sales", fix="bring it back")
BROKEN = ChainBroken("generation 1 is not what was written", where="query q", fix="planopt repair")
GROWN = "sales has grown from 1 GB to 9 GB"
ON_8_CORES = dumped(
    Conditions(Circumstances(cores=8), (Condition("spark.sql.shuffle.partitions", cores=True),)).facts()
)


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
    "a table of it is missing": standing(artifacts=[], missing=GONE),
    "left alone, because it ended the session": standing(artifacts=[artifact("failed", error_code=SessionLost.code)]),
    "its chain is broken": weighed(standing(decisions=[decision()], chain=IN_FORCE, broken=BROKEN)),
    "an option beyond the rules is to be chosen": standing(decisions=[decision("no_change")], explores=True),
    "suspended, and not decided yet": standing(chain=IN_FORCE, suspended=GROWN),
    "suspended, and not tried again yet": standing(decisions=[decision("no_change")], chain=IN_FORCE, suspended=GROWN),
    "suspended, and tried again": standing(
        decisions=[decision("no_change")],
        candidates=[candidate()],
        verdicts=[verdict(outcome="inconclusive")],
        chain=IN_FORCE,
        suspended=GROWN,
    ),
    "to be confirmed": confirming(),
    "to be planned without one of its parts": leaving_out(),
    "to be tried without one of its parts": leaving_out(candidates=[candidate(OTHER), candidate(FEWER)]),
    "proven on inputs where it was not proven yet": standing(
        decisions=[decision()],
        candidates=[candidate()],
        verdicts=[verdict(verdict_id="ver-9-q-again", conditions=ON_8_CORES)],
        chain=IN_FORCE,
    ),
}
WORK: dict[str, tuple[Callable[..., list[StageResult]], Any, str]] = {  # the stage, and what does its work
    "observe": (observe.observe, observe, "_Observation"),
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
        run = OneQuery(found)
        run.by_hand = stage == "validate"  # this stage alone: else it decides and plans further rounds itself
        (result,) = function(run, [found.query_id])
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


def test_every_step_that_can_be_returned_is_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `return Step(` of `steps.py`, by its line: a standing that nobody thought of is one that nobody tried."""
    reached = set()

    def noting(make: Callable[..., Step]) -> Callable[..., Step]:
        def made(*told: Any) -> Step:
            reached.add(sys._getframe(1).f_lineno)
            return make(*told)

        return made

    tree = ast.parse(inspect.getsource(steps))
    returned = [node for node in ast.walk(tree) if isinstance(node, ast.Return) and isinstance(node.value, ast.Call)]
    wanted = {r.lineno for r in returned if ast.unparse(r.value.func) in ("Step", "only_looks")}  # type: ignore[union-attr]
    monkeypatch.setattr(steps, "Step", noting(Step))
    monkeypatch.setattr(steps, "only_looks", noting(only_looks))
    for mode in ("observe", "advise", "auto"):
        for found in KINDS.values():
            for foreseen in (None, [decision()], [decision("no_change")]):
                planned_steps(replace(found, mode=mode), foreseen)
    lines = inspect.getsource(steps).splitlines()
    assert [lines[at - 1].strip() for at in sorted(wanted - reached)] == []
    assert len(wanted) > 30


def test_every_kind_of_step_is_among_them() -> None:
    found = [s for kind in KINDS.values() for mode in ("observe", "advise", "auto") for s in _steps(kind, mode)]
    seen = {(s.stage, s.need) for s in found}
    assert {stage for stage, need in seen if need == "needed"} == set(STAGES)
    assert {stage for stage, need in seen if need == "depends"} == set(STAGES) - {"observe"}
    assert {stage for stage, need in seen if need == "off"} == set(STAGES)


def _steps(found: Standing, mode: Any) -> Sequence[Step]:
    return planned_steps(replace(found, mode=mode))


def test_the_agenda_prints_the_same_steps() -> None:
    nothing: Any = None
    # Of the others decide would be asked, and a store.
    decided = {n: s for n, s in KINDS.items() if (s.decided or not s.observed) and not s.rounds.to_explore}
    for name, found in decided.items():
        (item,) = agenda_of(nothing, nothing, {"q": found}, ["q"]).items
        assert item.steps == planned_steps(found), name


# What a step says


def test_a_step_after_one_that_is_needed_depends_on_it() -> None:
    told = {s.stage: (s.need, s.why) for s in planned_steps(standing(artifacts=[]))}
    assert told == {
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
