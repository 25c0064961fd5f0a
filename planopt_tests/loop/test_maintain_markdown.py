"""What Dagster shows of a trial: the charge, and of each query what it read and took, beside the prediction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from planopt_assets.defs.table_stages import table_metadata
from planopt_assets.loop.maintaining.layout_trial import Tried
from planopt_assets.loop.maintaining.readers import readers_word
from planopt_assets.loop.maintaining.records import keep_trial
from planopt_assets.loop.maintaining.remembering import readers
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.model.layout_verdict import LayoutTrial, LayoutVerdict, MeasuredRead
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Workload
from planopt_tests.loop.scripted_layouts import laid_out_by_automation, propose, run_of
from planopt_tests.measured import counters

pytestmark = pytest.mark.fast

IN_FORCE = "pol_0123456789abcdef"


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    return laid_out_by_automation(tmp_path)


def executions(proposal_id: str) -> Iterator[LayoutTrial]:
    """`q1` under a policy: 4, 6 and 5 s before, 2, 1 and 3 s after. The others are dearer, and not counted."""
    for number, sides in enumerate([(90.0, 90.0), (4.0, 2.0), (6.0, 1.0), (5.0, 3.0)]):  # the first warms up
        for layout, cpu_s in enumerate(sides):
            yield execution(proposal_id, number, bool(layout), cpu_s)
    yield execution(proposal_id, 1, True, 80.0, ORIGINAL.id)
    yield execution(proposal_id, 2, False, 70.0, status="tainted")


def execution(
    proposal_id: str, number: int, layout: bool, cpu_s: float, policy_id: str = IN_FORCE, status: Any = "ok"
) -> LayoutTrial:
    return LayoutTrial(
        *(f"tri-{number}-{layout}-{policy_id}-{status}", proposal_id, "sales", "q1", policy_id, layout, number, 0, 0),
        warm_up=number == 0,
        status=status,
        counters=counters(cpu_s=cpu_s),
    )


def test_a_verdict_has_its_charge_and_a_row_for_each_query(workload: Workload) -> None:
    proposal, run = propose(workload), run_of(workload, "night")
    trials = tuple(executions(proposal.id))
    reads: dict[str, Any] = {"files_before": 40, "predicted_files_after": 2, "files_after": 3}
    sizes: dict[str, Any] = {"bytes_before": 9_000_000, "predicted_bytes_after": 8_000_000, "bytes_after": 7_000_000}
    measured = (
        MeasuredRead("q1", 96.0, "accept", **reads, **sizes),
        MeasuredRead("q2", 2.0, "inconclusive", note="its own result varies"),
    )
    verdict = LayoutVerdict(
        *("ver-1", proposal.id, "sales", proposal.table_id, proposal.version, "accept", "cpu -60%", True, (), measured),
        saving_cpu_ns_per_day=5_200_000_000,
        rewrite_cpu_ns=12_300_000_000,
        break_even_days=2.4,
        prediction_error=0.5,
        files_before=proposal.files_before,
        bytes_before=proposal.bytes_before,
        trial_ids=tuple(t.id for t in trials),
        layout_id=proposal.layout_id,
        readers=readers_word(workload, readers(run), "sales"),
    )
    keep_trial(run, Tried((verdict,), trials))
    (result,) = maintain(run, ["sales"], apply=False)
    known = {"rewrite_cpu_s": 12.3, "saving_cpu_s_per_day": 5.2, "prediction_error": 0.5}
    assert {name: result.numbers[name] for name in known} == known
    shown = table_metadata(run, "layout_verdicts", result)
    assert shown["prediction_error"] == 0.5
    assert isinstance(shown["details"], dg.MarkdownMetadataValue)
    lines = str(shown["details"].value).splitlines()
    assert lines[0] == "**accept** (`ver-1`): cpu -60%"
    assert lines[2].startswith("- rewrite: 12.3 s CPU and 0.0 s for 0.0 MB")
    assert lines[2].endswith("it saves 5.2 s CPU a day, break-even after 2.4 days")
    assert lines[3:5] == ["- results are equal", "- error of the predicted files: +50% (median)"]
    assert {line.count("|") for line in lines[6:]} == {13}
    assert lines[8:] == [
        "| q1 | accept | 96 | 40 | 2 | 3 | 9.0 MB | 8.0 MB | 7.0 MB | 5.00 s | 2.00 s |  |",
        "| q2 | inconclusive | 2 | - | - | - | - | - | - | - | - | its own result varies |",
    ]


def test_an_unknown_error_of_the_prediction_is_no_number(workload: Workload) -> None:
    proposal, run = propose(workload), run_of(workload, "night")
    verdict = LayoutVerdict(
        *("ver-1", proposal.id, "sales", proposal.table_id, proposal.version, "reject", "cpu +9%", True),
        layout_id=proposal.layout_id,
        readers=readers_word(workload, readers(run), "sales"),
    )
    keep_trial(run, Tried((verdict,), ()))
    (result,) = maintain(run, ["sales"], apply=False)
    assert "prediction_error" not in result.numbers
    assert "never breaks even" in result.markdown
