"""One message per incident and destination, one when it is over, none twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.automate.messages import (
    MOST_FAILURES,
    Told,
    forgotten,
    owed,
    read_record,
    without_unheard,
    write_record,
)
from planopt_assets.model.alerts import Incident

pytestmark = pytest.mark.fast

WORSE = Incident("regression/q/g1", "regression", "q", "q: its policy got worse", "wall_ns x2")
GATE = Incident("gate/native_scan/r", "gate", "r", "r: check native_scan fails", "not native")


def told_of(told: dict[str, Told], *incidents: Incident, about: set[str], now: float, error: str = "") -> list[str]:
    """One round: everything owed is sent, with this error; returns what was sent."""
    kept = without_unheard(told, incidents, about)
    said = owed(kept, incidents, about, now)
    kept.update({one.incident_id: one.after(error, now) for one in said})
    told.clear()
    told.update(read_record(write_record(forgotten(kept, incidents, about))))
    return [f"{one.event} {one.incident_id} {one.episode}" for one in said]


def test_an_incident_is_told_once_and_its_end_once() -> None:
    told: dict[str, Told] = {}
    assert told_of(told, WORSE, about={"q"}, now=100) == ["opened regression/q/g1 100"]
    assert told_of(told, WORSE, about={"q"}, now=200) == []
    assert told_of(told, about={"q"}, now=300) == ["over regression/q/g1 100"]
    assert told_of(told, about={"q"}, now=400) == []
    assert told == {}


def test_an_incident_that_comes_back_is_another_one() -> None:
    told: dict[str, Told] = {}
    for now in (100, 300):
        assert told_of(told, WORSE, about={"q"}, now=now) == [f"opened regression/q/g1 {now}"]
        assert told_of(told, about={"q"}, now=now + 1) == [f"over regression/q/g1 {now}"]


def test_nothing_is_said_about_queries_that_were_not_looked_at() -> None:
    told: dict[str, Told] = {}
    told_of(told, WORSE, GATE, about={"q", "r"}, now=100)
    assert told_of(told, GATE, about={"r"}, now=200) == []
    assert set(told) == {WORSE.id, GATE.id}


def test_a_message_that_was_not_taken_is_tried_again_ever_later_and_not_for_ever() -> None:
    told: dict[str, Told] = {}
    days = range(0, 10 * 86_400, 60)
    tried = [now for now in days if told_of(told, WORSE, about={"q"}, now=float(now), error="no answer")]
    assert tried[:8] == [0, 60, 180, 420, 900, 1860, 3780, 7380]
    assert 7 * 86_400 < tried[-1] < 8 * 86_400
    assert told[WORSE.id].given_up
    assert len(tried) == MOST_FAILURES
    assert told[WORSE.id].error == "no answer"


def test_a_message_that_is_tried_again_keeps_its_id() -> None:
    told: dict[str, Told] = {}
    told_of(told, WORSE, about={"q"}, now=100, error="no answer")
    assert told_of(told, WORSE, about={"q"}, now=200) == ["opened regression/q/g1 100"]


def test_killed_before_the_answer_it_is_said_again_with_the_same_id() -> None:
    told: dict[str, Told] = {}
    (one,) = owed(told, [WORSE], {"q"}, 100)
    told[one.incident_id] = one  # kept before it was sent; then the process died
    assert told_of(told, WORSE, about={"q"}, now=150) == ["opened regression/q/g1 100"]


def test_an_incident_that_ended_before_anybody_heard_of_it_is_dropped() -> None:
    told: dict[str, Told] = {}
    told_of(told, WORSE, about={"q"}, now=100, error="no answer")
    assert told_of(told, about={"q"}, now=200) == []
    assert told == {}


def test_an_end_that_nobody_heard_of_is_no_end_if_the_incident_is_still_there() -> None:
    told: dict[str, Told] = {}
    told_of(told, WORSE, about={"q"}, now=100)
    told_of(told, about={"q"}, now=200, error="no answer")
    assert told_of(told, WORSE, about={"q"}, now=300) == []


def test_an_incident_that_ended_is_told_with_its_end_once_each_however_long_it_is_found() -> None:
    """A regression that was taken back before anybody looked, and stays the last thing that happened to its query."""
    told: dict[str, Told] = {}
    back = replace(WORSE, text="taken back", ended=True)
    assert told_of(told, back, about={"q"}, now=100) == ["opened regression/q/g1 100"]
    assert told_of(told, back, about={"q"}, now=200, error="no answer") == ["over regression/q/g1 100"]
    assert told_of(told, back, about={"q"}, now=300) == ["over regression/q/g1 100"]
    assert [told_of(told, back, about=about, now=400) for about in ({"q"}, {"r"}, {"q"})] == [[], [], []]
    assert told_of(told, about={"q"}, now=500) == []
    assert told == {}


def test_the_end_says_what_was_told_before() -> None:
    told: dict[str, Told] = {}
    told_of(told, WORSE, about={"q"}, now=1_767_225_600)
    (end,) = owed(told, [], {"q"}, 1_767_225_700)
    assert end.text == "What was told about it since 2026-01-01T00:00+00:00 is not found any more. It was: wall_ns x2"


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", '{"format": 9, "told": [{}]}', '{"format": 1}', '{"format": 1, "told": [{"new": 1}]}']
)
def test_a_record_that_is_damaged_or_of_another_planopt_is_empty(text: str | None) -> None:
    assert read_record(text) == {}
