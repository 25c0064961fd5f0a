"""Exploration over real Spark: every option has one trial, then it ends, and the next night starts no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, no_change
from planopt_assets.decide.explore import options as options_module
from planopt_assets.decide.prices import query_cpu_ns
from planopt_assets.loop import experiment
from planopt_assets.loop.exploring import exploration_for
from planopt_assets.loop.run import Run, read_standings
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.verdict import Gain, Judgement
from planopt_assets.model.workload import Budgets, Workload
from planopt_assets.store.codecs.deciding import DECISIONS
from planopt_assets.validate.judge import judge
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.one_pass import BY_SHOP, STAGES, new_run, run_all
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark

NAMES = ("one partition a core", "reads of at least 8 MiB", "a small map of a million groups")


def nothing(evidence: Evidence) -> Answer:
    return no_change("no rule has anything", {})


def judged(tried: list[str]) -> Any:
    """The judge, with answers that no clock was asked for: the first option is accepted, the others are not."""

    def said(*pairs: Any, **how: Any) -> Judgement | None:
        found = judge(*pairs, **how)
        if found is None:
            return None
        tried.append(found.outcome)
        if len(tried) == 1:
            return replace(found, gain=Gain("cpu", 0.8, 0.7, 0.9, 0.99))
        return replace(found, outcome="reject", reason="no gain")

    return said


@pytest.fixture(scope="module")
def done(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workload, Run]]:
    """One run in mode auto over a query of which no rule wants anything, with three options that touch all of it."""
    few = tuple(replace(o, touches=(query_cpu_ns,)) for o in options_module.OPTIONS if o.name in NAMES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decide_module, "RULES", (("nothing", nothing),))
        patch.setattr(options_module, "OPTIONS", few)
        patch.setattr(experiment, "judge", judged([]))
        folder = make_tables(tmp_path_factory.mktemp("exploring"), rows=40_000)
        workload = workload_of(folder, [BY_SHOP], mode="auto", budgets=Budgets(explore=0.5))
        yield workload, run_all(workload)


def test_every_option_is_tried_once_and_what_is_accepted_is_added_to(done: tuple[Workload, Run]) -> None:
    workload, run = done
    rows = StoredRows(workload.store, workload.name).rows("policy_decisions")
    explored = [r for r in rows if r["rule"] == "explore"]
    assert [r["kind"] for r in explored] == ["proposal", "proposal", "proposal", "no_change"]
    assert len({r["policy_after"] for r in explored[:3]}) == 3
    verdicts = StoredRows(workload.store, workload.name).rows("verdicts")
    assert [(v["purpose"], v["outcome"]) for v in verdicts] == [("try", "accept"), ("add", "reject"), ("add", "reject")]
    accepted = verdicts[0]["policy_id"]
    assert [r["policy_before_id"] == accepted for r in explored] == [False, True, True, True]
    assert run.explored_s > 0


def test_the_accepted_option_is_in_force_with_its_decision_behind_it(done: tuple[Workload, Run]) -> None:
    workload, _ = done
    found = read_standings(workload)["by_shop"]
    assert found.active is not None
    assert found.active.policy == found.verdicts[0].policy
    (candidate,) = [c for c in found.candidates if c.policy == found.active.policy]
    assert candidate.decision_ids == tuple(d.id for d in found.decisions if d.policy_after == found.active.policy)[:1]


def test_a_night_in_which_nothing_changed_starts_no_spark_and_stores_nothing(done: tuple[Workload, Run]) -> None:
    workload, _ = done
    assert read_standings(workload)["by_shop"].settled
    rows = StoredRows(workload.store, workload.name)
    before = {name: rows.table(name).num_rows for name in ("trials", "policy_decisions", "candidate_plans")}
    again = run_all(workload)
    assert not again.workspace.started
    assert {name: rows.table(name).num_rows for name in before} == before


def test_every_choice_is_the_same_again_from_the_stored_rows(done: tuple[Workload, Run]) -> None:
    workload, run = done
    found = run.standings()["by_shop"]
    bases = {v.policy: v for v in found.verdicts if v.accepted}
    chosen = [d for d in found.decisions if d.explores]
    for one in chosen:
        again = exploration_for(workload, run.snapshot, found, bases.get(one.policy_before), again=one)
        assert DECISIONS.to_row(again) == DECISIONS.to_row(one)
    assert len(chosen) == 4


def test_without_a_share_nothing_is_explored(done: tuple[Workload, Run]) -> None:
    workload, _ = done
    off = replace(workload, store=f"{workload.store}-off", budgets=Budgets(explore=0.0))
    run = run_all(off)
    assert run.standings()["by_shop"].settled
    assert not any(r["rule"] == "explore" for r in StoredRows.of(run).rows("policy_decisions"))


def test_a_share_that_is_spent_leaves_the_trial_to_the_next_run(done: tuple[Workload, Run]) -> None:
    workload, _ = done
    fresh = replace(workload, store=f"{workload.store}-spent")
    run = new_run(fresh)
    run.explored_s = 1e9
    results = [stage(run, ["by_shop"]) for stage in STAGES]
    assert results[3][0].summary == "the run's share for exploration is spent: left for the next"
    assert StoredRows.of(run).rows("trials") == []
    assert run.standings()["by_shop"].rounds.exploring
