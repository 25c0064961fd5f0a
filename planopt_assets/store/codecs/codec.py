"""How a noun becomes a row of one table, and a row a noun again: both directions in one declaration.

A field of a noun is a column of the same name unless the codec says otherwise. What the codec says about a field holds
both ways, so that nothing can be written in one form and read in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from planopt_assets.errors import RowDamaged
from planopt_assets.model.stamp import NOT_STORED, Stamp
from planopt_assets.store.codecs.damage import EVERY_ROW, UNREADABLE, damaged, decoded, objection
from planopt_assets.store.collector import collector_paused

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]
T = TypeVar("T")

STAMP = ("run_id", "recorded_at", "sequence")


@dataclass(frozen=True, slots=True)
class Form:
    """How one value of a noun is spread over columns: `write` gives a value for each, `read` takes them in order.

    `columns` None: the one column named like the field. `also` are columns that only reading looks at.
    """

    write: Callable[[Any], Sequence[Any]]
    read: Callable[..., Any]
    columns: tuple[str, ...] | None = None
    also: tuple[str, ...] = ()

    def reads(self, field: str) -> tuple[str, ...]:
        return (*self.writes(field), *self.also)

    def writes(self, field: str) -> tuple[str, ...]:
        return (field,) if self.columns is None else self.columns


def single(write: Callable[[Any], Any], read: Callable[[Any], Any], column: str = "") -> Form:
    """The form of a value that fills one column."""
    return Form(lambda value: (write(value),), read, (column,) if column else None)


def named(column: str) -> Form:
    """A value as it is, in a column of another name."""
    return single(lambda value: value, lambda stored: stored, column)


PLAIN = single(lambda value: value, lambda stored: stored)
ELSEWHERE = Form(lambda _: (), lambda: None, ())
"""Of a field that another table holds: not written here, and None when read."""


class Codec(Generic[T]):
    """The rows of one table as nouns of one class.

    `derived` columns are written from what the noun says of itself, such as its id, and never read back. `required`
    columns are filled in every row of every version: null there, or a word that the noun does not know, is damage.
    """

    def __init__(
        self,
        table: str,
        noun: Callable[..., T],
        *,
        derived: Mapping[str, Callable[[T], Any]] | None = None,
        required: Sequence[str] = (),
        choices: Mapping[str, frozenset[str]] | None = None,
        **forms: Form,
    ) -> None:
        self.table = table
        self._noun = noun
        self._derived = dict(derived or {})
        names = [f.name for f in fields(noun)]  # type: ignore[arg-type]  # every noun is a dataclass
        self._stamped = "stamp" in names
        self._fields = [(name, forms.pop(name, PLAIN)) for name in names if name != "stamp"]
        assert not forms, f"{table}: no such field: {sorted(forms)}"
        self._required = (*required, *EVERY_ROW)
        self._choices = choices or {}

    @property
    def columns(self) -> list[str]:
        """What must be read to make the nouns."""
        own = [c for name, form in self._fields for c in form.reads(name)]
        return list(dict.fromkeys([*own, *STAMP] if self._stamped else own))

    def to_row(self, noun: T) -> Row:
        row: Row = {}
        for name, form in self._fields:
            row.update(zip(form.writes(name), form.write(getattr(noun, name)), strict=True))
        return row | {column: derive(noun) for column, derive in self._derived.items()}

    def from_row(self, row: Mapping[str, Any]) -> T:
        """One row; a column it lacks is null, as in the row of an older planopt."""
        known = {"recorded_at": NOT_STORED.recorded_at, **row}
        common = {c: [known[c]] for c in EVERY_ROW if c in known}
        return self._whole({c: [known.get(c)] for c in self.columns} | common, 1)[0]

    def decode(self, table: pa.Table) -> list[T]:
        """All rows of an Arrow table, column by column. The first damaged row is an error that names it."""
        columns = [c for c in dict.fromkeys([*self.columns, *EVERY_ROW]) if c in table.column_names]
        with collector_paused():
            try:
                values = {c: _values(table[c]) for c in columns}
            except UNREADABLE as error:
                raise self._undecoded(table, columns, error) from error
            return self._whole(values, table.num_rows)

    def _whole(self, columns: Mapping[str, list[Any]], count: int) -> list[T]:
        """The nouns, or the error for the first row that has a field of another kind."""
        try:
            made = self._made(columns, count)
        except UNREADABLE as error:
            raise self._found(columns, count) or damaged(self.table, "?", None, None, str(error)) from error
        if self._suspicious(columns) and (found := self._found(columns, count)):
            raise found
        return made

    def _made(self, columns: Mapping[str, list[Any]], count: int) -> list[T]:
        values: list[Iterable[Any]] = []
        for name, form in self._fields:
            stored = [columns[c] for c in form.reads(name)]
            values.append(stored[0] if form is PLAIN else map(form.read, *stored) if stored else [form.read()] * count)
        if self._stamped:
            values.append(map(_stamp, *(columns[c] for c in STAMP)))
        return [self._noun(*row) for row in zip(*values, strict=True)] if count else []

    def _suspicious(self, columns: Mapping[str, list[Any]]) -> bool:
        """Column by column, which is quick; `_found` then says which row it is."""
        return any(objection(c, v, self._choices) for c in self._required if c in columns for v in set(columns[c]))

    def _found(self, columns: Mapping[str, list[Any]], count: int) -> RowDamaged | None:
        """The first damaged field, row by row."""
        nobody = [None] * count
        owners = zip(columns.get("query_id", nobody), columns.get("run_id", nobody), strict=True)
        for place, (query_id, run_id) in enumerate(owners):
            for column in (c for c in self._required if c in columns):
                if why := objection(column, columns[column][place], self._choices):
                    return damaged(self.table, column, query_id, run_id, why)
            for name, form in self._fields:
                stored = [columns[c][place] for c in form.reads(name)]
                read = partial(form.read, *stored)
                try:
                    decoded(read, self.table, ", ".join(form.writes(name)), query_id, run_id)
                except RowDamaged as error:
                    return error
        return None

    def _undecoded(self, table: pa.Table, columns: Sequence[str], error: BaseException) -> RowDamaged:
        """The first value that Arrow cannot hand out, such as a text that is not UTF-8."""
        for place in range(table.num_rows):
            row = {c: partial(table[c][place].as_py) for c in columns}
            query_id, run_id = (_tried(row[c]) if c in row else None for c in ("query_id", "run_id"))
            for column, read in row.items():
                try:
                    decoded(read, self.table, column, query_id, run_id)
                except RowDamaged as found:
                    return found
        return damaged(self.table, "?", None, None, str(error))


class Joined(Generic[T]):
    """A noun made of several nouns that share one row."""

    def __init__(self, table: str, noun: Callable[..., T], **parts: Codec[Any]) -> None:
        self.table, self._noun, self._parts = table, noun, parts

    def to_row(self, noun: T) -> Row:
        rows = [codec.to_row(getattr(noun, name)) for name, codec in self._parts.items()]
        return {column: value for row in rows for column, value in row.items()}

    def from_row(self, row: Mapping[str, Any]) -> T:
        return self._noun(**{name: codec.from_row(row) for name, codec in self._parts.items()})


AnyCodec = Codec[Any] | Joined[Any]


def _values(column: pa.ChunkedArray) -> list[Any]:
    """As Python has them. Rows of one append share their time, and a time takes long to make: each is made once."""
    import pyarrow as pa

    if not pa.types.is_timestamp(column.type):
        return column.to_pylist()
    found = column.combine_chunks().dictionary_encode()
    times = found.dictionary.to_pylist()
    return [None if place is None else times[place] for place in found.indices.to_pylist()]


def _tried(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except UNREADABLE:
        return None


@lru_cache(maxsize=4096)
def _stamp(run_id: str | None, recorded_at: datetime | None, sequence: int | None) -> Stamp:
    """Rows of one append share it."""
    return Stamp(run_id or "", recorded_at or NOT_STORED.recorded_at, sequence or 0)
