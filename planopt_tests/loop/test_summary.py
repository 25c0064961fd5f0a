"""The summary of a run: every query in one table, in sentences that need no glossary."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_assets.loop.run import StageResult
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.summary import ROWS, headline, run_summary, sentence
from planopt_assets.loop.verdict_facts import verdict_result
from planopt_assets.model.redaction import HIDDEN, learn
from planopt_tests.rows import FEWER, OTHER, artifact, candidate, decision, promotion, standing, verdict

pytestmark = pytest.mark.fast

GOLDEN = Path(__file__).parent / "golden"
STANDINGS = {
    "fine": standing(query_id="fine", decisions=[decision("no_change")]),
    "promoted": standing(
        query_id="promoted",
        decisions=[decision()],
        candidates=[candidate()],
        verdicts=[verdict()],
        active=promotion(FEWER),
    ),
    "waiting": standing(
        query_id="waiting", decisions=[decision()], candidates=[candidate(OTHER)], verdicts=[verdict(OTHER)]
    ),
    "rejected": standing(query_id="rejected", candidates=[candidate()], verdicts=[verdict(outcome="reject")]),
    "unclear": standing(query_id="unclear", candidates=[candidate()], verdicts=[verdict(outcome="inconclusive")]),
    "refused": standing(query_id="refused", artifacts=[artifact("refused")]),
    "failed": standing(query_id="failed", artifacts=[artifact("failed")]),
    "new": standing(query_id="new", artifacts=[]),
}


def summary(stage: str, standings: dict[str, Standing], words: str = "1.2 s CPU, 45 tasks") -> str:
    return run_summary(stage, [StageResult(q, True, words) for q in standings], standings, "cpu")


def test_the_page_of_verdicts_reads_like_this() -> None:
    assert f"{summary('validate', STANDINGS)}\n" == (GOLDEN / "summary.md").read_text(encoding="utf-8")


def test_in_mode_auto_nobody_has_to_put_it_in_force() -> None:
    waiting = {"decisions": [decision()], "candidates": [candidate(OTHER)], "verdicts": [verdict(OTHER)]}
    said = {mode: sentence(standing(mode=mode, **waiting), "cpu") for mode in ("auto", "advise")}
    assert said["auto"].endswith("equal results. Stage `promote` puts it in force.")
    assert said["advise"].endswith("To put it in force: `planopt promote q`.")


def test_a_stage_before_the_verdict_tells_what_it_did_itself() -> None:
    assert "| fine | 1.2 s CPU, 45 tasks. **Policy:** original in force. |" in summary("observe", STANDINGS)


def test_a_stage_without_news_tells_where_the_query_stands() -> None:
    unchanged = [StageResult("promoted", False, "observe: inputs unchanged, evidence stands")]
    said = run_summary("observe", unchanged, STANDINGS, "cpu")
    assert "| promoted | The change was proven: less CPU, equal results. It is in force. **Gain:** cpu -30% " in said


def test_queries_that_are_not_in_the_run_follow_as_they_stand() -> None:
    said = run_summary("observe", [StageResult("new", True, "1.2 s CPU, 45 tasks")], STANDINGS, "cpu")
    assert said.splitlines()[2].startswith("| new | 1.2 s CPU, 45 tasks. **Policy:**")
    assert "| waiting | The change was proven" in said


def test_a_thousand_queries_are_counted_and_the_first_are_shown() -> None:
    many = {f"q{i}": standing(query_id=f"q{i}", decisions=[decision("no_change")]) for i in range(999)}
    many["promoted"] = STANDINGS["promoted"]
    said, counted = summary("validate", many), headline(list(many.values()), 3)
    assert counted == "1,000 queries, 3 in this run: 1 proven better with equal results, 999 fine as they are"
    assert said.count("\n| ") == ROWS
    assert said.splitlines()[2].startswith("| promoted |")  # news first
    assert "900 more queries are not shown" in said
    assert len(said) < 30_000


def test_a_gain_that_the_sentence_names_is_not_said_twice() -> None:
    unclear = verdict(outcome="reject", reason="noise hides the gain: cpu -30% (-40% to -20% at 92%)")
    said = summary("validate", {"q": standing(candidates=[candidate()], verdicts=[unclear])})
    assert said.count("-40% to -20%") == 1


def test_a_long_or_broken_text_stays_one_cell() -> None:
    said = summary("observe", {"fine": STANDINGS["fine"]}, f"a | b\nc {'x' * 1000}")
    (line,) = (one for one in said.splitlines() if one.startswith("| fine"))
    assert "a \\| b c x" in line
    assert len(line) < 400


def test_a_summary_shows_no_secret() -> None:
    learn(["k-93fa"])
    assert HIDDEN in summary("validate", {"failed": standing(artifacts=[artifact("failed", error="no k-93fa")])})


@pytest.mark.parametrize("objective", ["cpu", "latency", "bytes"])
def test_every_standing_has_a_sentence(objective: str) -> None:
    said = [sentence(s, objective) for s in STANDINGS.values()]  # type: ignore[arg-type]
    assert all(s.endswith(".") and s[0].isupper() for s in said)
    assert len(set(said)) == len(said)


def test_policy_gain_interval_and_seconds_of_a_verdict_stand_on_their_own() -> None:
    clocks = '[{"name": "objective:cpu", "passed": true, "baseline": 4e9, "candidate": 2.8e9, "threshold": "0.97"}]'
    found = verdict_result("q", [verdict(criteria=clocks), verdict(OTHER, "reject")], trials=9, changed=True)
    assert found.words["policy"] == "shuffle.partitions=2"
    assert found.words["gain"] == "cpu -30% (-40% to -20% at 92%)"
    assert found.words["outcome"] == "accept"
    assert found.numbers["gain_percent"] == pytest.approx(30)
    assert (found.numbers["gain_ratio_low"], found.numbers["gain_ratio_high"]) == (0.6, 0.8)
    assert (found.numbers["cpu_s_original"], found.numbers["cpu_s_candidate"]) == (4.0, 2.8)


def test_a_verdict_without_measurements_has_no_numbers_of_them() -> None:
    found = verdict_result("q", [verdict(outcome="inconclusive")], trials=2, changed=True)
    assert set(found.numbers) == {"trials", "accepted"}
