"""A policy in force is confirmed on a later night over a real store; then an unchanged night has nothing to do."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from planopt_assets.loop import run as loop_run
from planopt_assets.loop.run import read_standings
from planopt_tests.one_pass import OnePass, run_all
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark


def test_the_next_night_confirms_what_was_promoted_and_the_one_after_it_does_nothing(
    one_pass: OnePass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = one_pass.copied(tmp_path, after="promote")
    reader = StoredRows(workload.store, workload.name)
    tried = reader.rows("verdicts", query_id="by_shop")
    assert read_standings(workload)["by_shop"].settled  # the same night

    monkeypatch.setattr(
        loop_run, "time", SimpleNamespace(time=lambda: time.time() + 13 * 3600, monotonic=time.monotonic)
    )
    due = read_standings(workload)["by_shop"]
    assert (due.settled, due.to_confirm is not None) == (False, True)
    run_all(workload)

    verdicts = reader.rows("verdicts", query_id="by_shop")
    (given,) = [v for v in verdicts if v["verdict_id"] not in {t["verdict_id"] for t in tried}]
    assert (given["purpose"], given["outcome"], given["error_spent"]) == ("confirm", "accept", 0.0)
    assert {t["purpose"] for t in tried} == {"try"}
    trials = {t["trial_id"] for t in reader.rows("trials", query_id="by_shop")}
    assert set(given["trial_ids"]) <= trials

    after = read_standings(workload)["by_shop"]
    assert after.confirmation is not None
    assert (after.confirmation.state, after.settled) == ("confirmed", True)
    assert after.active is not None
    assert after.active.generation == 1
