"""The HTML report: one file, the same bytes for the same rows, nothing in it that runs or that is fetched."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from planopt_assets.loop.standing import Standing
from planopt_assets.model.workload import Workload
from planopt_assets.report.html import write_report
from planopt_tests.rows import FEWER, OTHER, artifact, candidate, decision, promotion, standing, verdict

pytestmark = pytest.mark.fast

WORKLOAD = Workload("tpch_demo", Path("planopt.yaml"), "store", (), ())
EVIL = "<script>alert('&')</script>"
UNSAID = {"passed": None, "baseline": None, "candidate": None, "threshold": ""}
CRITERIA = json.dumps(
    [{"name": "tasks", "passed": True, "baseline": 100.0, "candidate": 40.0, "threshold": "at most 2 x", "note": ""}]
)
STANDINGS = {
    "accepted": standing(
        query_id="accepted",
        decisions=[decision()],
        candidates=[candidate()],
        verdicts=[verdict(FEWER, criteria=CRITERIA)],
        active=promotion(FEWER),
    ),
    "rejected": standing(
        query_id="rejected",
        decisions=[decision()],
        candidates=[candidate(OTHER)],
        verdicts=[verdict(OTHER, "reject", gain_ratio=1.2, gain_low=1.1, gain_high=9.9)],
    ),
    "inconclusive": standing(
        query_id="inconclusive",
        decisions=[decision()],
        candidates=[candidate()],
        verdicts=[verdict(FEWER, "inconclusive", results_equal=None)],
    ),
    "unchanged": standing(query_id="unchanged", decisions=[decision("no_change")]),
    "refused": standing(query_id="refused", artifacts=[artifact("refused")], decisions=[decision("cannot_tell")]),
    "new": standing(query_id="new", artifacts=[]),
}
NASTY = {
    EVIL: standing(
        query_id=EVIL,
        decisions=[decision(reason=EVIL, rule=EVIL, arithmetic=json.dumps({EVIL: EVIL}))],
        candidates=[candidate(reason=EVIL, diff=EVIL)],
        verdicts=[verdict(FEWER, reason=EVIL, criteria=json.dumps([UNSAID | {"name": EVIL, "note": EVIL}]))],
    )
}


class Page(HTMLParser):
    """Every tag with its attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def report(folder: Path, standings: dict[str, Standing]) -> str:
    return write_report(WORKLOAD, standings, folder / "deep" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("query", STANDINGS)
def test_every_query_is_in_the_report_with_its_outcome_and_reason(tmp_path: Path, query: str) -> None:
    found = STANDINGS[query]
    words = Page(report(tmp_path, STANDINGS)).words
    assert f"{query}: {found.outcome}" in words
    assert found.reason in words


def test_an_accepted_query_shows_its_gain_its_plan_change_and_what_is_in_force(tmp_path: Path) -> None:
    words = Page(report(tmp_path, {"accepted": STANDINGS["accepted"]})).words
    for expected in (
        "cpu -30% (-40% to -20% at 92%)",
        "+Exchange hashpartitioning 2",
        "generation 1: shuffle.partitions=2",
        "saving_cpu_ns_per_run",
        "at most 2 x",
    ):
        assert expected in words


def test_every_measured_gain_has_a_bar_that_stays_inside_the_picture(tmp_path: Path) -> None:
    page = Page(report(tmp_path, STANDINGS))
    circles = [float(attributes["cx"] or "nan") for tag, attributes in page.tags if tag == "circle"]
    lines = [float(attributes["x2"] or "nan") for tag, attributes in page.tags if tag == "line"]
    assert len(circles) == 2
    assert all(230 <= x <= 870 for x in [*circles, *lines])


def test_a_report_without_any_gain_has_no_picture(tmp_path: Path) -> None:
    assert "<svg" not in report(tmp_path, {"new": STANDINGS["new"]})


# Nothing in it runs


def test_text_from_queries_and_errors_is_shown_and_never_run(tmp_path: Path) -> None:
    text = report(tmp_path, NASTY)
    page = Page(text)
    assert "<script" not in text.lower()
    assert "script" not in [tag for tag, _ in page.tags]
    assert page.words.count(EVIL) >= 8


def test_a_nasty_query_id_cannot_leave_its_attribute(tmp_path: Path) -> None:
    breakout = '" onmouseover="alert(1)'
    page = Page(report(tmp_path, {breakout: standing(query_id=breakout, decisions=[decision("no_change")])}))
    assert not [attributes for _, attributes in page.tags if "onmouseover" in attributes]
    assert breakout in page.words


def test_there_is_no_script_in_the_report_at_all(tmp_path: Path) -> None:
    page = Page(report(tmp_path, STANDINGS))
    assert not [tag for tag, _ in page.tags if tag in ("script", "iframe", "object", "embed")]
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]


# Nothing in it is fetched


def test_the_report_refers_to_nothing_outside_itself(tmp_path: Path) -> None:
    text = report(tmp_path, STANDINGS)
    page = Page(text)
    assert "http" not in text
    assert not re.search(r"url\(|@import", text)
    assert not [tag for tag, attributes in page.tags if tag == "link" or "src" in attributes]
    links = [attributes["href"] or "" for _, attributes in page.tags if "href" in attributes]
    targets = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert links
    assert all(link[:1] == "#" and link[1:] in targets for link in links)


# The same bytes


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    assert report(tmp_path / "a", STANDINGS) == report(tmp_path / "b", STANDINGS)


def test_other_rows_give_another_report(tmp_path: Path) -> None:
    fewer = {name: found for name, found in STANDINGS.items() if name != "new"}
    assert report(tmp_path / "a", STANDINGS) != report(tmp_path / "b", fewer)
