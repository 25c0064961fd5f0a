"""What fields must be to each other; each rule looks at the raw document, so that it speaks even if others fail."""

from __future__ import annotations

from planopt_assets.errors import (
    BindingsDiffer,
    DuplicateQueryId,
    DuplicateTable,
    KnobConflict,
    NotExactlyOne,
    PythonNotAllowed,
    UnsupportedVersion,
)
from planopt_assets.workload.document import ANY, Document, Loc, Plain, children
from planopt_assets.workload.mistakes import Mistakes, nearest_of, show
from planopt_assets.workload.shape import name_of

VERSION = 1
_QUERY_SOURCES = ("sql", "sql_file", "python")
_TABLE_SOURCES = ("path", "catalog")


def check_version(document: Document, mistakes: Mistakes) -> None:
    """A file of another version is judged by nothing else: its other fields may well be right there."""
    version = document.data.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version != VERSION:
        what = f"version {show(version)} of the workload format is not known"
        fix = f"write `version: {VERSION}`, or use the planopt that knows this one"
        mistakes.add(UnsupportedVersion, document.value_place(("version",)), what, fix=fix)
        raise mistakes.error()


def check_consistency(document: Document, misspelt: set[Loc], mistakes: Mistakes) -> None:
    _ids_are_unique(document, mistakes)
    _tables_differ_in_more_than_case(document, mistakes)
    for loc, query in document.each("queries", ANY):
        _exactly_one(document, loc, query, _QUERY_SOURCES, misspelt, mistakes)
    for loc, table in document.each("tables", ANY):
        _exactly_one(document, loc, table, _TABLE_SOURCES, misspelt, mistakes)
    _python_is_allowed(document, misspelt, mistakes)
    for loc, bindings in document.each("queries", ANY, "parameters"):
        _bindings_have_the_same_names(document, loc, bindings, mistakes)
    _knobs_agree(document, mistakes)


def _ids_are_unique(document: Document, mistakes: Mistakes) -> None:
    first: dict[str, Loc] = {}
    for loc, query_id in document.texts("queries", ANY, "id"):
        if (known := first.setdefault(query_id, loc)) != loc:
            what = f"the query id {show(query_id)} is taken by the query on line {document.value_place(known).line}"
            mistakes.add(DuplicateQueryId, document.value_place(loc), what, fix="give each query an id of its own")


def _tables_differ_in_more_than_case(document: Document, mistakes: Mistakes) -> None:
    first: dict[str, Loc] = {}
    for loc, _ in document.each("tables", ANY):
        name = str(loc[-1])
        if (known := first.setdefault(name.lower(), loc)) != loc:
            what = f"to Spark the table {show(name)} is the same as {show(known[-1])}"
            what += f" on line {document.key_place(known).line}"
            mistakes.add(DuplicateTable, document.key_place(loc), what, fix="rename one of the two")


def _exactly_one(
    document: Document, loc: Loc, fields: Plain, names: tuple[str, ...], misspelt: set[Loc], mistakes: Mistakes
) -> None:
    if not isinstance(fields, dict):
        return
    given = [name for name in fields if name in names]
    choice = f"{', '.join(f'`{name}`' for name in names[:-1])} or `{names[-1]}`"
    if len(given) > 1:
        what = f"`{name_of(loc)}` has both `{given[0]}` and `{given[1]}`"
        fix = f"keep exactly one of {choice}"
        mistakes.add(NotExactlyOne, document.key_place((*loc, given[1])), what, fix=fix)
    elif not given and loc not in document.incomplete and not any((*loc, name) in misspelt for name in names):
        what = f"`{name_of(loc)}` has none of {choice}"
        mistakes.add(NotExactlyOne, document.value_place(loc), what, fix="add exactly one of them")


def _python_is_allowed(document: Document, misspelt: set[Loc], mistakes: Mistakes) -> None:
    # Only a plain `false`, or nothing at all, forbids; any other value is reported as what it is.
    if document.data.get("allow_python", False) is not False or ("allow_python",) in misspelt:
        return
    for loc, target in document.texts("queries", ANY, "python"):
        what = f"{show(target)} is Python code, which this file does not allow"
        fix = "write `allow_python: true` at the top level if you trust that code, or use `sql`"
        mistakes.add(PythonNotAllowed, document.key_place(loc), what, fix=fix)


def _bindings_have_the_same_names(document: Document, loc: Loc, parameters: Plain, mistakes: Mistakes) -> None:
    bindings = [((*loc, at), set(value)) for at, value in children(parameters) if isinstance(value, dict)]
    bindings = [(at, names) for at, names in bindings if at not in document.incomplete]
    for at, names in bindings[1:]:
        wanted = bindings[0][1]
        if names == wanted:
            continue
        extra, lacking = sorted(names - wanted), sorted(wanted - names)
        parts = [f"has no {show(name)}" for name in lacking] + [f"adds {show(name)}" for name in extra]
        nearest = nearest_of(extra[0], lacking) if extra else ""
        what = f"`{name_of(at)}` {' and '.join(parts)}, unlike the first binding"
        fix = f"write `{nearest}` for {show(extra[0])}" if nearest else "give every binding the same names"
        place = document.key_place((*at, extra[0])) if extra else document.value_place(at)
        mistakes.add(BindingsDiffer, place, what, nearest=nearest, fix=fix)


def _knobs_agree(document: Document, mistakes: Mistakes) -> None:
    denied = {name for _, name in document.texts("knobs", "deny", ANY)}
    for loc, name in document.texts("knobs", "allow", ANY):
        if name in denied:
            what = f"the knob {show(name)} is both allowed and denied"
            mistakes.add(KnobConflict, document.value_place(loc), what, fix="remove it from `allow` or from `deny`")
    for loc, _ in document.each("knobs", "pin", ANY):
        if loc[-1] in denied:
            what = f"the knob {show(loc[-1])} is both pinned and denied"
            fix = "keep `pin` for a fixed value, or `deny` for Spark's own"
            mistakes.add(KnobConflict, document.key_place(loc), what, fix=fix)
