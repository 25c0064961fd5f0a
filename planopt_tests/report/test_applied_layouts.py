"""Layouts that are on tables, with their charge: one line each at the end of a run, and a section of the report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planopt_assets.loop.laid_out import LaidOut, by_runs, on_tables
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.model.stamp import Stamp
from planopt_assets.model.workload import Workload
from planopt_assets.report.applied_layouts import layout_facts, layout_line, print_layouts
from planopt_assets.report.html import write_report

pytestmark = pytest.mark.fast

ACTION = MaintenanceAction(
    *("mnt-1", "orders", "t", "compact", "applied", "compact orders into files of 32 MiB", "lay_1", "ver-1", 265, 266),
    files_before=266,
    files_after=4,
    bytes_rewritten=210_500_000,
    took_ns=12_000_000_000,
    cpu_ns=9_800_000_000,
    undo="planopt maintain orders --undo",
    stamp=Stamp("run-1"),
)
VERDICT = LayoutVerdict(
    *("ver-1", "lay_1", "orders", "t", 265, "accept", "cpu -60%", True),
    saving_cpu_ns_per_day=5_200_000_000,
    break_even_days=1.9,
)
MERGED = LaidOut(ACTION, VERDICT)
TAIL = MaintenanceAction("mnt-2", "parts", "u", "checkpoint", "applied", "write a checkpoint of parts", "lay_2")
CHECKPOINT = LaidOut(replace(TAIL, stamp=Stamp("run-2")))


def test_a_layout_has_its_charge_in_numbers_and_in_one_line() -> None:
    facts = layout_facts(MERGED)
    assert (facts["table"], facts["files_before"], facts["files_after"]) == ("orders", 266, 4)
    assert (facts["rewrite_cpu_s"], facts["saving_cpu_s_per_day"], facts["break_even_days"]) == (9.8, 5.2, 1.9)
    assert layout_line(facts) == (
        "orders: compact orders into files of 32 MiB: files 266 -> 4, 210.5 MB rewritten, 9.8 s CPU; "
        "saves 5.2 s CPU a day, break-even after 1.9 days"
    )
    part = layout_line(layout_facts(replace(MERGED, verdict=replace(VERDICT, subset="20 of 266 files"))))
    assert "saves 5.2 s CPU a day on 20 of 266 files" in part


def test_what_needed_no_proof_claims_no_saving() -> None:
    facts = layout_facts(CHECKPOINT)
    assert (facts["saving_cpu_s_per_day"], facts["break_even_days"], facts["verdict_id"]) == (None, None, None)
    assert layout_line(facts) == "parts: write a checkpoint of parts"


def test_only_what_a_run_did_itself_is_shown_at_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    print_layouts(by_runs([MERGED, CHECKPOINT], {"run-1"}))
    said = capsys.readouterr().out
    assert said.splitlines()[1:] == ["Layouts applied by this run:", f"  {layout_line(layout_facts(MERGED))}"]
    print_layouts(by_runs([MERGED, CHECKPOINT], {"run-3"}))
    assert capsys.readouterr().out == ""


def done(number: int, action: str, table_id: str = "t", words: str = "") -> LaidOut:
    reason = words or f"{action} orders"
    return LaidOut(MaintenanceAction(f"mnt-{number}", "orders", table_id, action, "applied", reason, f"lay_{number}"))


def numbers(layouts: list[LaidOut]) -> list[str]:
    return [one.action.id[4:] for one in layouts]


def test_on_a_table_is_its_last_rewrite_and_what_came_after_it() -> None:
    actions = ["compact", "statistics", "checkpoint", "zorder", "checkpoint", "statistics", "checkpoint"]
    layouts = [done(number, action) for number, action in enumerate(actions)]
    assert numbers(on_tables([*layouts, CHECKPOINT], {})) == ["3", "5", "6", "2"]
    assert numbers(on_tables(layouts[1:3], {})) == ["1", "2"]  # it was never rewritten
    several = [done(n, "statistics", words=f"collect statistics of {n}") for n in (1, 2)]
    assert numbers(on_tables(several, {})) == ["1", "2"]


def test_what_was_done_to_a_table_that_was_replaced_is_not_on_the_new_one() -> None:
    layouts = [done(0, "zorder"), done(1, "checkpoint", "new"), done(2, "checkpoint", "new")]
    assert numbers(on_tables(layouts, {"orders": "new"})) == ["2"]
    assert numbers(on_tables(layouts, {})) == ["2"]
    assert on_tables(layouts, {"orders": "newer"}) == []


def test_the_report_has_a_section_of_layouts_where_there_are_any(tmp_path: Path) -> None:
    workload = Workload("w", Path("planopt.yaml"), "store", (), ())
    nasty = replace(MERGED, verdict=replace(VERDICT, reason="<script>"))
    page = write_report(workload, {}, tmp_path / "a.html", layouts=[nasty, CHECKPOINT]).read_text(encoding="utf-8")
    assert "<h2>Layouts on tables</h2>" in page
    assert "<th>break-even</th>" in page
    for words in ("266 → 4", "210.5 MB", "9.8 s", "5.2 s", "break-even after 1.9 days", "&lt;script&gt;", "parts"):
        assert words in page
    assert "Layouts" not in write_report(workload, {}, tmp_path / "b.html").read_text(encoding="utf-8")
