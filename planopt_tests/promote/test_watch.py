"""Watch, by counters: a policy that got worse is told from data that grew, changed, or a run that was disturbed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.counters import Counters
from planopt_assets.model.execution import Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.promote.watch import regression
from planopt_tests.promote.watched_runs import (
    MB,
    PROVEN,
    changed,
    grown,
    ran,
    slow,
    trials,
)
from planopt_tests.rows import Row

pytestmark = pytest.mark.fast


def watched(*later: Execution, control: tuple[Execution, ...] = ()) -> str:
    """Why a policy goes: each run is there three times, because one run decides nothing."""
    found = regression(trials(), [run for run in later for _ in range(3)], control)
    return found.reason if found else ""


# Three runs


def test_a_policy_that_does_what_was_proven_stays() -> None:
    assert watched(ran("obs-1")) == ""


@pytest.mark.parametrize(
    ("counter", "kept", "broken"),
    [
        ("scan_bytes", 111 * MB, 111 * MB + 1),
        ("shuffle_write_bytes", 101 * MB, 101 * MB + 1),
        ("tasks", 88, 89),
        ("disk_spill_bytes", MB, MB + 1),
        ("memory_spill_bytes", MB, MB + 1),
    ],
)
def test_the_three_newest_runs_beyond_a_limit_are_a_regression(counter: str, kept: int, broken: int) -> None:
    assert watched(ran("obs-1", **{counter: kept})) == ""
    dear = [ran(f"obs-{i}", **{counter: broken}) for i in (2, 3, 4)]
    found = regression(trials(), [ran("obs-1"), *dear])
    assert found is not None
    assert found.evidence == ("obs-2", "obs-3", "obs-4")
    assert found.reason.startswith(f"{counter} {broken:,} in obs-4: ")
    assert regression(trials(), [*dear[:2], ran("obs-1"), *dear[2:]]) is None


def test_one_fast_run_with_more_tasks_on_more_cores_reverts_nothing() -> None:
    other = {"cores": 64, "tasks": 400, "wall_ns": 10**9, "executor_cpu_ns": 8 * 10**9}
    assert regression(trials(), [ran("exe-1", **other)]) is None
    assert watched(*[ran("exe-1", **other)] * 20) == ""
    assert watched(*[ran("exe-1", **{**other, "cores": None})] * 20) == ""
    assert watched(ran("exe-1", tasks=400)) != ""


def test_a_small_table_that_grew_a_hundredfold_moves_no_limit() -> None:
    """It is no reason to read three times as much of the large one."""
    proven = [replace(run, table_sizes=(("days", 1_000), ("sales", 1000 * MB))) for run in trials()]
    dear = replace(ran("obs-1", scan_bytes=300 * MB), table_sizes=(("days", 100_000), ("sales", 1000 * MB)))
    found = regression(proven, [dear] * 3)
    assert found is not None
    assert found.reason.startswith("scan_bytes 314,572,800 in obs-1: 104,857,600 proven, inputs x1.00")
    large = replace(dear, table_sizes=(("days", 1_000), ("sales", 4000 * MB)))
    assert regression(proven, [large] * 3) is None


def test_the_reason_has_the_numbers() -> None:
    assert watched(ran("obs-1", shuffle_write_bytes=160 * MB, input_rows=1_200_000)) == (
        "shuffle_write_bytes 167,772,160 in obs-1: 83,886,080 proven, inputs x1.20, original moved x1.00, "
        "so 100,663,296 expected, at most 1.25 x that + 1,048,576; so were the 3 newest runs"
    )


@settings(deadline=None)
@given(st.floats(1.0, 1000.0))
def test_data_that_simply_grew_is_no_regression(factor: float) -> None:
    assert watched(*[grown(factor)] * 9) == ""


@settings(deadline=None)
@given(st.floats(0.01, 1.0))
def test_nor_is_data_that_shrank_though_a_row_costs_more_then(factor: float) -> None:
    fixed_price = {name: PROVEN[name] for name in ("executor_cpu_ns", "wall_ns", "tasks", "shuffle_write_bytes")}
    assert watched(*[grown(factor, **fixed_price)] * 9) == ""


@settings(deadline=None)
@given(st.floats(1.0, 100.0), st.floats(1.5, 20.0))
def test_a_row_that_costs_more_is_a_regression_however_much_the_data_grew(factor: float, dearer: float) -> None:
    row = grown(factor, shuffle_write_bytes=int(PROVEN["shuffle_write_bytes"] * factor * dearer))
    assert watched(row).startswith("shuffle_write_bytes")


def test_reading_more_of_the_table_is_a_regression_though_more_rows_were_read() -> None:
    assert watched(ran("obs-1", scan_bytes=1000 * MB, input_rows=10_000_000)).startswith("scan_bytes")


def test_where_the_size_of_the_tables_is_not_known_the_scan_says_nothing() -> None:
    assert watched(ran("obs-1", table_bytes=None, scan_bytes=1000 * MB, input_rows=10_000_000)) == ""


def test_a_table_by_itself_tells_that_inputs_grew() -> None:
    sizes = {"small": 10 * MB, "large": 990 * MB}
    told = [changed(run, table_sizes=json.dumps(sizes), table_bytes=None) for run in trials()]
    dear = {"table_bytes": None, "scan_bytes": 300 * MB}
    same = [ran(f"exe-{i}", **dear, table_sizes=json.dumps(sizes)) for i in range(3)]
    grew = [ran(f"exe-{i}", **dear, table_sizes=json.dumps({**sizes, "large": 3000 * MB})) for i in range(3)]
    found = regression(told, same)
    assert found is not None
    assert found.reason.startswith("scan_bytes 314,572,800")
    assert regression(told, grew) is None


# Inputs beyond what was proven


def test_spill_on_inputs_of_another_size_is_not_blamed_on_the_policy_and_not_overlooked() -> None:
    runs = [grown(100, disk_spill_bytes=50_000 * MB, wall_ns=PROVEN["wall_ns"] * 60) for _ in range(3)]
    found = regression(trials(), runs)
    assert found is not None
    assert found.outgrown
    assert found.reason == (
        "inputs are x100.0 of what it was proven on, and disk_spill_bytes is 52,428,800,000 in obs-later, "
        "0 were proven; so were the 3 newest runs"
    )
    assert regression(trials(), runs[:2]) is None
    assert regression(trials(), [grown(100) for _ in range(9)]) is None  # larger, and no harm done
    blamed = regression(trials(), [grown(1.9, disk_spill_bytes=500 * MB) for _ in range(3)])
    assert blamed is not None
    assert not blamed.outgrown


def test_clocks_that_grew_more_than_the_inputs_are_a_sign_too() -> None:
    runs = [grown(10, wall_ns=PROVEN["wall_ns"] * 100) for _ in range(3)]
    found = regression(trials(), runs)
    assert found is not None
    assert (found.outgrown, "wall_ns is" in found.reason) == (True, True)


def test_a_policy_still_cheaper_than_original_stays() -> None:
    dear = trials(shuffle_write_bytes=400 * MB)
    assert regression(dear, [ran("obs-1", shuffle_write_bytes=400 * MB)] * 3) is None
    assert regression(dear, [ran("obs-1", shuffle_write_bytes=400 * MB + 1)] * 3) is not None


def test_what_happened_to_original_too_is_the_data_s_doing() -> None:
    moved = ran("obs-o", ORIGINAL.id, "observe", shuffle_write_bytes=270 * MB)  # three times its 90 MB
    assert watched(ran("obs-1", shuffle_write_bytes=240 * MB), control=(moved,)) == ""
    assert watched(ran("obs-1", shuffle_write_bytes=240 * MB)) != ""
    assert watched(ran("obs-1", shuffle_write_bytes=400 * MB), control=(moved,)) != ""


@pytest.mark.parametrize("counter", ["failed_tasks", "killed_tasks", "cache_reads"])
def test_a_disturbed_run_says_nothing(counter: str) -> None:
    assert watched(*[ran("obs-1", **{counter: 1}, shuffle_write_bytes=900 * MB, executor_cpu_ns=10**12)] * 9) == ""


def test_what_a_user_s_job_could_not_count_says_nothing() -> None:
    unknown = dict.fromkeys(Counters.names()) | {"wall_ns": 5 * 10**9}
    control = ran("obs-o", ORIGINAL.id, **unknown)
    assert watched(*[ran("obs-1", **unknown)] * 9, control=(control,)) == ""
    partly = {**unknown, "shuffle_write_bytes": 900 * MB, "input_rows": 1_000_000}
    assert watched(ran("obs-1", **partly)).startswith("shuffle_write_bytes")
    clock = {**unknown, "input_rows": 1_000_000}
    assert watched(*slow(40.0, 9, **clock)).startswith("wall_ns")


@pytest.mark.parametrize("told", [{"action": "other"}, {"status": "failed"}], ids=["counted or shown", "failed"])
def test_a_run_that_did_something_else_says_nothing(told: Row) -> None:
    assert watched(*[ran("exe-1", **told, shuffle_write_bytes=900 * MB)] * 9) == ""


def test_a_job_that_writes_is_compared_where_original_was_written_too() -> None:
    dear = {"action": "write", "shuffle_write_bytes": 200 * MB}
    writes = ran("exe-o", ORIGINAL.id, action="write", shuffle_write_bytes=90 * MB)
    shuffles_to_write = ran("exe-o", ORIGINAL.id, action="write", shuffle_write_bytes=270 * MB)
    assert watched(ran("exe-1", **dear)) == ""
    assert watched(ran("exe-1", **dear), control=(writes,)) != ""
    assert watched(ran("exe-1", **dear), control=(shuffles_to_write,)) == ""


def test_a_binding_is_compared_with_its_own_trials() -> None:
    small = [changed(run, binding=1, shuffle_write_bytes=8 * MB) for run in trials()]
    later = ran("obs-1", binding=1, shuffle_write_bytes=80 * MB)
    assert regression([*trials(), *small], [later] * 3) is not None
    assert regression([*trials(), *small], [changed(later, binding=0)] * 3) is None


def test_without_trials_nothing_can_be_said() -> None:
    assert regression([], [ran("obs-1", shuffle_write_bytes=900 * MB)] * 9) is None
