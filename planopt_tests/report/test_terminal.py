"""What a terminal gets: no control characters from outside, and lines as wide as it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import dagster as dg
import pytest

from planopt_assets.cli.command import answer, print_json, print_json_list, say
from planopt_assets.defs.stage_assets import run_stage
from planopt_assets.errors import QueryFailed
from planopt_assets.loop.run import Run, StageResult
from planopt_assets.model.gate import Gate
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Workload
from planopt_assets.report.html import write_report
from planopt_assets.report.standing_facts import standing_facts
from planopt_assets.report.terminal import Progress, print_diff, print_gates, print_standings, print_why
from planopt_assets.report.why import why_facts
from planopt_tests.rows import FEWER, OTHER, artifact, candidate, decision, promotion, standing, verdict

pytestmark = pytest.mark.fast

WILD = "\x1b[2J\x1b]0;title\x07 no\r such \x9b31m table"
TAME = "[2J]0;title no such 31m table"
FAILED = standing(artifacts=[artifact("failed", error=WILD)])


def test_no_control_character_of_an_error_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_standings([FAILED])
    print_why(why_facts(FAILED))
    print_gates({"native_scan": {"q": Gate(False, True, WILD)}})
    print_diff({"id": "q", "policy": WILD, "role": "active", "diff": WILD, "edits": [WILD]})
    with Progress("tests", ["q"], quiet=False) as progress:
        progress.tell("observe", "q", WILD)
    say(WILD)
    answer(WILD)
    said = capsys.readouterr()
    for text, times in ((said.out, 7), (said.err, 2)):
        assert text.count(TAME) == times
        assert not [char for char in text if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160]


def test_an_accepted_change_is_explained_by_what_led_to_it_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    taken = replace(decision(), policy_after=FEWER, reason="the shuffle is small")
    tried = replace(decision(), policy_after=OTHER, reason="explored: reads of 16 MiB", rule="explore")
    print_standings([standing(decisions=[taken, tried], candidates=[candidate()], verdicts=[verdict()])])
    said = capsys.readouterr().out
    assert "the shuffle is small" in said
    assert "explored" not in said


def test_a_vetoed_policy_is_not_shown_as_if_it_were_applied(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    smuggled = standing(active=promotion(Policy.of({"spark.sql.ansi.enabled": "false"})))
    why = "spark.sql.ansi.enabled may change results"
    print_standings([smuggled])
    assert "g1 not applied: ansi.enabled=false" in (status := capsys.readouterr().out)
    assert f"the policy in force is not applied: {why}" in status
    assert standing_facts(smuggled)["not_applied"] == why
    assert why_facts(smuggled)["in_force"].endswith(f", not applied: {why}")
    page = write_report(
        Workload("demo", Path("planopt.yaml"), "store", (), ()), {"q": smuggled}, tmp_path / "report.html"
    ).read_text()
    assert f"not applied: {why}" in page
    sound = standing(active=promotion(FEWER))
    assert standing_facts(sound)["not_applied"] is None
    assert "not applied" not in why_facts(sound)["in_force"]


def test_json_keeps_every_character_and_shows_none_to_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"error": WILD})
    print_json_list({"workload": "tests"}, "queries", [{"error": WILD}])
    said = capsys.readouterr().out
    assert not [char for char in said if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160]
    assert json.loads(said[: said.index("}") + 1]) == {"error": WILD}
    assert json.loads(said[said.index("}") + 1 :])["queries"] == [{"error": WILD}]


def test_dagster_logs_no_control_character_of_a_failure() -> None:
    def broken(*_: object) -> list[StageResult]:
        raise QueryFailed(WILD, where="query q", fix="correct it")

    with pytest.raises(dg.Failure) as failure:
        run_stage(broken, cast(Run, None), ["q"])
    assert TAME in str(failure.value.description)
    assert "\x1b" not in str(failure.value.description)


@pytest.mark.parametrize(("columns", "widest"), [("40", 40), ("500", 320), (None, 160), ("wide", 160)])
def test_a_pipe_is_as_wide_as_it_says(
    columns: str | None, widest: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    print_standings([standing(artifacts=[artifact("failed", error="word " * 50)])])
    found = max(len(line.rstrip()) for line in capsys.readouterr().out.splitlines())
    assert found <= widest
    assert found > widest - 60
