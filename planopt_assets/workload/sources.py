"""Everything the file points at: paths resolved within their bounds, SQL files read."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from planopt_assets.errors import PathOutsideFolder, SqlFileUnreadable, StoreOverlapsTable
from planopt_assets.workload.document import ANY, Document, Loc
from planopt_assets.workload.mistakes import Mistakes, show
from planopt_assets.workload.paths import OutOfBounds, bounds_of, is_uri, locate, overlap
from planopt_assets.workload.read import Unreadable, read_text
from planopt_assets.workload.spec import WorkloadFile


@dataclass(frozen=True, slots=True)
class Sources:
    """By the text that stands in the file: the absolute path or URI of each path, the SQL of each SQL file."""

    places: dict[str, str]
    sql: dict[str, str]


def resolve_sources(document: Document, folder: str, mistakes: Mistakes) -> Sources:
    """Resolve and read what can be; the rest becomes mistakes. Whether a table is there, the engine finds out.

    In /w/planopt.yaml, `store: .planopt` gives `places[".planopt"] == "/w/.planopt"`.
    """
    sources = Sources({}, {})
    roots = list(document.texts("roots", ANY))
    for loc, text in roots:
        _accept(locate(folder, text), loc, text, document, mistakes)
    bounds = bounds_of(folder, [text for _, text in roots])
    for loc, text in _store(document) + _tables(document):
        if (place := _accept(bounds.resolve(text), loc, text, document, mistakes)) is not None:
            sources.places[text] = place
    for loc, text in document.texts("queries", ANY, "sql_file"):
        if (place := _accept(bounds.resolve(text), loc, text, document, mistakes)) is not None:
            sources.sql[text] = _read_sql(place, loc, text, document, mistakes)
    _store_is_apart(document, sources, mistakes)
    return sources


def _store(document: Document) -> list[tuple[Loc, str]]:
    """The store, if its place is a text; the default is checked too, for `.planopt` may be a link that leads away."""
    if "store" not in document.data:
        return [(("store",), str(WorkloadFile.model_fields["store"].default))]
    return list(document.texts("store"))


def _tables(document: Document) -> list[tuple[Loc, str]]:
    return [*document.texts("tables", ANY), *document.texts("tables", ANY, "path")]


def _accept(place: str | OutOfBounds, loc: Loc, text: str, document: Document, mistakes: Mistakes) -> str | None:
    if isinstance(place, str):
        return place
    mistakes.add(PathOutsideFolder, document.value_place(loc), f"the path {show(text)}: {place.why}", fix=place.fix)
    return None


def _read_sql(place: str, loc: Loc, text: str, document: Document, mistakes: Mistakes) -> str:
    if is_uri(place):
        sql: str | Unreadable = Unreadable("it is not a local file", "keep the SQL file beside the workload file")
    else:
        sql = read_text(place)
    if isinstance(sql, str):
        if sql.strip():
            return sql
        sql = Unreadable("it is blank", "write the query into it")
    line = f" on line {sql.line}" if sql.line else ""
    what = f"the SQL file {show(text)}: {sql.why}{line}"
    mistakes.add(SqlFileUnreadable, document.value_place(loc), what, nearest=sql.nearest, fix=sql.fix)
    return ""


def _store_is_apart(document: Document, sources: Sources, mistakes: Mistakes) -> None:
    # VACUUM of a table deletes every file in its folder that it does not know: the whole store, if it lies there.
    for (loc, store), (_, table) in itertools.product(_store(document), _tables(document)):
        places = [sources.places[text] for text in (store, table) if text in sources.places]
        if len(places) == 2 and overlap(*places):
            what = f"the store {show(store)} and the table {show(table)} lie one inside the other"
            fix = "give the store a folder of its own"
            mistakes.add(StoreOverlapsTable, document.value_place(loc), what, fix=fix)
