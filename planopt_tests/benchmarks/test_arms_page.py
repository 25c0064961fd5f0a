"""The page of the benchmark of arms: from raw numbers alone, with failures counted as failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arms import main
from benchmarks.arms_numbers import broken, summary, totalled, worse
from benchmarks.arms_page import page, table

pytestmark = pytest.mark.fast

NO_CHARGE = {"wall_s": 0.0, "cpu_s": 0.0, "bytes_rewritten": 0}


def clocks(seconds: float, *, failed: bool = False, different: bool = False) -> dict[str, Any]:
    values = [] if failed else [seconds, seconds * 1.01, seconds * 0.99]
    return {
        "cpu": values,
        "wall": values,
        "failures": ["it broke"] if failed else [],
        "different": ["rows"] if different else [],
    }


def raw(**arms: dict[str, dict[str, Any]]) -> dict[str, Any]:
    charges = {arm: dict(NO_CHARGE) for arm in arms}
    if "planopt_layout" in charges:
        charges["planopt_layout"] = {"wall_s": 60.0, "cpu_s": 90.0, "bytes_rewritten": 5_000_000}
    return {"queries": "tpch", "scale": 0.1, "rounds": 3, "sessions": 1, "only": [], "charges": charges, "clocks": arms}


RAW = raw(
    original={"q1": clocks(4.0), "q2": clocks(2.0), "q3": clocks(1.0)},
    global_tuning={"q1": clocks(2.0), "q2": clocks(2.6), "q3": clocks(0.0, failed=True)},
    planopt_layout={"q1": clocks(2.0), "q2": clocks(1.0), "q3": clocks(0.5, different=True)},
)


def test_an_arm_that_fails_a_query_is_compared_on_the_others_and_takes_none_from_other_arms() -> None:
    assert (totalled(RAW), totalled(RAW, "global_tuning")) == (["q1", "q2", "q3"], ["q1", "q2"])
    rows = {row["arm"]: row for row in summary(RAW)}
    assert [(row["arm"], row["queries"]) for row in rows.values()] == [
        ("original", 3),
        ("global_tuning", 2),
        ("planopt_layout", 3),
    ]
    assert rows["original"]["cpu"] == pytest.approx(7.0)
    assert rows["global_tuning"]["cpu"] == pytest.approx(4.6)
    assert rows["global_tuning"]["cpu_less"].ratio == pytest.approx(6.0 / 4.6, rel=0.02)
    assert rows["planopt_layout"]["cpu_less"].ratio == pytest.approx(2.0, rel=0.02)
    assert (rows["global_tuning"]["failures"], rows["planopt_layout"]["different"]) == (1, 1)


def test_a_query_that_is_surely_slower_is_named() -> None:
    assert worse(RAW, "global_tuning") == ["q2"]
    assert worse(RAW, "planopt_layout") == []


def test_a_query_that_another_arm_fails_is_looked_at_too() -> None:
    slower = {**RAW["clocks"]["planopt_layout"], "q3": clocks(3.0)}
    assert worse({**RAW, "clocks": {**RAW["clocks"], "planopt_layout": slower}}, "planopt_layout") == ["q3"]


def test_the_page_and_the_table_tell_ratio_failures_and_cost() -> None:
    text = page(RAW)
    assert text == page(RAW)
    row = next(line for line in text.splitlines() if line.startswith("| planopt, layouts and policies"))
    assert "| 3.5 | 2.0" in row
    assert row.endswith("| none | 60 s, 90 s CPU, 5 MB rewritten |")
    assert "| q3 | 1.00 | failed | 0.50 |" in text
    assert text.count("| 1 (totals of 2 queries) | 0 |") == 1
    assert "3 queries in 3 rounds; an arm that fails some is compared on the others" in table(RAW)


def test_what_an_arm_wrote_is_its_cost_even_if_it_took_no_longer() -> None:
    written = {**RAW, "charges": {**RAW["charges"], "global_tuning": {**NO_CHARGE, "bytes_rewritten": 7_000_000}}}
    ends = [line.endswith("| 0 s, 0 s CPU, 7 MB rewritten |") for line in page(written).splitlines()]
    assert ends.count(True) == 1


def test_the_page_names_machine_budget_and_its_own_raw_numbers_where_they_are_known() -> None:
    known = page({**RAW, "cores": 2, "memory": "3g", "budget": 1_800}, "benchmark_small")
    assert "appends, on 2 cores with 3g of driver memory." in known
    assert (
        "--rounds 3 --budget 1800 --arms original global_tuning planopt_layout --page docs/benchmark_small.md" in known
    )
    assert "[benchmark_small.json](benchmark_small.json)" in known
    assert "driver memory" not in page(RAW)


def test_a_query_that_original_fails_counts_for_nobody() -> None:
    without = raw(
        original={"q1": clocks(4.0), "q2": clocks(0.0, failed=True)},
        planopt_layout={"q1": clocks(2.0), "q2": clocks(1.0)},
    )
    assert (totalled(without), totalled(without, "planopt_layout")) == (["q1"], ["q1"])


def test_a_result_that_differs_breaks_the_run_unless_original_itself_varies() -> None:
    assert broken(RAW)
    assert "results differ" in page(RAW)
    steady = raw(original={"q1": clocks(4.0)}, planopt_layout={"q1": clocks(2.0)})
    assert not broken(steady)
    unsteady = raw(original={"q1": clocks(4.0, different=True)}, planopt_layout={"q1": clocks(2.0, different=True)})
    assert not broken(unsteady)
    assert "except those of q1, which differ from run to run under original too" in page(unsteady)


def test_planopt_may_not_fail_where_others_may() -> None:
    assert not broken(raw(original={"q1": clocks(4.0)}, global_tuning={"q1": clocks(0.0, failed=True)}))
    assert broken(raw(original={"q1": clocks(4.0)}, planopt_layout={"q1": clocks(0.0, failed=True)}))


def test_one_round_has_no_interval_and_proves_nobody_worse() -> None:
    once = {"cpu": [4.0], "wall": [4.0], "failures": [], "different": []}
    slower = {**once, "cpu": [9.0], "wall": [9.0]}
    single = {**raw(original={"q1": once}, partitions_8={"q1": slower}), "rounds": 1, "only": ["q1"]}
    assert worse(single, "partitions_8") == []
    text = page(single)
    assert "0.44 (one round)" in text
    assert "--rounds 1 --only q1 --arms original partitions_8 --page docs/benchmark.md" in text


def test_the_page_names_the_suite_its_appends_and_the_executions_of_an_arm() -> None:
    more = {**RAW, "queries": "tpcds", "appends": 383}
    more["charges"] = {**RAW["charges"], "planopt_layout": {**RAW["charges"]["planopt_layout"], "executions": 198}}
    assert "3 queries over TPC-DS tables at scale 0.1, made of 383 appends" in page(more)
    assert "5 MB rewritten, 198 executions |" in page(more)
    assert "TPC-H tables at scale 0.1, made of 266 appends" in page(RAW)  # raw numbers that do not say it


def test_another_arm_may_return_something_else_where_the_text_leaves_it_open() -> None:
    ties = raw(original={"q1": clocks(4.0)}, optimize={"q1": clocks(2.0, different=True)})
    assert not broken(ties)
    assert "| 0 | 1 |" in page(ties)


def test_raw_numbers_of_an_earlier_run_are_printed_and_written_without_spark(tmp_path: Path, capsys) -> None:
    stored, written = tmp_path / "raw.json", tmp_path / "benchmark.md"
    stored.write_text(json.dumps(RAW))
    assert main(["--raw", str(stored), "--page", str(written)]) == 1  # planopt_layout returns something else
    assert capsys.readouterr().out.rstrip("\n") == table(RAW)
    assert written.read_text() == page(RAW)
    assert json.loads(written.with_suffix(".json").read_text()) == RAW
