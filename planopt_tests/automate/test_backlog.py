"""A sensor goes through the rows of the store in batches, and leaves none out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planopt_assets.automate.backlog import Position, next_batch, read_position

pytestmark = pytest.mark.fast

TABLES = ("verdicts", "runtime_counters")
ROWS = st.lists(st.tuples(st.sampled_from(TABLES), st.sampled_from("abcde")), max_size=12)


@given(st.lists(ROWS, max_size=6), st.integers(1, 3))
def test_every_row_is_looked_at_after_it_was_stored(added: list[list[tuple[str, str]]], most: int) -> None:
    """Between two ticks rows are added; at the end the sensor ticks until it has nothing to do."""
    rows: list[tuple[str, str, int]] = []  # table, query, number
    owed: dict[str, int] = {}  # query -> rows it had when it was last looked at
    position = Position()
    for new in [*added, *[[]] * 12]:
        for table, query in new:
            rows.append((table, query, 1 + max((n for t, _, n in rows if t == table), default=0)))
            owed[query] = 1
        later = {q for t, q, n in rows if n > position.numbers.get(t, -1)}
        newest = {t: max((n for u, _, n in rows if u == t), default=0) for t in TABLES}
        batch = next_batch(later, newest, position, most)
        for query in batch.query_ids:
            owed.pop(query, None)
        position = batch.position
    assert owed == {}


@pytest.mark.parametrize("text", [None, "{", "[]", '{"format": 1, "seen": "s", "x": 2}', '{"format": 2, "seen": "s"}'])
def test_a_lost_or_foreign_position_is_the_start(text: str | None) -> None:
    assert read_position(text, of="s") == Position(seen="s")


def test_a_position_is_read_as_it_was_written_and_counts_for_nothing_else() -> None:
    position = Position({"verdicts": 7}, {"verdicts": 9}, "q", {"sales": 9.5}, "wkl_1")
    assert read_position(position.text(), of="wkl_1") == position
    assert read_position(position.text(), of="wkl_2") == Position(seen="wkl_2")
