"""What a pull request and a CI system are told."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

import pytest

from planopt_assets.loop.release.findings import Finding
from planopt_assets.loop.release.gate import Released
from planopt_assets.report.release import release_junit, release_markdown, summary

pytestmark = pytest.mark.fast

ANSWERS = [
    Released("kept", "spelling", "only its spelling changed"),
    Released("fine", "changed", "predicate: a < 1 -> a < 2", (Finding("note", "plan", "the plan changes"),), "-A\n+B"),
    Released("odd", "changed", "limit", (Finding("warning", "results", "it returns something else"),)),
    Released("bad", "changed", "x | y", (Finding("error", "contract", "column <n> is gone from the result"),)),
]


def test_the_summary_counts() -> None:
    assert summary(ANSWERS) == "release gate: 3 of 4 queries changed; 1 failed, 1 to look at, 2 passed"
    assert summary(ANSWERS[:1]) == "release gate: no query changed"


def test_markdown_lists_changed_queries_and_folds_their_plans() -> None:
    text = release_markdown(ANSWERS, "main")
    assert "| `bad` | ❌ regression | changed: x \\| y | error: contract: column <n> is gone from the result |" in text
    assert "`kept`" not in text
    assert "<details><summary>plan of <code>fine</code></summary>\n\n```diff\n-A\n+B\n```" in text


def test_junit_has_one_case_per_query_and_fails_only_regressions() -> None:
    suite = Xml.fromstring(release_junit(ANSWERS, "shop"))
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == ["bad"]
    assert [case.findtext("system-out") for case in suite][:3] == [
        None,
        "note: plan: the plan changes",
        "warning: results: it returns something else",
    ]
