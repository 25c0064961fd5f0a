"""A benchmark of arms that was stopped goes on: arms, what they cost, and rounds are kept in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arms import Measurement
from benchmarks.arms_made import Competitor
from benchmarks.arms_tables import Charge, appended, charged, copied
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query, Workload
from planopt_tests.conftest import make_tables, workload_of

pytestmark = pytest.mark.fast

EIGHT = Policy.of({"spark.sql.shuffle.partitions": "8"})


def test_an_arm_is_read_as_it_was_written() -> None:
    arm = Competitor("optimize_8", {"sales": Path("/data/sales")}, {"q": EIGHT}, Charge(1.5, 2.5, 7))
    assert Competitor.from_json("optimize_8", arm.to_json()) == arm


def test_what_a_stopped_run_has_spent_is_charged_with_the_rest(tmp_path: Path) -> None:
    spent = tmp_path / "spent.json"
    with pytest.raises(KeyboardInterrupt), charged(spent):
        raise KeyboardInterrupt
    first = json.loads(spent.read_text())
    assert first["wall_s"] > 0
    spent.write_text(json.dumps({**first, "wall_s": 1000.0}))
    with charged(spent) as charge:
        pass
    assert 1000.0 < charge.wall_s < 1100.0


def measurement(folder: Path, *names: str) -> Measurement:
    workload: Workload = workload_of(folder, [Query("q", sql="SELECT 1")])
    arms = [Competitor(name, {}, {"q": EIGHT} if name == "partitions_8" else {}) for name in names]
    return Measurement(workload, arms, {"queries": "tpch", "scale": 0.1}, folder / "raw.json")


def test_queries_of_the_same_arms_are_continued_and_no_others(tmp_path: Path) -> None:
    make_tables(tmp_path, files=1)
    new = measurement(tmp_path, "original", "partitions_8").raw
    assert (new["rounds"], new["sessions"], set(new["clocks"])) == (0, 0, {"original", "partitions_8"})
    stored: dict[str, Any] = {**new, "rounds": 2, "done": {"q": 2}, "sessions": 1}
    (tmp_path / "raw.json").write_text(json.dumps(stored))
    again = measurement(tmp_path, "original", "partitions_8")
    assert again.raw == stored
    again.run(2)  # all rounds are there: no session is opened
    assert measurement(tmp_path, "original").raw["rounds"] == 0


def test_copies_have_the_appends_of_the_table_in_their_order(tmp_path: Path) -> None:
    make_tables(tmp_path, files=3)
    made = copied({"sales": tmp_path / "data" / "sales"}, tmp_path / "copy")
    assert [f.name for f in appended(made["sales"])] == [f.name for f in appended(tmp_path / "data" / "sales")]
    assert len(appended(made["sales"])) == 3
    assert all(f.exists() for f in appended(made["sales"]))
