"""The trial of a workload policy, without Spark: the sum may be better, and the guard of one query still ends it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.loop.stages.workload_policy import try_workload_policy
from planopt_assets.loop.workload_policies import workload_policy
from planopt_assets.model.arm import Arm
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.verdict import Verdict
from planopt_assets.model.workload import Budgets, Query
from planopt_assets.model.workload_policy import WHOLE_WORKLOAD, WorkloadPolicy
from planopt_assets.store.codecs.deciding import TRIAL_ROWS, VERDICTS
from planopt_assets.validate.judge_rules import Rules
from planopt_tests.loop.fake_workspace import HALF_THE_WORK, FakeWorkspace, Ran
from planopt_tests.loop.test_exploring import store
from planopt_tests.loop.test_workload_policies import NAMES, WORKLOAD, all_of
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.rows import FEWER, stored

pytestmark = pytest.mark.fast

GAINS = dict.fromkeys(NAMES, 0.5)
"""Seconds under the policy, by query; as original each takes one."""


class ByQuery(FakeWorkspace):
    """Original takes a second; under the policy each query takes what the test says."""

    cores = 2

    def __init__(self, seconds: dict[str, float]) -> None:
        super().__init__(lambda *_: Ran(1.0, counted={}), budgets=Budgets())
        self._seconds = seconds

    def execute(self, query: Query, binding: int, arm: Arm, **how: Any) -> Any:
        told = Ran(1.0, counted={}) if arm.policy == ORIGINAL else Ran(self._seconds[query.id], counted=HALF_THE_WORK)
        self._behaviour = lambda *_: told
        return super().execute(query, binding, arm, **how)


@dataclass
class Scripted:
    """What the stage needs of a run, and the rows that it leaves."""

    workspace: Any
    workload: Any
    snapshot: MemorySnapshot = field(default_factory=store)
    rules: Rules = field(default_factory=Rules)
    rows: dict[Any, list[Any]] = field(default_factory=dict)

    no_trials = ""
    deadline = time.monotonic() + 1e6

    def standings(self) -> Any:
        return all_of(FEWER, FEWER, FEWER, None)

    def event_id(self, *parts: str) -> str:
        return "-".join(parts)

    def append(self, stage: str, rows: dict[Any, list[Any]]) -> None:
        self.rows = rows


def tried(seconds: dict[str, float], **max_loss: float) -> tuple[WorkloadPolicy, Scripted]:
    """The stage over queries `a` to `d`: three have the policy in force, and `d` gained nothing from it."""
    queries = tuple(replace(q, max_loss=max_loss.get(q.id, q.max_loss)) for q in WORKLOAD.queries if q.id in NAMES)
    workspace = ByQuery(seconds)
    workspace.workload = replace(WORKLOAD, queries=queries, budgets=Budgets())
    run = Scripted(workspace, workspace.workload)
    return try_workload_policy(run), run  # type: ignore[arg-type]


def stored_verdict(run: Scripted) -> Verdict:
    (verdict,) = run.rows[VERDICTS]
    assert verdict.query_id == WHOLE_WORKLOAD
    return verdict


def test_where_every_query_gains_it_is_accepted() -> None:
    found, run = tried(GAINS)
    assert (found.policy, found.state, found.accepted) == (FEWER, "accept", True)
    assert stored_verdict(run).gain is not None


def test_one_query_that_loses_more_than_it_may_vetoes_what_the_others_gain() -> None:
    """Together 4 s become 2.9 s. `d` alone takes 40 % more, where 10 % are allowed."""
    found, run = tried({**GAINS, "d": 1.4})
    assert (found.state, found.accepted) == ("reject", False)
    verdict = stored_verdict(run)
    assert verdict.reason == "veto of d: cpu_ns, 1.400 (1.400 to 1.400), ratio at most 1.1"
    broken = [c.name for c in verdict.judgement.criteria if c.passed is False]
    assert broken
    assert all(name.startswith("d: ") for name in broken)
    assert {t.trial.query_id for t in run.rows[TRIAL_ROWS]} == set(NAMES)  # what it was judged on is stored


def test_a_query_that_may_lose_as_much_vetoes_nothing() -> None:
    found, _ = tried({**GAINS, "d": 1.4}, d=0.5)
    assert (found.state, found.accepted) == ("accept", True)


def test_a_loss_within_the_limit_is_no_veto() -> None:
    assert tried({**GAINS, "d": 1.08})[0].accepted


def test_the_veto_is_stored_so_the_same_policy_is_not_tried_again() -> None:
    _, run = tried({**GAINS, "d": 1.4})
    row = stored("verdicts", **VERDICTS.to_row(stored_verdict(run)))
    known = workload_policy(run.workload, MemorySnapshot(verdicts=[row]), run.standings())
    assert known is not None
    assert (known.state, known.accepted) == ("reject", False)
    again = Scripted(SimpleNamespace(), run.workload, MemorySnapshot(verdicts=[row]))  # nothing that could run it
    assert try_workload_policy(again).state == "reject"  # type: ignore[arg-type]
    assert again.rows == {}
