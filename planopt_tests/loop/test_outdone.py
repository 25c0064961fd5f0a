"""A candidate that has taken more than the baseline ever did is stopped at once, and rejected."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Objective
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.race import outdone_limit
from planopt_tests.loop.fake_workspace import (
    FEWER,
    HALF_THE_WORK,
    OTHER,
    FakeWorkspace,
    Outcome,
    Ran,
    experiment,
    timeouts,
)

pytestmark = pytest.mark.fast


def raced(seconds: float, *, objective: Objective = "cpu", first: float = 4.0) -> Outcome:
    """A baseline of 4 s against a candidate with half the work that takes so long, and `first` in its first run."""

    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        if policy is ORIGINAL:
            return Ran(4.0)
        return Ran(seconds if before else first, counted=HALF_THE_WORK)

    workspace = FakeWorkspace(behaviour)
    workspace.workload = replace(workspace.workload, objective=objective)
    return experiment(workspace, FEWER)


def test_a_counted_run_that_passed_the_cpu_of_the_baseline_is_stopped_and_rejected() -> None:
    outcome = raced(50.0)
    assert outcome.verdict.outcome == "reject"
    assert outcome.verdict.reason == "the candidate took more CPU than the baseline"
    assert [t.status for t in outcome.trials if t.policy_id == FEWER.id] == ["ok", "timed_out"]
    assert outcome.workspace.now <= 100.0 + 4 + 4 + 4 + 6  # not 50


def test_one_that_is_only_a_little_dearer_runs_to_its_end() -> None:
    assert all(t.status == "ok" for t in raced(5.9).trials)


def test_the_first_run_warms_up_and_may_take_longer() -> None:
    outcome = raced(2.0, first=7.0)
    assert outcome.verdict.outcome == "accept"
    assert [limit for policy, limit in outcome.workspace.cpu_limits if policy is FEWER][:2] == [None, 6.0]


def test_the_baseline_has_no_limit() -> None:
    assert {limit for policy, limit in raced(2.0).workspace.cpu_limits if policy is ORIGINAL} == {None}


def test_by_the_clock_where_that_is_the_objective() -> None:
    outcome = raced(50.0, objective="latency")
    assert (outcome.verdict.outcome, outcome.verdict.reason) == ("reject", "the candidate ran out of time")
    assert timeouts(outcome, FEWER) == [10.0, 6.0]
    assert {limit for _, limit in outcome.workspace.cpu_limits} == {None}


def test_an_addition_is_outdone_by_the_accepted_policy_and_not_by_the_observation_of_original() -> None:
    """Original took 9 s. The accepted policy takes 2 s: beyond it, 3 s are too long."""
    both = FEWER.merged(OTHER)

    def behaviour(policy: Policy, before: int, binding: int) -> Ran:
        return Ran(2.0) if policy == FEWER else Ran(5.0 if before else 2.0, counted=HALF_THE_WORK)

    workspace = FakeWorkspace(behaviour)
    workspace.workload = replace(workspace.workload, objective="latency")
    outcome = experiment(workspace, both, baseline=workspace.arm(FEWER), observed_wall_s=[9.0])
    assert (outcome.verdict.outcome, timeouts(outcome, both)) == ("reject", [18.0, 3.0])


def test_where_many_queries_are_tried_together_no_run_is_outdone() -> None:
    assert outdone_limit([4.0], replace(Rules(), outdone_factor=math.inf)) is None
