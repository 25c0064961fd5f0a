"""Finds the SELECT whose rows can be grouped before its join, and proves from names and types that nothing changes.

    SELECT c.k, count(o.x) AS n FROM c LEFT JOIN o ON c.k = o.k AND o.y > 1 GROUP BY c.k

Of `o`, the query uses the join key, and everything else only inside aggregates. So `o` may be grouped by its key first:
each group joins the same rows of `c` as each of its rows did. The proof needs the columns of both relations, because
names are resolved and types are checked. What is not understood is not rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from planopt_assets.observe.sql.tokens import NotCanonical
from planopt_assets.replan.column_types import ColumnsOf, comparable, family, sum_type
from planopt_assets.replan.never_fails import never_fails
from planopt_assets.replan.select_block import Call, Conjunct, Reference, SelectBlock
from planopt_assets.replan.select_reader import select_blocks
from planopt_assets.replan.select_tree import agrees, condition, parsed

_OTHER = (1, 0)


@dataclass(frozen=True, slots=True)
class EarlyAggregation:
    """A SELECT and the side of its join that may be grouped first."""

    block: SelectBlock
    side: int  # of `block.relations`
    keys: tuple[Reference, ...]  # the columns to group by, each once
    moved: tuple[Conjunct, ...]  # conditions on this side alone
    sums: tuple[str | None, ...]  # for each aggregate of the block: the type of a sum, None for others

    def name(self, side: int) -> str:
        """The relation of a side, as the text names it."""
        relation = self.block.relations[side]
        return self.block.text(relation.start, relation.name_end)


def early_aggregation(sql: str, columns_of: ColumnsOf) -> EarlyAggregation | None:
    """The only such SELECT of a text. None: there is none, or there are several, or it is not certain.

    >>> columns = {"c": {"k": "int"}, "o": {"k": "int", "x": "double", "y": "int"}}
    >>> found = early_aggregation(
    ...     "SELECT c.k, count(o.x) AS n FROM c LEFT JOIN o ON c.k = o.k AND o.y > 1 GROUP BY c.k", columns.get)
    >>> found.name(found.side), [key.parts for key in found.keys], len(found.moved)
    ('o', [('o', 'k')], 1)
    """
    if "\\" in sql or "${" in sql:  # settings of Spark decide what they mean, in a string too
        return None
    try:
        tree = parsed(sql)
        defined = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        found = [
            one
            for block in select_blocks(sql)
            if agrees(block, tree)
            for side in ((1,) if block.is_left else (0, 1))
            if (one := _of_side(block, side, defined, columns_of)) is not None
        ]
    except (NotCanonical, RecursionError):
        return None
    return found[0] if len(found) == 1 else None


class _Sides:
    """The columns of both relations: which of them a name means, and its type."""

    def __init__(self, block: SelectBlock, defined: set[str], columns_of: ColumnsOf) -> None:
        if any(block.tokens[r.name_end - 1].text.lower() in defined for r in block.relations):
            raise NotCanonical("a relation may be a WITH")
        found = [columns_of(block.text(r.start, r.name_end)) for r in block.relations]
        self.aliases = [relation.alias for relation in block.relations]
        self.columns = [dict(columns) for columns in found if columns]
        every = {name for columns in self.columns for name in columns}
        if len(self.columns) != len(found) or self.aliases[0] == self.aliases[1] or every & set(self.aliases):
            raise NotCanonical("the columns of a relation are not known, or its name is not unique")

    def side(self, parts: Sequence[str]) -> int | None:
        """Which relation a column is of. None: of none. Raises where that is not certain."""
        *qualifiers, name = parts
        if len(qualifiers) > 1 or (qualifiers and qualifiers[0] not in self.aliases):
            raise NotCanonical("a column has a qualifier that is not a relation's")
        found = [
            side
            for side in (0, 1)
            if name in self.columns[side] and (not qualifiers or qualifiers[0] == self.aliases[side])
        ]
        if len(found) > 1 or (qualifiers and not found):
            raise NotCanonical("a column is in both relations, or not in its own")
        return found[0] if found else None

    def type_of(self, parts: Sequence[str], side: int) -> str | None:
        return self.columns[side].get(parts[-1]) if self.side(parts) == side else None


def _of_side(block: SelectBlock, side: int, defined: set[str], columns_of: ColumnsOf) -> EarlyAggregation | None:
    """The aggregation of this side, if everything that the block does with it can be done with its groups."""
    relation = block.relations[side]
    if block.is_hinted and relation.end == relation.name_end > relation.start + 1:
        return None  # a hint for `db.o` would not find the groups, which are called `o`
    try:
        sides = _Sides(block, defined, columns_of)
        keys = _keys(block, side, sides)
        moved = _moved(block, side, sides, keys)
        for reference in block.references:
            _check_outside(reference, side, sides, keys, block.aliases)
        sums = tuple(_sum(call, side, sides, _hiding(call, block)) for call in block.calls)
    except NotCanonical:
        return None
    return EarlyAggregation(block, side, tuple(keys.values()), moved, sums)


def _keys(block: SelectBlock, side: int, sides: _Sides) -> dict[str, Reference]:
    """The columns of this side that are equal to one of the other side, by name."""
    found: dict[str, Reference] = {}
    for conjunct in block.conjuncts:
        if pair := _equal_columns(conjunct, block):
            own = [r for r in pair if sides.side(r.parts) == side]
            other = [r for r in pair if sides.side(r.parts) == _OTHER[side]]
            if len(own) == len(other) == 1 and not (block.is_left and conjunct.clause == "where"):
                types = sides.type_of(own[0].parts, side), sides.type_of(other[0].parts, _OTHER[side])
                if not comparable(str(types[0]), str(types[1])):
                    raise NotCanonical("the columns of a join have different types")
                found.setdefault(own[0].parts[-1], own[0])
    if not found:
        raise NotCanonical("no columns are equal in the join")
    return found


def _equal_columns(conjunct: Conjunct, block: SelectBlock) -> tuple[Reference, ...]:
    """Both columns of `a = b`; nothing for any other condition."""
    if len(conjunct.references) != 2:
        return ()
    one, other = conjunct.references
    whole = one.start == conjunct.start and other.end == conjunct.end and one.end + 1 == other.start
    return (one, other) if whole and block.text(one.end, other.start) == "=" else ()


def _moved(block: SelectBlock, side: int, sides: _Sides, keys: dict[str, Reference]) -> tuple[Conjunct, ...]:
    """The conditions on this side alone. All others may use only its keys."""
    found = []
    for conjunct in block.conjuncts:
        of_sides = [sides.side(r.parts) for r in conjunct.references]
        if None in of_sides:
            raise NotCanonical("a condition has a name that no relation has")
        own = {r.parts[-1] for r, of in zip(conjunct.references, of_sides, strict=True) if of == side}
        if own <= set(keys):
            continue
        text = block.text(conjunct.start, conjunct.end)
        alone = set(of_sides) == {side} and not (block.is_left and conjunct.clause == "where")
        if not alone or has_comment(text) or not never_fails(condition(text), lambda c: _type(c, side, sides)):
            raise NotCanonical("a condition cannot be evaluated before the join")
        found.append(conjunct)
    return tuple(found)


def has_comment(text: str) -> bool:
    """Whether a text may hold a comment, which would be lost or end in another place."""
    return "--" in text or "/*" in text


def _type(column: exp.Column, side: int, sides: _Sides) -> str | None:
    return sides.type_of([part.name.lower() for part in column.parts], side)


def _check_outside(
    reference: Reference, side: int, sides: _Sides, keys: dict[str, Reference], aliases: frozenset[str]
) -> None:
    """Outside of aggregates only keys of this side may be used, columns of the other one, and aliases."""
    of, name = sides.side(reference.parts), reference.parts[-1]
    known = name in keys if of == side else of is not None or name in aliases
    if not known:
        raise NotCanonical("a column is used that the groups do not have")


def _hiding(call: Call, block: SelectBlock) -> frozenset[str]:
    """Aliases that could be meant instead of a column: in HAVING and ORDER BY, not in the SELECT list itself."""
    return frozenset() if call.start < block.relations[0].start else block.aliases


def _sum(call: Call, side: int, sides: _Sides, aliases: frozenset[str]) -> str | None:
    """The type of a sum, None for any other aggregate. Raises where groups could give another result."""
    if call.argument is None:
        return None
    parts = call.argument.parts
    type_ = sides.type_of(parts, side)
    if type_ is None or (len(parts) == 1 and parts[0] in aliases):
        raise NotCanonical("an aggregate is not of a column of this side, or an alias has the same name")
    if call.function == "sum":
        if (wide := sum_type(type_)) is None:
            raise NotCanonical("a sum can overflow, or depends on the order of rows")
        return wide
    if call.function != "count" and family(type_) is None:
        raise NotCanonical("a minimum or maximum may not be unique")
    return None
