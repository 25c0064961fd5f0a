"""When a changed source is due: it settled, or kept changing for the interval; and what is forgotten when."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planopt_assets.automate.changes import (
    Source,
    asked,
    handled,
    heard,
    look,
    moved,
    read_cursor,
    ready,
    write_cursor,
)

pytestmark = pytest.mark.fast

PACE = {"settle": 60.0, "interval": 900.0}


def after(*seen: tuple[float, str], start: Mapping[str, Source] | None = None) -> dict[str, Source]:
    """The table `t` as it was at these moments."""
    found = dict(start or {})
    for now, identity in seen:
        found = look(found, {"t": identity}, now)
    return found


AT_V1 = handled(after((0, "v1")), ["t"])


def test_what_was_never_handled_is_due_once_it_settled() -> None:
    first = after((5000, "v1"))
    assert not ready(first, 5059, **PACE)
    assert ready(first, 5060, **PACE) == ["t"]


def test_what_is_handled_is_not_due() -> None:
    assert not ready(after((1000, "v1"), start=AT_V1), 10_000, **PACE)


def test_a_commit_starts_the_settling_again() -> None:
    busy = after((1000, "v2"), (1050, "v3"), start=AT_V1)
    assert not ready(busy, 1109, **PACE)
    assert ready(busy, 1110, **PACE) == ["t"]


def test_a_table_that_commits_every_ten_seconds_is_due_once_per_interval() -> None:
    sources, due = dict(AT_V1), []
    for tick in range(1, 361):  # an hour, ten seconds each
        now = tick * 10.0
        sources = heard(look(sources, {"t": f"v{tick + 1}"}, now), {"key": "succeeded"})
        if ready(sources, now, **PACE):
            due.append(now)
            sources = asked(sources, ["t"], "key", now)
    assert due == [910.0, 1810.0, 2710.0]


def test_nothing_is_asked_for_while_the_run_for_it_is_at_work() -> None:
    waits = asked(after((1000, "v2"), start=AT_V1), ["t"], "key", 1060)
    assert not ready(heard(waits, {"key": "unfinished"}), 10_000, **PACE)


def test_a_run_that_succeeded_handles_what_it_was_asked_for_and_not_what_came_after() -> None:
    waits = asked(after((1000, "v2"), start=AT_V1), ["t"], "key", 1060)
    later = heard(look(waits, {"t": "v3"}, 1100), {"key": "succeeded"})
    assert (later["t"].handled, later["t"].pending) == ("v2", True)


def test_a_change_after_a_long_run_settles_like_any_other() -> None:
    waits = asked(after((1000, "v2"), start=AT_V1), ["t"], "key", 1060)
    later = heard(look(waits, {"t": "v3"}, 5000), {"key": "succeeded"})
    assert not ready(later, 5059, settle=60, interval=100_000)
    assert not ready(later, 1060 + 899, **PACE)


@pytest.mark.parametrize("states", [{"key": "failed"}, {}], ids=["failed", "lost"])
def test_a_change_whose_run_failed_or_was_lost_is_due_again_after_the_interval(states: dict) -> None:
    again = heard(asked(after((1000, "v2"), start=AT_V1), ["t"], "key", 1060), states)
    assert not ready(again, 1060 + 899, **PACE)
    assert ready(again, 1060 + 900, **PACE) == ["t"]


def test_a_source_that_cannot_be_read_starts_nothing_and_is_due_when_it_is_back_as_another() -> None:
    gone = after((1000, "!PLN-206 no log"), start=AT_V1)
    assert not ready(gone, 100_000, **PACE)
    assert not ready(after((2000, "v1"), start=gone), 100_000, **PACE)
    assert ready(after((2000, "other"), start=gone), 2060, **PACE) == ["t"]


def test_moved_names_what_this_look_found_changed() -> None:
    assert moved({}, after((0, "v1"))) == ["t"]
    assert moved(AT_V1, after((5, "v1"), start=AT_V1)) == []
    assert moved(AT_V1, after((5, "v2"), start=AT_V1)) == ["t"]


def test_a_source_that_is_not_declared_any_more_is_forgotten() -> None:
    assert look(AT_V1, {}, 5) == {}


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", "7", '{"format": 0}', '{"format": 1}', '{"format": 1, "sources": 3}']
)
def test_a_cursor_that_is_lost_or_foreign_is_empty(text: str | None) -> None:
    assert read_cursor(text) == {}


SOURCES = st.builds(
    Source,
    identity=st.text(),
    since=st.floats(0, 1e10),
    pending_since=st.floats(0, 1e10),
    handled=st.none() | st.text(),
    asked=st.text(),
    asked_for=st.text(),
    asked_at=st.none() | st.floats(0, 1e10),
)


@given(st.dictionaries(st.text(), SOURCES))
def test_a_cursor_is_read_as_it_was_written(sources: dict[str, Source]) -> None:
    assert read_cursor(write_cursor(sources)) == sources
