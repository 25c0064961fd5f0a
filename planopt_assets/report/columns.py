"""Rows in columns on the terminal, laid out as rich lays out a table without a box.

rich renders each cell as a document of its own: 0.8 s for 1,000 queries. Here only a cell that must be folded goes
through rich; all others are padded texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

_GAP = 2  # spaces between two columns


class Cell(NamedTuple):
    """A text, and the name of its style."""

    text: str
    style: str = ""


def print_columns(console: Console, header: Sequence[str], rows: Iterable[Sequence[str | Cell]]) -> None:
    """Print all rows under a bold header. Columns are as wide as their widest cell while the console has room."""
    table = [[Cell(name, "bold") for name in header]]
    table += [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    widest = [max(1, *(_width(cell.text) for cell in column)) for column in zip(*table, strict=True)]
    widths = fitted(widest, console.width)
    styles = {style: console.get_style(style) if style else Style.null() for row in table for _, style in row}
    lines = (line for place, row in enumerate(table) for line in _lines(console, row, widths, hanging=place > 0))
    segments = (s for line in lines for s in _painted(line, widths, styles))
    console.print(Segments(segments), crop=False, end="")


def fitted(widths: Sequence[int], available: int) -> list[int]:
    """The widest columns shrink to the width of the next ones, and on, until all fit side by side.

    >>> fitted([8, 40, 90], 100)
    [8, 40, 48]
    """
    last = len(widths) - 1
    gaps = [_GAP // 2 * ((place > 0) + (place < last)) for place in range(len(widths))]
    whole = [width + gap for width, gap in zip(widths, gaps, strict=True)]
    while (excess := sum(whole) - available) > 0:
        widest = max(whole)
        step = min(excess, widest - max((w for w in whole if w != widest), default=0))
        wide = [place for place, width in enumerate(whole) if width == widest]
        for left, place in zip(range(len(wide), 0, -1), wide, strict=True):
            cut = min(step, round(excess / left))
            whole[place] -= cut
            excess -= cut
    return [max(1, width - gap) for width, gap in zip(whole, gaps, strict=True)]


def _width(text: str) -> int:
    if text.isprintable():
        return cell_len(text)
    return max(map(cell_len, Text(text).plain.splitlines()), default=0)


def _lines(
    console: Console, row: Sequence[Cell], widths: Sequence[int], *, hanging: bool
) -> Iterator[tuple[Cell, ...]]:
    """The lines of one row, as many as its highest cell needs. A header stands on its last line, the others hang."""
    columns = [[Cell(line, c.style) for line in _folded(console, c.text, w)] for c, w in zip(row, widths, strict=True)]
    if not hanging:
        highest = max(map(len, columns))
        columns = [[Cell("")] * (highest - len(column)) + column for column in columns]
    yield from zip_longest(*columns, fillvalue=Cell(""))


def _folded(console: Console, text: str, width: int) -> list[str]:
    if text.isprintable() and cell_len(text) <= width:
        return [text]
    return [line.plain for line in Text(text).wrap(console, width, overflow="fold")]


def _painted(line: Sequence[Cell], widths: Sequence[int], styles: dict[str, Style]) -> Iterator[Segment]:
    last = len(line) - 1
    for place, (cell, width) in enumerate(zip(line, widths, strict=True)):
        yield Segment(cell.text, styles.get(cell.style))
        yield Segment(" " * (width - cell_len(cell.text) + (_GAP if place < last else 0)))
    yield Segment.line()
