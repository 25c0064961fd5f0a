"""What changed between two versions of a query, as readable lines: `predicate: a < 24 -> a < 25`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from planopt_assets.model.canonical import Canonical, Edit
from planopt_assets.observe.sql.binder import Schemas
from planopt_assets.observe.sql.canonical import canonical_form, parse_query
from planopt_assets.observe.sql.clauses import Block, Item, query_blocks
from planopt_assets.observe.sql.names import Definition
from planopt_assets.observe.sql.render import ParsedQuery, render
from planopt_assets.observe.sql.tokens import NotCanonical

_LONGEST = 300  # characters shown of a text that could not be cut into items


def edit_list(old_sql: str, new_sql: str, schemas: Schemas) -> tuple[Edit, ...]:
    """The differences between two texts. There are none if, and only if, the fingerprints are equal.

    >>> schemas = {"t": [("a", "int"), ("b", "int")]}
    >>> [str(edit) for edit in edit_list("SELECT a FROM t WHERE b < 24", "select x.a from t x where x.b < 25", schemas)]
    ['predicate: b < 24 -> b < 25']
    """
    old, new = canonical_form(old_sql, schemas), canonical_form(new_sql, schemas)
    if old.fingerprint == new.fingerprint:
        return ()
    if old.form == new.form == "sqlglot":
        named = _under_shared_names(parse_query(old_sql, schemas), parse_query(new_sql, schemas))
        return tuple(_edits(*named)) or tuple(_edits(old.sql, new.sql)) or _whole(old, new)
    try:
        return tuple(_edits(old_sql, new_sql)) or _whole(old, new)
    except (NotCanonical, IndexError):  # for example a parenthesis without its end
        return _whole(old, new)


def _under_shared_names(old: ParsedQuery, new: ParsedQuery) -> tuple[str, str]:
    """Both texts with shared alias names: a renamed alias has its old name, a table's alias the name of the table."""
    old_names = _labels(old)
    new_names = _labels(new)
    for is_table in (True, False):
        before = {d: n for d, n in old_names.items() if d.is_table is is_table and not d.table}
        after = {d: n for d, n in new_names.items() if d.is_table is is_table and not d.table}
        gone = [n for n in before.values() if n not in after.values()]
        come = [d for d, n in after.items() if n not in before.values()]
        new_names.update(zip(come, gone, strict=False))
    return render(old, old_names).text, render(new, new_names).text


def _labels(query: ParsedQuery) -> dict[Definition, str]:
    """The alias of a table gets the name of the table (a second one `orders_2`); other aliases keep theirs."""
    seen: Counter[str] = Counter()
    labels = {}
    for definition in query.names.canonical():
        name = definition.table or definition.name
        seen[name] += bool(definition.table)
        labels[definition] = f"{name}_{seen[name]}" if seen[name] > 1 and definition.table else name
    return labels


def _edits(old: str, new: str) -> Iterator[Edit]:
    before = {block.name: block for block in query_blocks(old)}
    after = {block.name: block for block in query_blocks(new)}
    for name in [*before, *(n for n in after if n not in before)]:
        old_items = before.get(name, Block(name)).items
        new_items = after.get(name, Block(name)).items
        for part in dict.fromkeys(item.part for item in [*old_items, *new_items]):
            yield from _part_edits(
                part, [i for i in old_items if i.part == part], [i for i in new_items if i.part == part]
            )


def _part_edits(part: str, old: Sequence[Item], new: Sequence[Item]) -> Iterator[Edit]:
    matcher = SequenceMatcher(None, [i.text for i in old], [i.text for i in new], autojunk=False)
    gone: list[Item] = []
    come: list[Item] = []
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            continue
        pairs = list(zip(old[i:j], new[k:m], strict=False))
        yield from (_changed(part, a, b) for a, b in pairs)
        gone += old[i + len(pairs) : j]
        come += new[k + len(pairs) : m]
    for item in gone:
        moved = next((other for other in come if other.text == item.text), None)
        if moved is not None:
            come.remove(moved)
            yield Edit("moved", part, item.short, item.short)
        else:
            yield Edit("removed", part, item.short, "")
    for item in come:
        yield Edit("added", part, "", item.short)


def _changed(part: str, old: Item, new: Item) -> Edit:
    if old.short != new.short:
        return Edit("changed", part, old.short, new.short)
    return Edit("changed", part, old.text, new.text)


def _whole(old: Canonical, new: Canonical) -> tuple[Edit, ...]:
    return (Edit("changed", "text", old.sql[:_LONGEST], new.sql[:_LONGEST]),)
