"""A policy found on some number of cores says so wherever it is shown: a cluster with more needs another value."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_assets.defs.names import Names
from planopt_assets.defs.stage_metadata import stage_metadata
from planopt_assets.loop.run import Run, StageResult, words_of
from planopt_assets.loop.stages import decide, replan
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.verdict_facts import verdict_result
from planopt_assets.model.workload import Workload
from planopt_assets.report.html import write_report
from planopt_assets.report.standing_facts import standing_facts
from planopt_assets.report.terminal import print_standings, print_why
from planopt_assets.report.why import why_facts
from planopt_tests.rows import FEWER, OTHER, candidate, decision, promotion, standing, verdict

pytestmark = pytest.mark.fast

PARTITIONS = "spark.sql.shuffle.partitions"
WORDS = f"{PARTITIONS} depends on the number of cores: measure it again on a cluster with another number"
TRIED = standing(verdicts=[verdict(FEWER)])
IN_FORCE = standing(active=promotion(FEWER))
SAME_ANYWHERE = standing(verdicts=[verdict(OTHER)], active=promotion(OTHER))


@pytest.mark.parametrize(("found", "names"), [(TRIED, [PARTITIONS]), (IN_FORCE, [PARTITIONS]), (SAME_ANYWHERE, [])])
def test_status_says_it_for_people_and_in_json(
    found: Standing, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    print_standings([SAME_ANYWHERE, found])
    assert (WORDS in capsys.readouterr().out.splitlines()) == bool(names)
    assert standing_facts(found)["depends_on_cores"] == names


def test_status_says_it_once_for_many_queries(capsys: pytest.CaptureFixture[str]) -> None:
    print_standings([TRIED, IN_FORCE])
    assert capsys.readouterr().out.count(WORDS) == 1


def test_why_says_it_also_for_a_candidate_without_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    facts = why_facts(standing(candidates=[candidate(FEWER)], active=promotion(OTHER)))
    print_why(facts)
    assert facts["depends_on_cores"] == [PARTITIONS]
    assert WORDS in capsys.readouterr().out.splitlines()
    assert why_facts(standing(candidates=[candidate(OTHER)], active=promotion(OTHER)))["depends_on_cores"] == []


@pytest.mark.parametrize(("found", "times"), [(TRIED, 1), (IN_FORCE, 1), (SAME_ANYWHERE, 0)])
def test_the_report_says_it(found: Standing, times: int, tmp_path: Path) -> None:
    workload = Workload("tests", tmp_path / "planopt.yaml", "store", (), ())
    assert write_report(workload, {"q": found}, tmp_path / "report.html").read_text().count(WORDS) == times


@pytest.mark.parametrize(
    "result",
    [
        decide._result("q", (decision(),)),
        replan._result("q", [candidate(FEWER)]),
        verdict_result("q", [verdict(FEWER)], trials=4, changed=True),
        StageResult("q", True, "promoted", words=words_of((promotion(FEWER),))),
    ],
    ids=["decide", "replan", "validate", "promote"],
)
def test_dagster_has_it_with_every_stage_that_names_the_policy(
    result: StageResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "standings", lambda run: {"q": standing()})
    monkeypatch.setattr(Run, "workload", Workload("tests", Path("planopt.yaml"), "store", (), ()))
    assert stage_metadata(Names(), Run.__new__(Run), "validate", "trials", result)["remark"] == WORDS


def test_a_stage_whose_policies_fit_everywhere_has_no_remark() -> None:
    assert "remark" not in words_of((promotion(OTHER),))
    assert "remark" not in replan._result("q", [candidate(OTHER)]).words
