"""The critical path and the bound it sets: what a change can gain at most, by CPU and by the clock."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.decide.critical_path import Bound, critical_path, gain_bound
from planopt_assets.decide.prices import SCANNED, execution_cpu_ns, stage_cpu_ns, stages_cpu_ns
from planopt_assets.model.cost_model import GIVEN
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.signals import Aggregation, Join, JoinInput, Scan, Signals, Stage
from planopt_assets.model.work_units import execution_units
from planopt_tests.decide.cases import evidence_of, scanned, shuffled

pytestmark = pytest.mark.fast

S = 1_000_000_000
# 8 tasks cost 40 ms: rows make it the round number the module's docstring works with.
ORDERS = Stage(0, (), tasks=8, rows=scanned(4.0), files=0, shuffle_partitions=1, nodes=(5, 6))
CUSTOMER = Stage(1, (), tasks=8, rows=scanned(0.8), files=0, shuffle_partitions=1, nodes=(7, 8))
JOIN = Stage(2, (0, 1), tasks=8, rows=shuffled(0.8), files=0, shuffle_partitions=0, nodes=(0, 1, 2))
STAGES = (ORDERS, CUSTOMER, JOIN)
COSTS = {0: 4 * S, 1: round(0.8 * S), 2: round(0.8 * S)}


_INPUT = JoinInput(1_000_000, None, None, shuffled=True, tables=("t",))
MERGE = Join(3, "Inner", "SortMergeJoin", "SortMergeJoin", None, _INPUT, replace(_INPUT, rows=100_000), 100_000)


def evidence(*stages: Stage, cores: int = 16, bindings: int = 1) -> Evidence:
    """A query with these stages, the same for each binding."""
    made = evidence_of({"cores": cores, "executions": [{}] * bindings})
    return replace(made, executions=tuple(replace(e, stages=stages) for e in made.executions))


# What a stage costs


def test_a_stage_costs_its_rows_files_tasks_and_blocks() -> None:
    stage = Stage(0, (), tasks=12, rows=765_000, files=201, shuffle_partitions=200)
    assert stage_cpu_ns(stage, Signals()) == 15_300_000 + 402_000_000 + 60_000_000 + 12 * 200 * 200_000


def test_a_row_from_a_shuffle_costs_more_than_one_from_a_scan() -> None:
    reads = Stage(1, (0,), tasks=0, rows=1_000_000, files=0, shuffle_partitions=0, nodes=(3,))
    assert stage_cpu_ns(reads, Signals()) == 1_000_000 * GIVEN.shuffled_row_ns
    both = Signals(scans=(Scan(3, "t", files=0, bytes=0, splits=0, read_rows=512_000, row_bytes=30),))
    decoded = 15_000 * GIVEN.decoded_kib_ns
    assert stage_cpu_ns(reads, both) == 512_000 * GIVEN.row_ns + decoded + 488_000 * GIVEN.shuffled_row_ns


def test_what_operators_do_with_rows_costs_in_the_stage_that_they_are_in() -> None:
    shown = Signals(joins=(MERGE,), aggregations=(Aggregation(4, rows_in=50_000, rows_partial=10, groups=5, keys=1),))
    stage = Stage(0, (), tasks=0, rows=0, files=0, shuffle_partitions=0)
    assert stage_cpu_ns(replace(stage, nodes=(3,)), shown) == 1_100_000 * GIVEN.joined_row_ns
    assert stage_cpu_ns(replace(stage, nodes=(4,)), shown) == 50_000 * GIVEN.grouped_row_ns
    assert stage_cpu_ns(stage, shown) == 0


# What nobody told is no zero: it would bound the stage too low


GROUPED = Aggregation(5, rows_in=5_000_000, rows_partial=10, groups=10, keys=1)
UNKNOWN_SIDE = replace(MERGE, node=5, right=replace(_INPUT, rows=None))
SCANS = tuple(Scan(n, t, 0, 0, 8, read_rows=5_000_000, row_bytes=16) for n, t in ((6, "o"), (8, "c")))


def two_scans(scans: tuple[Scan, ...] = SCANS, **shown: object) -> Evidence:
    """Two stages that read 5 M rows each, measured at 4 s; the first groups or joins its rows (operator 5)."""
    stages = replace(ORDERS, rows=5_000_000), replace(CUSTOMER, rows=5_000_000), replace(JOIN, rows=10)
    made = evidence(*stages)
    (one,) = made.executions
    counted = replace(one.counters, cpu_ns=4 * S)
    return replace(made, executions=(replace(one, scans=scans, counters=counted, **shown),))  # type: ignore[arg-type]


def test_the_rows_into_an_aggregation_are_all_of_its_stage_where_they_are_unknown() -> None:
    known, unknown = (gain_bound(two_scans(aggregations=(a,)), [5]) for a in (GROUPED, replace(GROUPED, rows_in=None)))
    without = gain_bound(two_scans(), [5])
    assert unknown == known
    assert without.cpu_ns < 2 * S < known.cpu_ns


def test_so_are_the_rows_of_an_input_of_a_join() -> None:
    known = replace(UNKNOWN_SIDE, right=replace(_INPUT, rows=5_000_000))
    assert gain_bound(two_scans(joins=(UNKNOWN_SIDE,)), [5]) == gain_bound(two_scans(joins=(known,)), [5])


def test_and_the_rows_of_a_scan() -> None:
    untold = (replace(SCANS[0], read_rows=None), SCANS[1])
    assert gain_bound(two_scans(untold), [5]) == gain_bound(two_scans(), [5])


def test_a_stage_that_reads_only_a_broadcast_has_its_rows_from_scans() -> None:
    """Also where the scan does not tell them: a row out of a scan is cheaper than one out of a shuffle."""
    small = Stage(0, (), tasks=1, rows=100, files=1, shuffle_partitions=0, nodes=(9,))
    probes = Stage(1, (0,), tasks=0, rows=1_000_000, files=0, shuffle_partitions=8, nodes=(3,))
    scan = Scan(3, "t", files=1, bytes=0, splits=8, row_bytes=0)
    assert stage_cpu_ns(probes, Signals(scans=(scan,), stages=(small, probes))) == 1_000_000 * GIVEN.row_ns
    shuffles = replace(small, shuffle_partitions=8)
    both = Signals(scans=(scan,), stages=(shuffles, probes))
    assert stage_cpu_ns(probes, both) == 1_000_000 * GIVEN.shuffled_row_ns


def test_the_stages_of_a_plan_do_together_what_the_whole_execution_did() -> None:
    """Two scans, shuffled and joined, and the join's rows grouped: the model of the whole is the sum of its stages."""
    scans = tuple(Scan(n, t, 10, 0, 4, read_rows=r, row_bytes=32) for n, t, r in ((7, "o", 64_000), (9, "c", 32_000)))
    sides = (replace(_INPUT, rows=rows) for rows in (50_000, 32_000))
    join = Join(3, "Inner", "SortMergeJoin", "SortMergeJoin", None, *sides, 40_000)
    shown = Signals(scans=scans, joins=(join,), aggregations=(Aggregation(2, 40_000, 500, 500, keys=1),))
    stages = (
        Stage(0, (), 4, 64_000, files=10, shuffle_partitions=200, nodes=(6, 7)),
        Stage(1, (), 4, 32_000, files=10, shuffle_partitions=200, nodes=(8, 9)),
        Stage(2, (0, 1), 2, 82_000, files=0, shuffle_partitions=200, nodes=(2, 3, 4, 5)),
        Stage(3, (2,), 1, 500, files=0, shuffle_partitions=0, nodes=(0, 1)),
    )
    counted = {
        "input_rows": 96_000,
        "scan_files": 20,
        "tasks": 11,
        "shuffle_blocks": 2_000,
        "shuffle_write_rows": 82_500,
    }
    whole = execution_units(counted, shown)
    assert whole is not None
    assert sum(stage_cpu_ns(stage, shown) for stage in stages) == GIVEN.of(whole)


def test_rules_about_scans_have_one_price_for_every_row_that_a_stage_reads() -> None:
    stage = Stage(1, (0,), tasks=12, rows=765_000, files=201, shuffle_partitions=200, nodes=(3, 5))
    shown = Signals(scans=(Scan(5, "t", 201, 0, 12, read_rows=65_000, row_bytes=16),), joins=(MERGE,))
    assert stage_cpu_ns(stage, shown, SCANNED) == 765_000_000 + 402_000_000 + 60_000_000 + 480_000_000


def test_an_execution_costs_its_stages_and_what_it_takes_to_plan_and_start_it() -> None:
    (execution,) = evidence(*STAGES).executions
    assert execution_cpu_ns(execution) == round(0.1 * S) + 4 * S + round(0.8 * S) * 2


# The longest chain


def test_the_longest_chain_is_the_one_the_docstring_works_out() -> None:
    assert critical_path(STAGES, COSTS, cores=16) == (S // 2 + S // 10, (0, 2))


def test_without_a_stage_on_it_another_chain_is_the_longest() -> None:
    assert critical_path(STAGES, COSTS, cores=16, free={0}) == (S // 5, (1, 2))


def test_a_stage_with_fewer_tasks_than_cores_leaves_cores_idle() -> None:
    assert critical_path([replace(ORDERS, tasks=1)], COSTS, cores=16) == (4 * S, (0,))
    assert critical_path([ORDERS], COSTS, cores=16) == (S // 2, (0,))


def test_a_stage_that_two_others_read_is_counted_once_in_a_chain() -> None:
    shared = [ORDERS, replace(CUSTOMER, feeds=(0,)), replace(JOIN, feeds=(0, 1))]
    assert critical_path(shared, COSTS, cores=16) == (S // 2 + 2 * (S // 10), (0, 1, 2))


def test_of_two_chains_as_long_as_each_other_it_is_always_the_same_one() -> None:
    twins, costs = [CUSTOMER, replace(CUSTOMER, index=3), replace(JOIN, feeds=(3, 1))], {**COSTS, 3: COSTS[1]}
    assert critical_path(twins, costs, 16) == critical_path(twins[::-1], costs, 16) == (S // 5, (1, 2))


def test_no_stage_is_no_chain() -> None:
    assert critical_path([], {}, cores=16) == (0, ())


# The bound


def test_a_stage_off_the_critical_path_saves_cpu_and_nothing_by_the_clock() -> None:
    assert gain_bound(evidence(*STAGES), [7]) == Bound(round(0.8 * S), 0, round(0.7 * S))


def test_a_stage_on_the_critical_path_saves_what_the_next_longest_chain_leaves() -> None:
    assert gain_bound(evidence(*STAGES), [5]) == Bound(4 * S, round(0.4 * S), round(0.7 * S))


def test_where_cores_are_few_work_beside_the_critical_path_takes_its_time_too() -> None:
    # 5.6 s of work on 2 cores are 2.8 s; without `customer` 2.4 s.
    assert gain_bound(evidence(*STAGES, cores=2), [7]) == Bound(round(0.8 * S), round(0.4 * S), round(2.9 * S))


def test_operators_of_several_stages_are_bounded_by_all_of_them() -> None:
    assert gain_bound(evidence(*STAGES), [6, 8]).cpu_ns == round(4.8 * S)


@pytest.mark.parametrize("nodes", [[], [99]], ids=["no operator named", "an operator the plan does not have"])
def test_what_may_touch_anything_is_bounded_by_everything(nodes: list[int]) -> None:
    assert gain_bound(evidence(*STAGES), nodes) == Bound(round(5.6 * S), round(0.6 * S), round(0.7 * S))


def test_without_stages_the_whole_query_is_the_bound() -> None:
    assert gain_bound(evidence_of({"executions": [{"cpu_s": 3}]}), [5]) == Bound(3 * S, 3 * S, 3 * S)


def test_bindings_add_up() -> None:
    one, two = (gain_bound(evidence(*STAGES, bindings=n), [5]) for n in (1, 2))
    assert two == one + one


@st.composite
def stage_graphs(draw: st.DrawFn) -> tuple[Stage, ...]:
    """Stages that read only from stages before them, each with one operator of its own number."""
    count = draw(st.integers(1, 7))
    return tuple(
        Stage(
            index,
            tuple(draw(st.sets(st.integers(0, index - 1), max_size=3))) if index else (),
            tasks=draw(st.integers(0, 40)),
            rows=draw(st.integers(0, 10**7)),
            files=draw(st.integers(0, 100)),
            shuffle_partitions=draw(st.sampled_from([0, 2, 200])),
            nodes=(index,),
        )
        for index in range(count)
    )


@settings(deadline=None, max_examples=200)
@given(stages=stage_graphs(), cores=st.integers(1, 32), data=st.data())
def test_touching_more_never_bounds_lower_and_nothing_is_bounded_above_the_whole(
    stages: tuple[Stage, ...], cores: int, data: st.DataObject
) -> None:
    numbers = [s.index for s in stages]
    some = data.draw(st.lists(st.sampled_from(numbers), min_size=1, unique=True))
    more = sorted({*some, data.draw(st.sampled_from(numbers))})
    small, large, whole = (gain_bound(evidence(*stages, cores=cores), n) for n in (some, more, numbers))
    assert 0 <= small.cpu_ns <= large.cpu_ns <= whole.cpu_ns
    assert 0 <= small.wall_ns <= large.wall_ns <= whole.wall_ns <= whole.modelled_wall_ns
    (execution,) = evidence(*stages).executions
    assert critical_path(stages, stages_cpu_ns(execution), cores)[0] <= whole.wall_ns
