"""Watch: a policy that got worse is told from data that grew, changed, or a run that was disturbed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.counters import Counters
from planopt_assets.model.execution import Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.promote.watch import Limits, Regression, regression
from planopt_assets.store.codecs.observing import EXECUTIONS
from planopt_tests.rows import FEWER, Row

pytestmark = pytest.mark.fast

MB = 1 << 20
PROVEN: Row = {
    "input_rows": 1_000_000,
    "table_bytes": 1000 * MB,
    "scan_files": 10,
    "scan_bytes": 100 * MB,
    "shuffle_write_bytes": 80 * MB,
    "tasks": 40,
    "cpu_ns": 10**10,
    "wall_ns": 5 * 10**9,
}


def ran(name: str, policy: str = FEWER.id, purpose: str = "production", **changes: Any) -> Execution:
    """One execution, by the columns it is stored in."""
    counters = dict.fromkeys(Counters.names(), 0) | PROVEN
    known = {"execution_id": name, "query_id": "q", "policy_id": policy, "purpose": purpose, "binding": 0}
    return EXECUTIONS.from_row({**known, **counters, **changes})


def trials(**original: Any) -> list[Execution]:
    """Six pairs: original twice as dear, unless told."""
    dear = {"shuffle_write_bytes": 90 * MB, "tasks": 45, "cpu_ns": 12 * 10**9, "wall_ns": 6 * 10**9}
    clocks = [1.00, 1.02, 0.98, 1.01, 0.99, 1.00]
    return [
        _timed(row, share)
        for share in clocks
        for row in (
            ran(f"tri-p-{share}", purpose="trial"),
            ran(f"tri-o-{share}", ORIGINAL.id, "trial", **{**dear, **original}),
        )
    ]


AS_BEFORE = ran("exe-o", ORIGINAL.id, shuffle_write_bytes=90 * MB, tasks=45, cpu_ns=12 * 10**9, wall_ns=6 * 10**9)
"""Original in the user's own job, at the price it has in trials."""


def changed(run: Execution, **changes: Any) -> Execution:
    """The same run with other values in some of its columns."""
    return EXECUTIONS.from_row({**EXECUTIONS.to_row(run), **changes})


def _timed(run: Execution, share: float) -> Execution:
    clocks = {name: int(value * share) for name in ("cpu_ns", "wall_ns") if (value := run.counter(name)) is not None}
    return replace(run, counters=replace(run.counters, **clocks))  # type: ignore[arg-type]


def grown(factor: float, **changes: Any) -> Execution:
    """A run on inputs `factor` times as large, at the same price for each row."""
    return ran("obs-later", **{**{name: int(value * factor) for name, value in PROVEN.items()}, **changes})


def watched(*later: Execution, control: tuple[Execution, ...] = ()) -> str:
    found = regression(trials(), later, control)
    return found.reason if found else ""


# Deterministic counters decide at once


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
def test_one_run_beyond_a_limit_is_enough(counter: str, kept: int, broken: int) -> None:
    assert watched(ran("obs-1", **{counter: kept})) == ""
    found = regression(trials(), [ran("obs-1"), ran("obs-2", **{counter: broken})])
    assert found is not None
    assert found.evidence == ("obs-2",)
    assert found.reason.startswith(f"{counter} {broken:,} in obs-2: ")


def test_the_reason_has_the_numbers() -> None:
    assert watched(ran("obs-1", shuffle_write_bytes=160 * MB, input_rows=1_200_000)) == (
        "shuffle_write_bytes 167,772,160 in obs-1: 83,886,080 proven, inputs x1.20, original moved x1.00, "
        "so 100,663,296 expected, at most 1.25 x that + 1,048,576"
    )


@settings(deadline=None)
@given(st.floats(1.0, 1000.0))
def test_data_that_simply_grew_is_no_regression(factor: float) -> None:
    assert watched(*[grown(factor)] * 9) == ""


@settings(deadline=None)
@given(st.floats(0.01, 1.0))
def test_nor_is_data_that_shrank_though_a_row_costs_more_then(factor: float) -> None:
    fixed_price = {name: PROVEN[name] for name in ("cpu_ns", "wall_ns", "tasks", "shuffle_write_bytes")}
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


def test_spill_on_inputs_of_another_size_could_not_be_foretold() -> None:
    assert watched(grown(2.1, disk_spill_bytes=500 * MB)) == ""
    assert watched(grown(1.9, disk_spill_bytes=500 * MB)).startswith("disk_spill_bytes")


def test_a_policy_still_cheaper_than_original_stays() -> None:
    dear = trials(shuffle_write_bytes=400 * MB)
    assert regression(dear, [ran("obs-1", shuffle_write_bytes=400 * MB)]) is None
    assert regression(dear, [ran("obs-1", shuffle_write_bytes=400 * MB + 1)]) is not None


def test_what_happened_to_original_too_is_the_data_s_doing() -> None:
    moved = ran("obs-o", ORIGINAL.id, "observe", shuffle_write_bytes=270 * MB)  # three times its 90 MB
    assert watched(ran("obs-1", shuffle_write_bytes=240 * MB), control=(moved,)) == ""
    assert watched(ran("obs-1", shuffle_write_bytes=240 * MB)) != ""
    assert watched(ran("obs-1", shuffle_write_bytes=400 * MB), control=(moved,)) != ""


@pytest.mark.parametrize("counter", ["failed_tasks", "killed_tasks", "cache_reads"])
def test_a_disturbed_run_says_nothing(counter: str) -> None:
    assert watched(*[ran("obs-1", **{counter: 1}, shuffle_write_bytes=900 * MB, cpu_ns=10**12)] * 9) == ""


def test_what_a_user_s_job_could_not_count_says_nothing() -> None:
    unknown = dict.fromkeys(Counters.names()) | {"wall_ns": 5 * 10**9}
    control = ran("obs-o", ORIGINAL.id, **unknown)
    assert watched(*[ran("obs-1", **unknown)] * 9, control=(control,)) == ""
    partly = {**unknown, "shuffle_write_bytes": 900 * MB, "input_rows": 1_000_000}
    assert watched(ran("obs-1", **partly)).startswith("shuffle_write_bytes")
    clock = {**unknown, "input_rows": 1_000_000}
    assert watched(*slow(4.0, 9, **clock), control=(AS_BEFORE,)).startswith("wall_ns")


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
    assert regression([*trials(), *small], [later]) is not None
    assert regression([*trials(), *small], [changed(later, binding=0)]) is None


def test_without_trials_nothing_can_be_said() -> None:
    assert regression([], [ran("obs-1", shuffle_write_bytes=900 * MB)] * 9) is None


# Clocks need repeats and an interval


def slow(factor: float, runs: int, **changes: Any) -> list[Execution]:
    spread = [1.0, 1.03, 0.97, 1.02, 0.98]
    return [_timed(ran(f"obs-{i}", **changes), factor * spread[i % len(spread)]) for i in range(runs)]


def test_clocks_are_not_believed_before_five_runs() -> None:
    assert watched(*slow(3.0, 4), control=(AS_BEFORE,)) == ""
    assert watched(*slow(3.0, 5), control=(AS_BEFORE,)).startswith("cpu_ns for the same input is 3.00 (")


def test_clocks_of_a_user_s_job_say_nothing_where_original_never_ran_there() -> None:
    assert watched(*slow(3.0, 9)) == ""
    assert watched(*slow(3.0, 9), control=(changed(AS_BEFORE, action="write"),)) == ""
    assert watched(*slow(3.0, 9), control=(AS_BEFORE,)) != ""
    assert watched(*[changed(run, purpose="observe") for run in slow(3.0, 9)]) != ""


def test_a_clock_that_got_slower_says_by_how_much_and_how_surely() -> None:
    found = regression(trials(), slow(1.6, 6), (AS_BEFORE,))
    assert isinstance(found, Regression)
    assert found.evidence == tuple(f"obs-{i}" for i in range(6))
    assert "over 6 runs; at most 1.2, and original needs 1.20" in found.reason


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.15])
def test_a_clock_within_the_limit_is_no_regression(factor: float) -> None:
    assert watched(*slow(factor, 30), control=(AS_BEFORE,)) == ""


def test_noise_that_could_be_chance_is_no_regression() -> None:
    noisy = [_timed(ran(f"obs-{i}"), share) for i, share in enumerate([0.9, 3.0, 1.0, 2.5, 0.8])]
    assert watched(*noisy, control=(AS_BEFORE,)) == ""


def test_a_clock_slower_than_proven_but_not_than_original_stays() -> None:
    dear = trials(cpu_ns=3 * 10**10, wall_ns=15 * 10**9)
    control = (changed(AS_BEFORE, cpu_ns=3 * 10**10, wall_ns=15 * 10**9),)
    assert regression(dear, slow(2.0, 20), control) is None
    assert regression(dear, slow(4.0, 20), control) is not None


def test_another_machine_on_which_original_is_slower_too_is_no_regression() -> None:
    control = [_timed(ran(f"obs-o{i}", ORIGINAL.id, cpu_ns=12 * 10**9, wall_ns=6 * 10**9), 3.0) for i in range(3)]
    assert watched(*slow(3.0, 10), control=tuple(control)) == ""
    assert watched(*slow(6.0, 10), control=tuple(control)) != ""


def test_clocks_of_inputs_of_another_size_are_not_compared() -> None:
    larger = {"input_rows": 3_000_000, "table_bytes": 3000 * MB}
    assert watched(*slow(30.0, 10, **larger), control=(AS_BEFORE,)) == ""


def test_runs_without_any_spread_need_no_interval() -> None:
    same = [run for run in trials() if run.policy_id == FEWER.id][:1] * 3
    assert regression(same, [ran(f"obs-{i}", cpu_ns=2 * 10**10) for i in range(5)], (AS_BEFORE,)) is not None
    assert regression(same, [ran(f"obs-{i}") for i in range(5)], (AS_BEFORE,)) is None


def test_limits_can_be_told() -> None:
    assert regression(trials(), slow(3.0, 5), (AS_BEFORE,), limits=Limits(observations=6)) is None
