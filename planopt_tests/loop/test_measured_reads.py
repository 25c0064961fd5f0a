"""What a trial of several layouts measured for one query, shared out between their tables."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.loop.maintaining.measured_reads import NOT_COMPARED, measured_read
from planopt_assets.maintain.workload_judge import QueryPairs
from planopt_assets.model.arm import Arm
from planopt_assets.model.layout_proposal import ExpectedRead, LayoutProposal
from planopt_assets.model.layout_verdict import MeasuredRead
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Query
from planopt_assets.validate.pairs import Pair
from planopt_tests.loop.fake_workspace import SALES
from planopt_tests.measured import counters

pytestmark = pytest.mark.fast

GB = 1_000_000_000


def proposal(table: str, *, files: tuple[int, int], size: tuple[int, int], saves: float) -> LayoutProposal:
    read = ExpectedRead("q", 24.0, files[0], size[0], files[1], size[1], round(saves * 1e9))
    return LayoutProposal(table, f"id-{table}", 7, "zorder", expected=(read,))


SORTED = proposal("events", files=(8, 6), size=(GB, GB // 10), saves=9.0)
MERGED = proposal("shops", files=(200, 2), size=(GB // 100, GB // 100), saves=1.0)
WORSE = proposal("days", files=(1, 15), size=(GB // 100, GB // 10), saves=-2.0)


def measured(one: LayoutProposal, together: Sequence[LayoutProposal], *, whole: bool = True) -> MeasuredRead:
    """Ten seconds were saved in all, 200 of 208 files and 900 MB."""
    before = counters(cpu_s=12.0, scan_files=208, scan_bytes=GB)
    after = counters(cpu_s=2.0, scan_files=8, scan_bytes=GB // 10)
    pairs = [Pair((before,), (after,), False)] * 3
    query, arm = Query("q", sql="SELECT 1", runs_per_day=24.0), Arm(ORIGINAL, (SALES,))
    trial: Any = SimpleNamespace(
        subject=SimpleNamespace(query=query, after=arm, original=None),
        pairs=QueryPairs("q", 24.0, 0.1, pairs),
        runs=SimpleNamespace(ledger=SimpleNamespace(pairs=lambda _: pairs)),
        varies=False,
    )
    return measured_read(one, together, trial, "cpu_ns", whole=whole)


def test_cpu_is_shared_out_by_the_cpu_that_was_predicted_and_not_by_files() -> None:
    """Sorting leaves 6 of 8 files, and a tenth of the bytes: nine of ten seconds are its own."""
    both = [SORTED, MERGED]
    assert [measured(one, both).saving_cpu_ns / 1e9 for one in both] == [pytest.approx(9.0), pytest.approx(1.0)]


def test_files_and_bytes_are_shared_out_each_by_its_own_prediction() -> None:
    events, shops = (measured(one, [SORTED, MERGED]) for one in (SORTED, MERGED))
    assert (events.files_after, shops.files_after) == (6, 2)
    assert (events.bytes_after, shops.bytes_after) == (GB // 10, GB // 100)


def test_a_table_that_was_predicted_to_lose_takes_nothing_from_the_others() -> None:
    three = [SORTED, MERGED, WORSE]
    savings = [measured(one, three).saving_cpu_ns / 1e9 for one in three]
    assert savings == [pytest.approx(9.0), pytest.approx(1.0), 0.0]


def test_where_nothing_was_predicted_all_tables_of_the_query_share_alike() -> None:
    plain = [LayoutProposal(name, f"id-{name}", 7, "compact") for name in ("a", "b")]
    assert [measured(one, plain).saving_cpu_ns / 1e9 for one in plain] == [5.0, 5.0]


def test_what_was_read_of_some_files_is_not_compared_with_the_prediction_for_all_of_them() -> None:
    some, everything = measured(SORTED, [SORTED], whole=False), measured(SORTED, [SORTED])
    assert (some.files_before, some.files_after, some.bytes_after) == (8, None, None)
    assert (some.predicted_files_after, some.prediction_error, some.note) == (6, None, NOT_COMPARED)
    assert some.saving_cpu_ns == everything.saving_cpu_ns  # the charge is of the same files
    assert (everything.prediction_error is not None, everything.note) == (True, "")
