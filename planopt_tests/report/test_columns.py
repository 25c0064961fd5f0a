"""Columns on the terminal look as rich would lay them out."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from planopt_assets.report.columns import Cell, fitted, print_columns

pytestmark = pytest.mark.fast

_TEXTS = st.text(alphabet="ab é漢-[]=\n", max_size=60).map(str.strip)


def _console(width: int, *, terminal: bool = False) -> Console:
    colors = "standard" if terminal else None
    return Console(file=io.StringIO(), width=width, highlight=False, force_terminal=terminal, color_system=colors)


def _printed(width: int, header: list[str], rows: list[list[str | Cell]], *, terminal: bool = False) -> str:
    console = _console(width, terminal=terminal)
    print_columns(console, header, rows)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def _by_rich(width: int, header: list[str], rows: list[list[str]]) -> str:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    console = _console(width)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@given(
    rows=st.integers(1, 4).flatmap(
        lambda columns: st.lists(st.lists(_TEXTS, min_size=columns, max_size=columns), min_size=1, max_size=5)
    ),
    width=st.integers(30, 120),
)
def test_the_layout_is_that_of_rich(rows: list[list[str]], width: int) -> None:
    header = [f"column {place}" for place in range(len(rows[0]))]
    assert _printed(width, header, [list(row) for row in rows]) == _by_rich(width, header, rows)


def test_a_cell_that_does_not_fit_is_folded_between_words() -> None:
    assert _printed(22, ["query", "why"], [["q1", "nothing to do here"]]).splitlines() == [
        "query  why            ",
        "q1     nothing to do  ",
        "       here           ",
    ]


def test_only_the_text_of_a_cell_has_its_style() -> None:
    assert _printed(40, ["a"], [[Cell("no", "red")]], terminal=True) == "\x1b[1ma\x1b[0m \n\x1b[31mno\x1b[0m\n"


def test_text_that_looks_like_markup_is_printed_as_it_is() -> None:
    assert "[red] :smile:" in _printed(40, ["a"], [["[red] :smile:"]])


def test_the_widest_columns_give_way_first() -> None:
    assert fitted([5, 5, 100], 40) == [5, 5, 26]
    assert sum(fitted([50, 60, 70], 40)) + 4 == 40
