"""Which queries have newer rows, table by table."""

from __future__ import annotations

import pytest

from planopt_assets.store.news import news_since
from planopt_tests.memory_snapshot import MemorySnapshot

pytestmark = pytest.mark.fast

ROWS = MemorySnapshot(
    verdicts=[{"query_id": "old", "sequence": None}, {"query_id": "a", "sequence": 4}],
    runtime_counters=[{"query_id": "a", "sequence": 3}, {"query_id": "b", "sequence": 4}],
)


def test_from_the_start_everything_is_new() -> None:
    news = news_since(ROWS, {})
    assert news.query_ids == {"old", "a", "b"}
    assert news.newest == {"plan_artifacts": 0, "runtime_counters": 4, "verdicts": 4, "active_policies": 0}


def test_a_number_counts_for_its_own_table_only() -> None:
    """Two processes wrote number 4 at the same moment, and one of them was seen first."""
    assert news_since(ROWS, {"verdicts": 4, "runtime_counters": 3}).query_ids == {"b"}


def test_after_the_newest_there_is_nothing() -> None:
    assert news_since(ROWS, news_since(ROWS, {}).newest).query_ids == set()


def test_a_table_that_ends_below_its_number_is_another_one_and_all_new() -> None:
    """A store that was deleted and filled again counts from the start: its rows must not stay unseen."""
    before = {"verdicts": 90, "runtime_counters": 4}
    news = news_since(ROWS, before)
    assert news.query_ids == {"old", "a"}
    assert news_since(ROWS, news.newest).query_ids == set()
