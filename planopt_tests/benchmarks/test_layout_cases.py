"""What the cases of layouts must end with, shown both ways, and what is printed of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.layout_cases import Outcome, Side, shortfall, text_of
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction

pytestmark = pytest.mark.fast

SORT = LayoutProposal("events", "t", 3, "zorder", ("customer",))
MERGE = LayoutProposal("events", "t", 3, "compact")
ACCEPT = LayoutVerdict("v", SORT.id, "events", "t", 3, "accept", "cpu -80%", True, break_even_days=0.5)
REJECT = replace(ACCEPT, outcome="reject", reason="veto of by_day")
ACTION = MaintenanceAction(
    *("m", "events", "t", "zorder", "applied", ""),
    files_before=64,
    files_after=15,
    bytes_before=900,
    bytes_after=800,
    took_ns=2_000_000_000,
)
SIDES = {"point": (Side(64, 900, 2.0, 1.5), Side(1, 60, 0.2, 0.1))}
SELECTIVE = Outcome("selective", (SORT,), ACCEPT, ACTION, SIDES, "applied")


def test_a_case_that_ends_as_it_must_has_no_shortfall() -> None:
    assert shortfall(SELECTIVE) == ""
    assert shortfall(replace(SELECTIVE, case="fed", proposals=(MERGE,))) == ""
    assert shortfall(replace(SELECTIVE, case="full_scans", proposals=(MERGE,))) == ""
    assert shortfall(replace(SELECTIVE, case="full_scans", proposals=(), verdict=None)) == ""
    assert shortfall(replace(SELECTIVE, case="veto", verdict=REJECT, action=None)) == ""
    assert shortfall(replace(SELECTIVE, case="net_gain")) == ""


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (replace(SELECTIVE, proposals=(replace(SORT, columns=("status",)),)), "Z-order events by status is proposed"),
        (replace(SELECTIVE, proposals=()), "nothing is proposed"),
        (replace(SELECTIVE, verdict=replace(ACCEPT, results_equal=False)), "results are not known to be equal"),
        (replace(SELECTIVE, verdict=REJECT), "the verdict is reject"),
        (replace(SELECTIVE, sides={"point": (Side(64, 9, 2, 1), Side(16, 9, 2, 1))}), "files read fall by 4.0 only"),
        (replace(SELECTIVE, case="full_scans"), "Z-order events by customer is proposed"),
        (replace(SELECTIVE, case="veto"), "the verdict is accept"),
    ],
    ids=["decoy", "nothing", "results", "rejected", "files", "full scans", "veto"],
)
def test_what_is_missing_is_named(found: Outcome, why: str) -> None:
    assert shortfall(found).startswith(why)


def test_files_bytes_and_times_are_printed_before_and_after() -> None:
    lines = text_of(SELECTIVE).splitlines()
    assert lines[0] == "selective: proposed: Z-order events by customer"
    assert lines[3] == "  applied in 2.0 s: 64 -> 15 files, 900 -> 800 bytes"
    assert "files 64 -> 1, bytes 900 -> 60, CPU 2.000 -> 0.200 s, wall 1.500 -> 0.100 s" in lines[4]
    assert SELECTIVE.facts()["queries"]["point"][1]["files"] == 1
