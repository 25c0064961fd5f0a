"""Layouts from the table as found to the table laid out, with real scans: the cases of `benchmarks layouts`, small.

What a clock would decide is left out: the judge looks at results, bytes and files alone, and every rewrite pays.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.layout_cases import TABLE, make_table, outcome_of, proposed, shortfall, workload_of
from benchmarks.layout_tables import AT_ONCE, Size
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.maintaining import layout_trial
from planopt_assets.loop.run import Run
from planopt_tests.conftest import MASTER, SETTINGS
from planopt_tests.lenient import LENIENT

pytestmark = pytest.mark.e2e

SMALL = Size(100_000, 24, payload=190)  # 20 MB: a sorted table has files of 4 MiB at least
FED = Size(20_000, 2 * AT_ONCE)
Begun = Callable[[str, Size], Run]


@pytest.fixture(scope="module", autouse=True)
def any_rewrite_pays() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout_trial, "break_even_days", lambda *_: 1.0)
        yield


@pytest.fixture
def begun(spark, tmp_path: Path) -> Begun:
    """A case with its table; no query minds a slower clock, and only the one that has to may veto by its bytes."""

    def make(case: str, size: Size) -> Run:
        session = {"master": MASTER, "spark_settings": tuple(sorted(SETTINGS.items())), "control_share": 0.0}
        workload = workload_of(case, tmp_path, **session)
        may_lose = [q if (case, q.id) == ("veto", "by_day") else replace(q, max_loss=1e9) for q in workload.queries]
        workload = replace(workload, queries=tuple(may_lose))
        make_table(case, Workspace(workload), tmp_path, size)
        return Run(Workspace(workload), str(uuid.uuid4()), rules=LENIENT)

    return make


def rows_of(run: Run) -> list[Any]:
    """All rows in one: equal before and after, wherever they are."""
    table = run.workspace.spark.read.format("delta").load(str(run.workload.table(TABLE).path))
    return table.selectExpr("count(*)", "sum(customer)", "sum(amount)", "bit_xor(xxhash64(*))").collect()


def test_a_table_fed_by_appends_of_49_files_is_found_proposed_proven_and_applied(begun: Begun) -> None:
    run = begun("fed", FED)
    before = rows_of(run)
    found = outcome_of("fed", run)
    assert rows_of(run) == before
    assert shortfall(found) == ""
    assert [p.action for p in found.proposals] == ["compact", "properties"]
    action = found.action
    assert action is not None
    assert (action.files_before, action.files_after, action.status) == (2 * AT_ONCE, 1, "applied")
    assert action.bytes_before is not None
    assert action.bytes_after is not None
    assert action.bytes_after < action.bytes_before / 2
    assert {q: (b.files, a.files) for q, (b, a) in found.sides.items()} == {
        "total": (2 * AT_ONCE, 1),
        "done": (2 * AT_ONCE, 1),
    }
    facts = found.facts()
    assert facts["rewrite_cpu_s"] > 0
    assert facts["apply_s"] > 0


def test_a_selective_workload_gets_its_table_sorted_by_the_right_column_among_decoys(begun: Begun) -> None:
    run = begun("selective", SMALL)
    rows = rows_of(run)
    found = outcome_of("selective", run)
    assert rows_of(run) == rows
    assert shortfall(found) == ""  # by customer alone; at least five times fewer files; results equal
    assert found.action is not None
    assert found.action.action == "zorder"
    assert found.verdict is not None
    assert (found.verdict.results_equal, found.verdict.rewrite_cpu_ns > 0) == (True, True)
    assert found.verdict.bytes_rewritten > 0
    assert found.verdict.prediction_error is not None
    before, after = found.sides["point"]
    assert before.files == SMALL.files
    assert after.bytes * 3 < before.bytes


def test_full_scans_of_the_same_table_sort_nothing(begun: Begun) -> None:
    found = proposed(begun("full_scans", SMALL))
    assert [p.action for p in found] == ["compact", "checkpoint"]


def test_a_query_that_loses_more_than_it_may_vetoes_and_the_numbers_of_all_are_told(begun: Begun) -> None:
    run = begun("veto", SMALL)
    found = outcome_of("veto", run)
    assert shortfall(found) == ""
    proposal = found.proposals[0]
    assert (proposal.gain, proposal.lose) == (("point",), ("by_day",))
    point, by_day = found.sides["point"], found.sides["by_day"]
    assert point[0].files >= 5 * point[1].files
    assert by_day[1].bytes > 5 * by_day[0].bytes
    assert found.verdict is not None
    assert found.verdict.reason.startswith("veto of by_day: scan_bytes")
    assert "the workload:" in found.verdict.reason
    assert found.action is None
