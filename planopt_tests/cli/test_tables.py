"""`planopt tables` and `planopt why TABLE`: on a store without rows too, and without Spark."""

from __future__ import annotations

import re
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
from planopt_assets.model.verdict import Criterion
from planopt_assets.report.tables import print_why_table
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


def test_why_shows_the_charge_of_a_verdict_and_what_the_judge_looked_at(planopt: Planopt, folder: Path) -> None:
    run = Run(Workspace(load_workload(folder / "planopt.yaml"), no_spark), "run-1")
    readiness(run, ["sales"])
    facts = run.workspace.pins.facts("sales", str(folder / "data" / "sales"))
    size: dict[str, Any] = {"files_before": 64, "bytes_before": 50_000_000, "bytes_rewritten": 48_000_000}
    merge = LayoutProposal(
        *("sales", facts.table_id, facts.version, "compact"),
        **(size | {"files_after": 8, "rewrite_cpu_ns": 9_000_000_000, "reason": "64 small files"}),
    )
    named = (merge.id, "sales", facts.table_id, 0)
    paid = Criterion("pays_back", True, None, 2.4, "within 30 days", "after 2.4 days")
    charged: dict[str, Any] = {
        **size,
        "criteria": (paid,),
        "saving_cpu_ns_per_day": 5_200_000_000,
        "rewrite_cpu_ns": 12_300_000_000,
        "rewrite_wall_ns": 8_100_000_000,
        "break_even_days": 2.4,
    }
    whole = LayoutVerdict("ver-1", *named, "accept", "cpu -60%", True, files_after=8, **charged)
    part = LayoutVerdict("ver-2", *named, "reject", "cpu +1%", None, subset="20 of 64 files, 0.0 of 0.1 GB", **charged)
    run.append("maintain", {PROPOSALS: [merge], LAYOUT_VERDICTS: [whole, replace(part, break_even_days=None)]})
    found = planopt("why", "sales", "--json").facts
    (proposed,), (one, two) = found["proposals"], found["verdicts"]
    assert {name: proposed[name] for name in size} == size
    assert {name: one[name] for name in size} == size
    assert (one["rewrite_cpu_s"], one["rewrite_wall_s"], one["saving_cpu_s_per_day"]) == (12.3, 8.1, 5.2)
    assert (one["files_after"], one["break_even_days"], one["results_equal"], one["subset"]) == (8, 2.4, True, None)
    assert [(c["name"], c["passed"], c["note"]) for c in one["criteria"]] == [("pays_back", True, "after 2.4 days")]
    assert (two["files_after"], two["results_equal"], two["subset"]) == (None, None, part.subset)
    said = planopt("why", "sales").out
    assert "rewrites 48.0 MB of 50.0 MB, files 64 -> 8, about 9.0 s CPU" in said
    charge = "rewrite: 12.3 s CPU and 8.1 s for 48.0 MB, files 64 -> {}; it saves 5.2 s CPU a day, {}\n"
    assert charge.format(8, "break-even after 2.4 days") + "           results are equal\n" in said
    assert charge.format("-", "never breaks even") in said
    assert f"results were not compared, on {part.subset}: the charge is of these files\n" in said
    assert re.search(r"pays_back +True +2 +within 30 days +after 2.4 days", said)


def test_why_tells_protocol_retention_and_log(planopt: Planopt, folder: Path) -> None:
    facts = planopt("why", "sales", "--json").facts
    assert (facts["protocol"]["min_reader"], facts["protocol"]["min_writer"]) == (1, 2)
    assert (facts["log_files"], facts["partitions"], facts["deletion_vector_files"]) == (1, None, 0)
    assert (facts["deleted_file_retention_hours"], facts["log_retention_hours"]) == (168.0, 720.0)
    said = planopt("why", "sales").out
    assert "protocol: reader version 1, writer version 2 (appendOnly, invariants)\n" in said
    assert "retention: replaced files 168 hours, log 720 hours\n" in said
    assert "log: 1 files, 0.0 MB, 1 commits since the checkpoint\n" in said
    assert "partitions" not in said


def test_why_tells_partitions_deletion_vectors_and_commits_a_day(
    planopt: Planopt, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = planopt("why", "sales", "--json").facts
    sizes = {"partitions": 12, "largest_partition_bytes": 9_000_000, "median_partition_bytes": 2_000_000}
    marks = {"deletion_vector_files": 3, "deleted_rows": 1200}
    grows = {"files_per_day": 480.0, "bytes_per_day": 1e6, "commits_per_day": 24.0}
    print_why_table({**facts, **sizes, **marks, **grows, "partitioned_by": ["day"]})
    said = capsys.readouterr().out
    assert "grows by 480 files and 1.0 MB a day in 24.0 commits\n" in said
    assert "partitions by day: 12, largest 9.0 MB, median 2.0 MB\n" in said
    assert "deletion vectors: 1,200 deleted rows in 3 files\n" in said


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
