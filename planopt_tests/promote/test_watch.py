"""Watch: a policy that got worse is told from data that grew, changed, or a run that was disturbed."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.counters import Counters
from planopt_assets.model.execution import Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.stamp import Stamp
from planopt_assets.promote.watch import Limits, regression
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
    "executor_cpu_ns": 10**10,
    "wall_ns": 5 * 10**9,
}


DEAR: Row = {"shuffle_write_bytes": 90 * MB, "tasks": 45, "executor_cpu_ns": 12 * 10**9, "wall_ns": 6 * 10**9}
"""Original, in trials."""


def ran(name: str, policy: str = FEWER.id, purpose: str = "production", **changes: Any) -> Execution:
    """One execution, by the columns it is stored in."""
    counters = dict.fromkeys(Counters.names(), 0) | PROVEN
    known = {"execution_id": name, "query_id": "q", "policy_id": policy, "purpose": purpose, "binding": 0, "cores": 2}
    return EXECUTIONS.from_row({**known, **counters, **changes})


def trials(**original: Any) -> list[Execution]:
    """Six pairs: original twice as dear, unless told."""
    clocks = [1.00, 1.02, 0.98, 1.01, 0.99, 1.00]
    return [
        _timed(row, share)
        for share in clocks
        for row in (
            ran(f"tri-p-{share}", purpose="trial"),
            ran(f"tri-o-{share}", ORIGINAL.id, "trial", **{**DEAR, **original}),
        )
    ]


AS_BEFORE = ran("exe-o", ORIGINAL.id, **DEAR)
"""Original in the user's own job, at the price it has in trials."""


def changed(run: Execution, **changes: Any) -> Execution:
    """The same run with other values in some of its columns."""
    return replace(EXECUTIONS.from_row({**EXECUTIONS.to_row(run), **changes}), stamp=run.stamp)


def _timed(run: Execution, share: float) -> Execution:
    known = {name: run.counter(name) for name in ("executor_cpu_ns", "wall_ns")}
    clocks = {name: int(value * share) for name, value in known.items() if value is not None}
    return replace(run, counters=replace(run.counters, **clocks))  # type: ignore[arg-type]


def grown(factor: float, **changes: Any) -> Execution:
    """A run on inputs `factor` times as large, at the same price for each row."""
    return ran("obs-later", **{**{name: int(value * factor) for name, value in PROVEN.items()}, **changes})


def watched(*later: Execution, control: tuple[Execution, ...] = ()) -> str:
    """Why a policy goes: each run is there three times, because one run decides nothing."""
    found = regression(trials(), [run for run in later for _ in range(3)], control)
    return found.reason if found else ""


# Deterministic counters: three runs


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


# Clocks against the trials


def slow(factor: float, runs: int, **changes: Any) -> list[Execution]:
    spread = [1.0, 1.03, 0.97, 1.02, 0.98]
    return [_timed(ran(f"obs-{i}", **changes), factor * spread[i % len(spread)]) for i in range(runs)]


def judged(*runs: Execution, control: tuple[Execution, ...] = ()) -> str:
    found = regression(trials(), runs, control)
    return found.reason if found else ""


def test_twenty_times_slower_is_noticed_long_before_fifty_runs_without_any_control() -> None:
    assert judged(*slow(20.0, 2)) == ""
    found = regression(trials(), slow(20.0, 6))
    assert found is not None
    assert found.evidence == tuple(f"obs-{i}" for i in range(6))
    assert found.reason == (
        "executor_cpu_ns is beyond its limit in 6 of 6 runs, 3.77 times the limit in the median: 4 x what the trials "
        "needed for inputs of this size + 5,000,000,000; evidence 1.42e+05, error at most 1.0% where chance explains "
        "one run in 10"
    )
    assert judged(*slow(1.0, 200), *slow(20.0, 15)) != ""  # and after months of good runs


@pytest.mark.parametrize("factor", [0.5, 1.0, 4.0])
def test_a_clock_within_the_limit_is_no_regression(factor: float) -> None:
    assert judged(*slow(factor, 300)) == ""


def test_now_and_then_a_slow_run_is_no_regression() -> None:
    runs = slow(1.0, 200)
    for at in range(0, 200, 20):
        runs[at] = _timed(ran(f"obs-{at}"), 50.0)
    assert judged(*runs) == ""


def test_a_clock_slower_than_proven_but_not_than_original_stays() -> None:
    dear = trials(executor_cpu_ns=30 * 10**10, wall_ns=150 * 10**9)
    assert regression(dear, slow(20.0, 50)) is None
    assert regression(trials(), slow(20.0, 50)) is not None


def test_another_machine_on_which_original_is_slower_too_is_no_regression() -> None:
    control = [_timed(changed(AS_BEFORE, execution_id=f"exe-o{i}"), 20.0) for i in range(3)]
    assert judged(*slow(20.0, 50), control=tuple(control)) == ""
    assert judged(*slow(200.0, 50), control=tuple(control)) != ""


def test_a_query_with_controls_waits_for_the_next_one() -> None:
    before = at(0, drawn("exe-o1"))
    runs = [at(1 + i, run) for i, run in enumerate(slow(20.0, 30))]
    assert judged(*runs[:19], control=(before,)) == ""
    assert judged(*runs[:20], control=(before,)) != ""  # none came
    as_slow, as_ever = at(5, _timed(drawn("exe-o2"), 20.0)), at(5, drawn("exe-o2"))
    assert judged(*runs, control=(before, as_slow)) == ""
    assert judged(*runs[:10], control=(before, as_ever)) != ""


def test_clocks_of_inputs_of_another_size_are_not_compared() -> None:
    larger = {"input_rows": 3_000_000, "table_bytes": 3000 * MB}
    assert judged(*slow(7.0, 50, **larger)) == ""


# Clocks against controls


def at(moment: int, run: Execution) -> Execution:
    return replace(run, stamp=Stamp("run", sequence=moment))


def drawn(name: str, **changes: Any) -> Execution:
    return changed(AS_BEFORE, execution_id=name, control=True, **changes)


def lived(factor: float, runs: int = 400, **changes: Any) -> tuple[list[Execution], list[Execution]]:
    """Runs of a job with a control in each twenty; the policy takes `factor` times as long as original."""
    chance = random.Random(7)
    later, controls = [], []
    for number in range(runs):
        noise = math.exp(chance.gauss(0, 0.1))
        if number % 20 == 9:
            controls.append(at(number + 1, _timed(drawn(f"exe-o{number}", **changes), noise)))
        else:
            clocks = {"executor_cpu_ns": 12 * 10**9, "wall_ns": 6 * 10**9}
            later.append(at(number + 1, _timed(ran(f"exe-{number}", action="frame", **clocks), noise * factor)))
    return later, controls


def test_a_policy_a_third_slower_than_its_controls_goes() -> None:
    later, controls = lived(1.3)
    found = regression(trials(), later, controls)
    assert found is not None
    assert not found.outgrown
    assert set(found.evidence) <= {run.id for run in controls}
    assert re.match(
        r"executor_cpu_ns is 1\.\d\d times that of control runs, which run as original \(20 controls among their "
        r"neighbours; at most 1\.00; evidence .*, error at most 1\.0%\)",
        found.reason,
    )


@pytest.mark.parametrize("factor", [0.7, 1.0])
def test_a_policy_no_slower_than_its_controls_stays(factor: float) -> None:
    assert regression(trials(), *lived(factor, runs=2000)) is None


def test_what_ran_as_original_without_being_drawn_is_no_control() -> None:
    later, controls = lived(1.3)
    assert regression(trials(), later, [changed(c, control=False) for c in controls]) is None


def test_controls_before_the_promotion_are_of_another_policy() -> None:
    later, controls = lived(1.3)
    assert regression(trials(), later, controls, since=Stamp("run", sequence=500)) is None


def test_another_number_of_cores_is_no_comparison() -> None:
    assert regression(trials(), *lived(1.3, cores=64)) is None


def test_the_verdict_says_what_a_clock_that_is_not_the_objective_may_take() -> None:
    """For latency a policy may take twice the CPU. Its controls show that, and it is no regression."""
    later, controls = lived(1.0)
    dearer = [changed(run, executor_cpu_ns=2 * (run.counter("executor_cpu_ns") or 0)) for run in later]
    twice = [changed(t, executor_cpu_ns=24 * 10**9) if t.policy_id == FEWER.id else t for t in trials()]
    assert regression(twice, dearer, controls, objective="latency") is None
    assert regression(trials(), dearer, controls, objective="latency") is not None
    assert regression(twice, dearer, controls, objective="cpu") is not None


def test_a_policy_under_which_jobs_fail_goes() -> None:
    later, controls = lived(0.7)
    failing = [changed(run, status="failed") for run in later]
    found = regression(trials(), failing, controls)
    assert found is not None
    assert "inf times that of control runs" in found.reason


def test_limits_can_be_told() -> None:
    assert regression(trials(), slow(20.0, 6), limits=Limits(error=1e-9)) is None
