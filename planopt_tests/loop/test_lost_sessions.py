"""A query or a candidate that ends the session: it alone has the blame, and nothing that was measured is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.errors import PlanoptError, SessionLost, SparkFailed
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.standing import asked_for
from planopt_assets.loop.step import Step
from planopt_assets.loop.steps import step
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query, Workload
from planopt_tests.loop.fake_workspace import FEWER, OTHER, WRONG, FakeWorkspace, Ran, experiment
from planopt_tests.loop.scripted_workspace import SQL, Scripted
from planopt_tests.observe.test_bundle import planned
from planopt_tests.rows import artifact, standing
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast

LOST = SessionLost("the query ended the Spark session: it ran out of memory", where="query q", fix="give it more")
NO_SPARK = SparkFailed("Spark did not start", where="local[2]", fix="check it")
SECONDS = {ORIGINAL: 3.0, FEWER: 1.5, OTHER: 1.4}


# Experiments


def lost_at(policy: Policy, place: int, error: PlanoptError = LOST, result: dict[Policy, Any] | None = None) -> Any:
    """Every policy runs as it should, until one ends the session."""

    def behaviour(asked: Policy, before: int, binding: int) -> Ran | PlanoptError:
        if asked is policy and before == place:
            return error
        return Ran(SECONDS[asked], **(result or {}).get(asked, {}))

    return behaviour


def test_a_candidate_that_ends_the_session_is_rejected_with_the_cause() -> None:
    outcome = experiment(FakeWorkspace(lost_at(FEWER, 2)), FEWER)
    assert (outcome.verdict.outcome, outcome.verdict.pairs) == ("reject", 0)
    assert outcome.verdict.reason == f"the candidate failed: {LOST}"
    assert [t.status for t in outcome.trials if t.policy_id == FEWER.id] == ["ok", "ok", "failed"]


def test_a_baseline_that_ends_the_session_leaves_every_candidate_inconclusive() -> None:
    outcome = experiment(FakeWorkspace(lost_at(ORIGINAL, 1), warm=True), FEWER, OTHER)
    assert {j.judgement.outcome for j in outcome.judged} == {"inconclusive"}
    assert {j.judgement.reason for j in outcome.judged} == {f"the baseline failed: {LOST}"}


def test_the_others_are_warmed_up_again_in_the_new_session_and_the_broken_round_does_not_count() -> None:
    conflicting = Policy.of({"spark.sql.shuffle.partitions": "4"})
    seconds = {ORIGINAL: 3.0, FEWER: 1.0, conflicting: 1.5}

    def behaviour(asked: Policy, before: int, binding: int) -> Ran | PlanoptError:
        return LOST if asked is FEWER and before == 2 else Ran(seconds[asked])

    outcome = experiment(FakeWorkspace(behaviour, warm=True), FEWER, conflicting)
    verdicts = {j.candidate.policy: j.judgement.outcome for j in outcome.judged}
    assert verdicts == {FEWER: "reject", conflicting: "accept"}
    (broken,) = {t.round for t in outcome.trials if t.status == "failed"}
    after = [t for t in outcome.trials if t.round == broken + 1]
    assert [(t.policy_id, t.warm_up) for t in after] == [(ORIGINAL.id, True), (conflicting.id, True)]
    assert len([t for t in outcome.trials if t.round == broken]) <= 2


def test_results_of_a_broken_round_are_still_compared() -> None:
    wrong = {OTHER: {"result": WRONG}}
    outcome = experiment(FakeWorkspace(lost_at(FEWER, 0, result=wrong), warm=True), OTHER, FEWER)
    verdicts = {j.candidate.policy: (j.judgement.outcome, j.judgement.results_equal) for j in outcome.judged}
    assert verdicts == {FEWER: ("reject", None), OTHER: ("reject", False)}


def test_without_a_new_session_nobody_else_gets_a_verdict() -> None:
    def behaviour(asked: Policy, before: int, binding: int) -> Ran | PlanoptError:
        if asked is FEWER:
            return LOST
        return NO_SPARK if before else Ran(3.0)

    outcome = experiment(FakeWorkspace(behaviour), FEWER, OTHER)
    assert [(j.candidate.policy, j.judgement.outcome) for j in outcome.judged] == [(FEWER, "reject")]


# Observing


class Dying(Scripted):
    """A workspace in which some queries end the session; with `mortal`, no new one starts after that."""

    ends: dict[str, PlanoptError]
    mortal = False

    @contextmanager
    def serving(self, query: Query) -> Iterator[None]:
        self.asked = [*getattr(self, "asked", []), query.id]
        if self.mortal and self.sessions_lost:
            raise NO_SPARK
        if query.id in self.ends:
            self.sessions_lost += 1
        yield
        if query.id in self.ends:
            raise self.ends[query.id]  # after everything was captured: the worst moment


def dying(folder: Path, *queries: str, ends: dict[str, PlanoptError]) -> tuple[Run, Any]:
    asked = tuple(Query(q, sql=SQL) for q in queries)
    workload = Workload("demo", folder / "planopt.yaml", str(folder / "store"), (), asked)
    workspace: Any = Dying(workload, [planned()] * 2 * len(queries), read=())
    workspace.ends = ends
    return Run(workspace, "run"), workspace


def stored(run: Run) -> dict[str, tuple[str, str | None]]:
    rows = StoredRows.of(run).rows("plan_artifacts")
    return {row["query_id"]: (row["status"], row["error_code"]) for row in rows}


def test_a_query_that_ends_the_session_is_recorded_and_the_others_go_on(tmp_path: Path) -> None:
    run, _ = dying(tmp_path, "a", "b", "c", ends={"b": LOST})
    results = observe(run, ["a", "b", "c"])
    assert stored(run) == {"a": ("captured", None), "b": ("failed", "PLN-215"), "c": ("captured", None)}
    assert [r.summary.partition(":")[0] for r in results if r.query_id == "b"] == ["failed"]


def test_of_a_query_that_ended_the_session_nothing_but_that_is_kept(tmp_path: Path) -> None:
    run, _ = dying(tmp_path, "b", "c", ends={"b": LOST})
    observe(run, ["b", "c"])
    for table in ("plan_nodes", "runtime_counters"):
        assert {row["query_id"] for row in StoredRows.of(run).rows(table)} == {"c"}
    shared = StoredRows.of(run).rows("provenance")
    assert len({row["hash"] for row in shared}) == len(shared) == 2  # not lost with the query that met it first


def test_what_was_measured_is_stored_even_if_no_new_session_starts(tmp_path: Path) -> None:
    run, workspace = dying(tmp_path, "a", "b", "c", ends={"b": LOST})
    workspace.mortal = True
    with pytest.raises(SparkFailed):
        observe(run, ["a", "b", "c"])
    assert stored(run) == {"a": ("captured", None), "b": ("failed", "PLN-215")}


def test_the_next_run_does_not_start_with_it(tmp_path: Path) -> None:
    run, _ = dying(tmp_path, "a", "b", ends={"a": LOST})
    observe(run, ["a", "b"])
    again, workspace = dying(tmp_path, "a", "b", ends={})
    again.workspace.workload = replace(again.workload, seed=again.workload.seed + 1)  # other inputs: all are due
    observe(again, ["a", "b"])
    assert workspace.asked == ["b", "a"]


# Steps


HUNG = "PLN-214 q: hangs in running"


@pytest.mark.parametrize("code", ["PLN-214", "PLN-215"])
def test_a_query_that_ended_the_session_is_left_alone_on_the_same_inputs(code: str) -> None:
    ended = standing(artifacts=[artifact("failed", error_code=code, error=HUNG)])
    assert step(ended, "observe") == Step("observe", "off", f"left alone: {HUNG}")
    assert step(asked_for(ended), "observe").needed


def test_any_other_failure_is_tried_again_in_every_run() -> None:
    assert step(standing(artifacts=[artifact("failed", error_code="PLN-207", error="x")]), "observe").needed


def test_a_run_tries_what_a_person_named(tmp_path: Path) -> None:
    run, _ = dying(tmp_path, "a", "b", ends={"a": LOST})
    observe(run, ["a", "b"])
    again, workspace = dying(tmp_path, "a", "b", ends={})
    observe(again, ["a", "b"])
    assert not hasattr(workspace, "asked")
    again.named = ["a"]
    observe(again, ["a", "b"])
    assert workspace.asked == ["a"]
