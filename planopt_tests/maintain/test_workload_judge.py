"""The judge of a layout: the total at the declared rates decides, and a query that loses too much vetoes."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.maintain.pay_back import break_even_days, pays_back
from planopt_assets.maintain.subset import size_of, subset_of
from planopt_assets.maintain.workload_judge import QueryPairs, judge_workload, unsettled, workload_pairs
from planopt_assets.model.data_file import DataFile
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.pairs import Pair
from planopt_assets.validate.work import work_falls
from planopt_tests.measured import MIB, counters

pytestmark = pytest.mark.fast

LESS_WORK = {"scan_files": 1, "tasks": 10}


def query(
    name: str, before: float, after: float, *, runs: float = 24.0, rounds: int = 3, loss: float = 0.1, **changed: Any
) -> QueryPairs:
    """Three rounds that hardly differ; the new layout reads fewer files in fewer tasks."""
    jitter = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998, 1.001, 0.999)
    pairs = [
        Pair((counters(before * j),), (counters(after * (2 - j), **{**LESS_WORK, **changed}),)) for j in jitter[:rounds]
    ]
    return QueryPairs(name, runs, loss, pairs)


def verdict(*queries: QueryPairs, done: bool = False) -> Any:
    return judge_workload(queries, objective="cpu", rules=Rules(), done=done)


def test_a_layout_from_which_all_gain_is_accepted() -> None:
    found = verdict(query("report", 4.0, 1.0), query("lookup", 1.0, 0.9))
    assert (found.outcome, found.pairs) == ("accept", 3)
    assert 0.3 < found.gain.ratio < 0.4  # 1.9 of 5.0
    assert {"report: wall_ns", "lookup: cpu_ns"} <= {c.name for c in found.criteria}


def test_rows_of_one_query_fill_no_blocks_of_another() -> None:
    """In the sum every block could hold rows, and fewer of them would look like 14 % less work."""

    def shuffling(name: str, blocks: tuple[int, int], rows: int) -> QueryPairs:
        before, after = (counters(1.0, shuffle_blocks=n, shuffle_write_rows=rows) for n in blocks)
        return QueryPairs(name, 24.0, 0.1, [Pair((before,), (after,))] * 3)

    few_rows = shuffling("grouped", (2_000, 400), 24)
    many_rows = shuffling("joined", (2_000, 2_000), 1_000_000)
    found = work_falls(workload_pairs([few_rows, many_rows]), Rules())
    assert found.passed is None
    assert found.candidate > 0.97 * found.baseline
    filled = work_falls(workload_pairs([shuffling("joined", (2_000, 400), 1_000_000)]), Rules())
    assert filled.passed


def test_rates_decide_between_opposed_interests() -> None:
    """One gains 3 s, the other loses 0.04 s, which it may: only how often each runs tells what is better."""
    rare = verdict(query("report", 4.0, 1.0), query("lookup", 0.10, 0.14, loss=0.5))
    assert rare.outcome == "accept"
    often = verdict(query("report", 4.0, 1.0), query("lookup", 0.10, 0.14, loss=0.5, runs=2400.0), done=True)
    assert often.outcome == "reject"
    assert often.gain.ratio == pytest.approx(360 / 336, rel=0.02)


def test_a_query_that_loses_more_than_its_limit_vetoes_and_the_net_gain_is_shown() -> None:
    found = verdict(query("report", 4.0, 1.0), query("lookup", 0.10, 0.14))
    assert found.outcome == "reject"
    assert found.reason.startswith("veto of lookup: cpu_ns, 1.4")
    assert "ratio at most 1.1" in found.reason
    assert "the workload: cpu -7" in found.reason


def test_bytes_and_spill_of_each_query_are_guarded_too() -> None:
    found = verdict(query("report", 4.0, 1.0), query("lookup", 1.0, 0.9, scan_bytes=150 * MIB))
    assert (found.outcome, found.reason.partition(",")[0]) == ("reject", "veto of lookup: scan_bytes")
    read = query("lookup", 1.0, 0.9).pairs[0].totals("scan_bytes")[0]
    found = verdict(query("report", 4.0, 1.0), query("lookup", 1.0, 0.9, disk_spill_bytes=read // 5))
    assert (found.outcome, found.reason.partition(",")[0]) == ("reject", "veto of lookup: disk_spill_bytes")
    found = verdict(query("report", 4.0, 1.0), query("lookup", 1.0, 0.9, memory_spill_bytes=read))
    assert (found.outcome, found.reason.partition(",")[0]) == ("reject", "veto of lookup: memory_spill_bytes")


def test_a_little_spill_of_larger_tasks_is_left_to_the_clocks() -> None:
    read = query("lookup", 1.0, 0.9).pairs[0].totals("scan_bytes")[0]
    little = {"disk_spill_bytes": read // 20, "memory_spill_bytes": read // 4}
    assert verdict(query("report", 4.0, 1.0), query("lookup", 1.0, 0.9, **little)).outcome == "accept"
    lost = verdict(query("report", 4.0, 1.0), query("lookup", 1.0, 1.5, **little))
    assert (lost.outcome, lost.reason.partition(",")[0]) == ("reject", "veto of lookup: cpu_ns")


def test_memory_of_larger_tasks_is_no_veto_as_long_as_nothing_spills() -> None:
    more = {"task_memory_bytes": 100 * 100 * MIB}
    found = verdict(query("report", 4.0, 1.0), query("lookup", 1.0, 0.9, **more))
    assert found.outcome == "accept"
    assert not [c.name for c in found.criteria if "memory_bytes" in c.name]


def test_a_loss_that_may_be_chance_is_no_veto_and_no_accept() -> None:
    swings = [1.0, 1.6, 1.0]  # 1.2 on average, but not for sure
    lookup = QueryPairs("lookup", 24.0, 0.1, [Pair((counters(1.0),), (counters(s, **LESS_WORK),)) for s in swings])
    assert verdict(query("report", 40.0, 10.0), lookup) is None
    found = verdict(query("report", 40.0, 10.0), lookup, done=True)
    assert found.outcome == "inconclusive"
    assert "noise hides whether lookup" in found.reason


def test_one_slow_run_of_one_query_is_no_veto() -> None:
    """A single pair of a clock has no interval. It used to reject layouts of a busy machine."""
    lookup = query("lookup", 1.0, 1.32, rounds=1)
    assert verdict(query("report", 40.0, 10.0, rounds=1), lookup) is None
    found = verdict(query("report", 40.0, 10.0), query("lookup", 1.0, 1.32))
    assert (found.outcome, found.reason.partition(",")[0]) == ("reject", "veto of lookup: cpu_ns")


def test_the_more_queries_may_veto_the_surer_each_must_be() -> None:
    """Of forty clocks at 90 % each, some would veto by chance in every trial."""
    swings = [1.18, 1.30, 1.22]  # surely longer by itself, not at the share of twenty queries
    lookup = QueryPairs("lookup", 24.0, 0.1, [Pair((counters(1.0),), (counters(s, **LESS_WORK),)) for s in swings])
    others = [query(f"report{n}", 40.0, 10.0) for n in range(19)]
    assert verdict(lookup, done=True).outcome == "reject"
    assert verdict(lookup, *others) is None


def test_once_the_total_is_settled_only_a_loss_that_may_be_chance_is_measured_on() -> None:
    swings = [1.0, 1.6, 1.0]
    lookup = QueryPairs("lookup", 24.0, 0.1, [Pair((counters(1.0),), (counters(s, **LESS_WORK),)) for s in swings])
    report = query("report", 40.0, 10.0)

    def going_on(*queries: QueryPairs) -> set[str]:
        return unsettled(queries, objective="cpu", rules=Rules())

    assert going_on(report, lookup) == {"lookup"}
    assert going_on(report, query("lookup", 1.0, 0.9)) == set()
    assert going_on(query("report", 40.0, 10.0, rounds=2), lookup) == {"report", "lookup"}  # two pairs settle no total
    settled = QueryPairs("lookup", 24.0, 0.1, [*lookup.pairs, *query("lookup", 1.0, 0.9, rounds=9).pairs])
    assert going_on(report, settled) == set()
    found = verdict(report, settled)
    assert (found.outcome, found.pairs) == ("accept", 3)  # of the total; more are known of the lookup


def test_only_rounds_that_every_query_finished_count() -> None:
    pairs = workload_pairs([query("a", 2.0, 1.0, rounds=3), query("b", 2.0, 1.0, rounds=2)])
    assert len(pairs) == 2
    assert verdict(query("a", 2.0, 1.0), query("b", 2.0, 1.0, rounds=0)) is None
    assert verdict(query("a", 2.0, 1.0, rounds=0), done=True).outcome == "inconclusive"


def test_a_round_is_the_sum_of_all_weighed_by_their_rates() -> None:
    (pair,) = workload_pairs([query("a", 2.0, 1.0, runs=30.0, rounds=1), query("b", 4.0, 4.0, runs=10.0, rounds=1)])
    assert pair.totals("cpu_ns") == (1.5 * 2.0e9 + 0.5 * 4.0e9, 1.5 * 1.0e9 + 0.5 * 4.0e9)
    assert pair.totals("peak_memory_bytes") == (100 * MIB, 100 * MIB)
    assert pair.totals("task_memory_bytes") == (50 * MIB, 50 * MIB)


def test_an_unknown_counter_of_one_query_is_unknown_of_the_workload() -> None:
    found = verdict(query("a", 2.0, 1.0), query("b", 2.0, 1.0, scan_bytes=None))
    assert (found.outcome, found.reason) == ("inconclusive", "cannot be judged: scan_bytes unknown in a trial")


@pytest.mark.parametrize(("days", "passed"), [(30.0, True), (30.1, False), (None, False)])
def test_a_rewrite_must_pay_for_itself_in_time(days: float | None, passed: bool) -> None:
    assert pays_back(days, 30).passed is passed


def test_a_rewrite_without_a_saving_never_pays() -> None:
    assert break_even_days(60, 0) is None
    assert break_even_days(0, 20) == 0


FILES = [DataFile(f"part-{i:05d}", 1_000_000_000) for i in range(100)]


def test_a_subset_fits_and_is_always_the_same() -> None:
    chosen = subset_of(FILES, 20e9, seed=7)
    assert len(chosen) == 20
    assert chosen == subset_of(list(reversed(FILES)), 20e9, seed=7) != subset_of(FILES, 20e9, seed=8)
    assert size_of(chosen, FILES).describe() == "20 of 100 files, 20.0 of 100.0 GB"


def test_a_subset_has_at_least_one_file() -> None:
    assert len(subset_of(FILES, 1.0, seed=7)) == 1
