"""The arms of simple tuners: as many executions as planopt took, and queries that are done are not tuned again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.arms_tables import Charge
from benchmarks.arms_tuner import executions_of, tuned_by
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.trial import Trial
from planopt_assets.model.workload import Query
from planopt_assets.store.codecs.deciding import TRIALS, VERDICTS
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.rows import stored, verdict

pytestmark = pytest.mark.fast

EIGHT = Policy.of({"spark.sql.shuffle.partitions": "8"})


def test_planopt_has_executed_what_it_observed_tried_and_compared_row_by_row() -> None:
    observed = [stored("runtime_counters", execution_id=f"obs-{n}", purpose="observe") for n in range(4)]
    counted = [stored("runtime_counters", execution_id="try-0", purpose="trial")]
    trials = [Trial(f"try-{n}", EIGHT.id, 1, 1, 0, n == 0, "ok", query_id="q") for n in range(6)]
    judged = replace(verdict(), trial_ids=tuple(t.id for t in trials), executions=8)
    snapshot = MemorySnapshot(
        runtime_counters=[*observed, *counted],
        trials=[stored("trials", **TRIALS.to_row(t)) for t in trials],
        verdicts=[stored("verdicts", **VERDICTS.to_row(judged))],
        layout_trials=[stored("layout_trials", trial_id="lay-0")],
    )
    assert executions_of(snapshot) == 4 + 6 + 2 + 1


def test_queries_that_a_stopped_call_has_tuned_are_taken_from_its_file(tmp_path: Path) -> None:
    make_tables(tmp_path, files=1)
    workload = workload_of(tmp_path, [Query("q1", sql="SELECT 1"), Query("q2", sql="SELECT 2")])
    known = {
        "q1": {"policy": EIGHT.to_json(), "executions": 9},
        "q2": {"policy": ORIGINAL.to_json(), "executions": 8},
    }
    (tmp_path / "three_knobs.queries.json").write_text(json.dumps(known))
    spent = {"wall_s": 50.0, "cpu_s": 70.0, "bytes_rewritten": 0}
    (tmp_path / "three_knobs.spent.json").write_text(json.dumps(spent))
    policies, charge = tuned_by("three_knobs", workload, tmp_path, lambda *_: ORIGINAL, lambda *_: None)
    assert policies == {"q1": EIGHT}  # without one, a query runs as original
    assert charge.executions == 17
    assert charge.wall_s > 50.0


def test_a_charge_from_before_executions_were_counted_is_read() -> None:
    assert Charge(wall_s=1.0, cpu_s=2.0, bytes_rewritten=3).executions == 0
