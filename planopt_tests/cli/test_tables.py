"""`planopt tables` and `planopt why TABLE`: on a store without rows too, and without Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.maintaining.remembering import memory
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.model.layout_proposal import ExpectedRead, LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict, MeasuredRead
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS, PROPOSALS
from planopt_assets.workload import load_workload
from planopt_tests.cli.conftest import Planopt
from planopt_tests.no_spark import no_spark

pytestmark = pytest.mark.fast


def test_every_table_has_a_line_before_the_first_run(planopt: Planopt) -> None:
    said = planopt("tables")
    assert said.code == 0
    assert [line.split()[:6] for line in said.out.splitlines()[1:]] == [
        ["sales", "0", "0.0", "MB", "1", "0"],
        ["shops", "0", "0.0", "MB", "1", "0"],
    ]
    facts = planopt("tables", "--json").facts["tables"]
    assert [(t["table"], t["files"], t["debt_files"], t["ready"]) for t in facts] == [
        ("sales", 1, 0, True),
        ("shops", 1, 0, True),
    ]


def test_a_damaged_table_exits_with_3_and_the_others_are_shown(planopt: Planopt, folder: Path) -> None:
    (folder / "data" / "sales" / "_delta_log" / f"{0:020d}.json").write_bytes(b"")
    said = planopt("tables")
    assert said.code == 3
    assert "damaged" in next(line for line in said.out.splitlines() if line.startswith("sales"))
    assert "ready" in next(line for line in said.out.splitlines() if line.startswith("shops"))


def test_verify_reads_the_data_and_finds_what_the_log_cannot_tell(planopt: Planopt, folder: Path) -> None:
    file = next((folder / "data" / "sales").glob("*.parquet"))
    whole = bytearray(file.read_bytes())
    whole[4:24] = bytes(20)  # the first page header is gone; the size is as before
    file.write_bytes(bytes(whole))
    facts = planopt("tables", "--verify", "--json")
    (sales,) = [t for t in facts.facts["tables"] if t["table"] == "sales"]
    assert (facts.code, sales["integrity"], sales["findings"][0]["cause"]) == (3, "damaged", "damaged")


def test_why_tells_all_of_a_table_and_a_query_goes_first(planopt: Planopt, folder: Path) -> None:
    said = planopt("why", "shops")
    assert said.code == 0
    assert said.out.splitlines()[0] == "shops: ready, version 0, 1 files, 0.0 MB, 0 files too many"
    assert planopt("why", "shops", "--json").facts["table"] == "shops"
    assert planopt("why", "cities", "--json").facts["id"] == "cities"
    unknown = planopt("why", "nothing")
    assert (unknown.code, "PLN-501" in unknown.err) == (1, True)


def test_why_shows_the_prediction_beside_what_was_measured(planopt: Planopt, folder: Path) -> None:
    workload = load_workload(folder / "planopt.yaml")
    run = Run(Workspace(workload, no_spark), "run-1")
    readiness(run, ["sales"])
    facts = run.workspace.pins.facts("sales", str(folder / "data" / "sales"))
    expected = (ExpectedRead("by_shop", 24.0, 64, 1000, 2, 100, 120_000_000),)
    proposal = LayoutProposal(
        "sales",
        facts.table_id,
        facts.version,
        "zorder",
        ("shop",),
        2**23,
        expected=expected,
        break_even_days=1.5,
        reason="64 files become 8",
        arithmetic=(("net_ns", 5),),
    )
    measured = (MeasuredRead("by_shop", 24.0, "accept", files_before=64, files_after=3, predicted_files_after=2),)
    verdict = LayoutVerdict(
        "ver-1", proposal.id, "sales", facts.table_id, 0, "accept", "cpu -60%", True, (), measured, prediction_error=0.5
    )
    run.append("maintain", {PROPOSALS: [proposal], LAYOUT_VERDICTS: [verdict]})
    shown = planopt("why", "sales").out
    assert "proposed Z-order sales by shop into files of 8 MiB: 64 files become 8; break-even after 1.5 days" in shown
    assert "64 -> 2" in shown
    assert "tried    accept: cpu -60%" in shown
    assert "64 -> 3" in shown
    assert "error of the predicted files: +50% (median)" in shown
    assert "Z-order sales by shop" in planopt("tables").out


def test_why_tells_of_each_action_who_did_it_what_it_changed_and_how_to_undo_it(planopt: Planopt, folder: Path) -> None:
    run = Run(Workspace(load_workload(folder / "planopt.yaml"), no_spark), "run-1")
    readiness(run, ["sales"])
    facts = run.workspace.pins.facts("sales", str(folder / "data" / "sales"))
    named = ("sales", facts.table_id, "compact", "applied", "compact sales into files of 32 MiB")
    changed: dict[str, Any] = {"version_before": 6, "version_after": 7, "files_before": 1200, "files_after": 4}
    undo: dict[str, Any] = {"undo": "planopt maintain sales --undo", "undo_until": datetime(2026, 8, 1, tzinfo=UTC)}
    by_ada = MaintenanceAction(
        *("mnt-1", *named), who="ada", bytes_rewritten=48_000_000, took_ns=12_300_000_000, **changed, **undo
    )
    refused = MaintenanceAction("mnt-2", *named[:3], "refused", "PLN-602 not allowed", error_code="PLN-602")
    run.append("maintain", {ACTIONS: [by_ada, refused]})
    one, two = planopt("why", "sales", "--json").facts["actions"]
    assert (one["who"], two["who"], two["error_code"]) == ("ada", None, "PLN-602")
    assert {name: one[name] for name in changed} == changed
    assert (one["bytes_rewritten"], one["took_s"], one["undo"]) == (48_000_000, 12.3, "planopt maintain sales --undo")
    assert (one["undo_until"], two["undo"], two["took_s"]) == ("2026-08-01T00:00:00+00:00", None, None)
    said = planopt("why", "sales").out
    assert "applied  compact: compact sales into files of 32 MiB" in said
    assert f"by ada at {one['at']}: version 6 -> 7, files 1,200 -> 4, 48.0 MB rewritten, 12.3 s" in said
    assert "undo: planopt maintain sales --undo (files are kept until 2026-08-01T00:00:00+00:00)" in said
    assert f"by automation at {two['at']}\n" in said


def test_why_says_who_could_no_longer_use_the_table(planopt: Planopt, folder: Path) -> None:
    run = Run(Workspace(load_workload(folder / "planopt.yaml"), no_spark), "run-1")
    readiness(run, ["sales"])
    facts = run.workspace.pins.facts("sales", str(folder / "data" / "sales"))
    vectors = LayoutProposal(
        *("sales", facts.table_id, facts.version, "properties"),
        properties=(("delta.enableDeletionVectors", "true"),),
        writers="marks instead of copies",
        locks_out="software without the table feature `deletionVectors` could no longer read it",
        reason="many copies",
    )
    run.append("maintain", {PROPOSALS: [vectors]})
    assert f"locks out: {vectors.locks_out}" in planopt("why", "sales").out
    assert planopt("why", "sales", "--json").facts["proposals"][0]["locks_out"] == vectors.locks_out


def test_the_plan_of_a_run_names_tables_that_were_never_looked_at(planopt: Planopt, folder: Path) -> None:
    facts = planopt("plan", "--json").facts
    assert [(t["table"], t["need"], t["why"]) for t in facts["tables"]] == [
        ("sales", "needed", "never looked at"),
        ("shops", "needed", "never looked at"),
    ]
    workload = load_workload(folder / "planopt.yaml")
    readiness(Run(Workspace(workload, no_spark), "run-1"), ["sales", "shops"])
    assert {t["need"] for t in planopt("plan", "--json").facts["tables"]} == {"done"}


def test_a_layout_that_is_not_tried_says_why_wherever_it_is_shown(planopt: Planopt, folder: Path) -> None:
    run = Run(Workspace(load_workload(folder / "planopt.yaml"), no_spark), "run-1")
    readiness(run, ["sales"])
    facts = run.workspace.pins.facts("sales", str(folder / "data" / "sales"))
    merge = LayoutProposal("sales", facts.table_id, facts.version, "compact", reason="small files")
    no = LayoutVerdict("ver-1", merge.id, "sales", facts.table_id, 0, "reject", "veto of by_shop", True)
    known = replace(no, layout_id=merge.layout_id, readers=memory(run, "sales").readers)
    run.append("maintain", {PROPOSALS: [merge], LAYOUT_VERDICTS: [known]})
    words = "rejected on these readers: veto of by_shop; tried again when a reader, a rate or a limit changes"
    assert "compact sales (rejected on these readers)" in planopt("tables").out
    assert f"waits: {words}" in planopt("why", "sales").out
    assert f"compact sales: waits: {words}" in planopt("plan").out
    (sales,) = [t for t in planopt("plan", "--json").facts["tables"] if t["table"] == "sales"]
    assert [(layout["layout"], layout["state"]) for layout in sales["layouts"]] == [("compact sales", "waits")]
    (told,) = planopt("why", "sales", "--json").facts["proposals"]
    assert (told["state"], told["error_budget"]["trials"]) == ("waits", 0)


def test_maintain_looks_first_at_a_table_for_which_nothing_is_proposed(planopt: Planopt, folder: Path) -> None:
    """A table that is written all day never has the version that was looked at."""
    said = planopt("maintain", "sales", "--apply")
    assert (said.code, "no layout is proposed for the table as it is" in said.out) == (0, True)
    assert {t["table"]: t["need"] for t in planopt("plan", "--json").facts["tables"]} == {
        "sales": "done",
        "shops": "needed",
    }
