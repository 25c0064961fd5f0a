"""Rules about several fields; each looks at the plain data, so that it is checked even if other fields are wrong."""

from __future__ import annotations

from collections.abc import Iterable

from planopt_assets import errors
from planopt_assets.workload.files import Bounds
from planopt_assets.workload.page import ANY, Loc, Page, name_of, nearest_of, show
from planopt_assets.workload.spec import (
    ALERT_KINDS,
    QUERY_SOURCES,
    TABLE_SOURCES,
    URL_SOURCES,
    AlertFields,
    WorkloadFile,
)

VERSION = 1
POOL, QUEUE = "spark.scheduler.pool", "spark.yarn.queue"


def check_version(page: Page) -> None:
    """Nothing else is checked in a file of another version: its other fields may be right there."""
    version = page.data.get("version")
    if type(version) is int and version != VERSION:
        what = f"version {show(version)} of the workload format is not known"
        fix = f"write `version: {VERSION}`, or use the planopt that knows this one"
        page.stop(errors.UnsupportedVersion, page.value_place(("version",)), what, fix)


def check_consistency(page: Page, bounds: Bounds) -> None:
    """Call it after `check_fields`, which resolves the paths and finds the misspelt names."""
    for loc, query_id, first in _again(page.texts("queries", ANY, "id")):
        what = f"the query id {show(query_id)} is taken by the query on line {page.value_place(first)[0]}"
        page.report(errors.DuplicateQueryId, page.value_place(loc), what, "give each query an id of its own")
    names = [(loc, str(loc[-1]).lower()) for loc, _ in page.each("tables", ANY)]
    for loc, _, first in _again(names):
        what = f"to Spark the table {show(loc[-1])} is the same as {show(first[-1])} on line {page.key_place(first)[0]}"
        page.report(errors.DuplicateTable, page.key_place(loc), what, "rename one of the two")
    _exactly_one(page, "queries", QUERY_SOURCES)
    _exactly_one(page, "tables", TABLE_SOURCES)
    _python_is_allowed(page)
    _bindings_have_the_same_names(page)
    _knobs_agree(page)
    _store_is_apart(page, bounds)
    _alerts_are_whole(page)
    _hours_are_a_window(page)
    _pool_and_queue_make_sense(page)


def _again(texts: Iterable[tuple[Loc, str]]) -> list[tuple[Loc, str, Loc]]:
    """Each text that was there before, with the place where it was first."""
    first: dict[str, Loc] = {}
    return [(loc, text, first[text]) for loc, text in texts if first.setdefault(text, loc) != loc]


def _exactly_one(page: Page, section: str, names: tuple[str, ...]) -> None:
    for loc, fields in page.each(section, ANY):
        if isinstance(fields, dict):
            _one_of(page, loc, fields, names)


def _one_of(page: Page, loc: Loc, fields: Iterable[str], names: tuple[str, ...]) -> None:
    choice = f"{', '.join(f'`{name}`' for name in names[:-1])} or `{names[-1]}`"
    given = [name for name in fields if name in names]
    if len(given) > 1:
        what = f"`{name_of(loc)}` has both `{given[0]}` and `{given[1]}`"
        page.report(errors.NotExactlyOne, page.key_place((*loc, given[1])), what, f"keep exactly one of {choice}")
    elif not given and not page.excused & {loc, *((*loc, name) for name in names)}:
        what = f"`{name_of(loc)}` has none of {choice}"
        page.report(errors.NotExactlyOne, page.value_place(loc), what, "add exactly one of them")


def _python_is_allowed(page: Page) -> None:
    # Only a plain `false`, or nothing at all, forbids; any other value is reported as what it is.
    if page.data.get("allow_python", False) is not False or ("allow_python",) in page.excused:
        return
    for loc, target in page.texts("queries", ANY, "python"):
        what = f"{show(target)} is Python code, which this file does not allow"
        fix = "write `allow_python: true` at the top level if you trust that code, or use `sql`"
        page.report(errors.PythonNotAllowed, page.key_place(loc), what, fix)


def _bindings_have_the_same_names(page: Page) -> None:
    wanted: dict[Loc, set[str]] = {}  # the names of the first binding of each list
    for loc, binding in page.each("queries", ANY, "parameters", ANY):
        if not isinstance(binding, dict) or loc in page.excused:
            continue
        names, first = set(binding), wanted.setdefault(loc[:-1], set(binding))
        if names == first:
            continue
        extra, lacking = sorted(names - first), sorted(first - names)
        parts = [f"has no {show(name)}" for name in lacking] + [f"adds {show(name)}" for name in extra]
        nearest = nearest_of(extra[0], lacking) if extra else ""
        what = f"`{name_of(loc)}` {' and '.join(parts)}, unlike the first binding"
        fix = f"write `{nearest}` for {show(extra[0])}" if nearest else "give every binding the same names"
        place = page.key_place((*loc, extra[0])) if extra else page.value_place(loc)
        page.report(errors.BindingsDiffer, place, what, fix, nearest)


def _knobs_agree(page: Page) -> None:
    denied = {name for _, name in page.texts("knobs", "deny", ANY)}
    for loc, name in page.texts("knobs", "allow", ANY):
        if name in denied:
            what = f"the knob {show(name)} is both allowed and denied"
            page.report(errors.KnobConflict, page.value_place(loc), what, "remove it from `allow` or from `deny`")
    for loc, _ in page.each("knobs", "pin", ANY):
        if loc[-1] in denied:
            what = f"the knob {show(loc[-1])} is both pinned and denied"
            fix = "keep `pin` for a fixed value, or `deny` for Spark's own"
            page.report(errors.KnobConflict, page.key_place(loc), what, fix)


def _store_is_apart(page: Page, bounds: Bounds) -> None:
    # VACUUM of a table deletes every file in its folder that it does not know: the whole store, if it lies there.
    store = page.data.get("store", WorkloadFile.model_fields["store"].default)
    for _, table in [*page.texts("tables", ANY), *page.texts("tables", ANY, "path")]:
        if isinstance(store, str) and bounds.overlap(store, table):
            what = f"the store {show(store)} and the table {show(table)} lie one inside the other"
            page.report(
                errors.StoreOverlapsTable, page.value_place(("store",)), what, "give the store a folder of its own"
            )


def _hours_are_a_window(page: Page) -> None:
    window = page.data.get("trial_window")
    if isinstance(window, dict) and window.get("start") is not None and window.get("start") == window.get("end"):
        what = "`trial_window` ends at the hour at which it starts, so no trial would ever run"
        fix = "write another hour, or remove `trial_window` for trials at any hour"
        page.report(errors.WrongValue, page.value_place(("trial_window", "end")), what, fix)


def _pool_and_queue_make_sense(page: Page) -> None:
    spark = page.data.get("spark")
    if not isinstance(spark, dict):
        return
    if "queue" in spark and spark.get("master") != "yarn":
        what = f"`spark.queue` is a queue of YARN, and `spark.master` is {show(spark.get('master', 'local[*]'))}"
        fix = "remove it, or write `master: yarn`"
        page.report(errors.WrongValue, page.value_place(("spark", "queue")), what, fix)
    settings = spark.get("settings")
    for field, setting in (("pool", POOL), ("queue", QUEUE)):
        if field in spark and isinstance(settings, dict) and setting in settings:
            what = f"`spark.{field}` and the setting {show(setting)} say the same thing twice"
            page.report(errors.WrongValue, page.key_place(("spark", field)), what, "keep one of the two")


def _alerts_are_whole(page: Page) -> None:
    for loc, fields in page.each("alerts", ANY):
        kind = fields.get("kind") if isinstance(fields, dict) else None
        if not isinstance(fields, dict) or not isinstance(kind, str) or kind not in ALERT_KINDS:
            continue
        needed, others = ALERT_KINDS[kind]
        for name in fields:
            if name in AlertFields.model_fields and name not in {"kind", "name", *needed, *others}:
                what = f"`{name_of(loc)}` is of kind {kind}, which has no {show(name)}"
                known = ", ".join(f"`{each}`" for each in (*needed, *others)) or "only `name`"
                page.report(errors.UnknownField, page.key_place((*loc, name)), what, f"remove it; {kind} has {known}")
        for name in needed:
            if not fields.get(name) and not page.excused & {loc, (*loc, name)}:
                what = f"`{name_of((*loc, name))}` is missing"
                page.report(errors.MissingField, page.value_place(loc), what, f"add `{name}`: {kind} needs it")
        if others == URL_SOURCES:
            _one_of(page, loc, fields, URL_SOURCES)
        if "user" in fields and "password_env" not in fields:
            what = f"`{name_of(loc)}` has a `user` and no password"
            page.report(errors.MissingField, page.value_place(loc), what, "add `password_env`, or remove `user`")
    named = [
        (loc, str(fields.get("name") or fields.get("kind")))
        for loc, fields in page.each("alerts", ANY)
        if isinstance(fields, dict)
    ]
    for loc, name, first in _again(named):
        what = f"the destination {show(name)} is there twice: also on line {page.value_place(first)[0]}"
        page.report(errors.DuplicateDestination, page.value_place(loc), what, "give each a `name` of its own")
