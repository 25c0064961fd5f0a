"""Rewrite `aggregate_before_join`: groups one side of a join by the join's key before it is joined.

    SELECT c.k, count(o.x) AS n FROM c LEFT JOIN o ON c.k = o.k AND o.y > 1 GROUP BY c.k

becomes

    SELECT c.k, coalesce(sum(planopt_aggregate_0), 0) AS n FROM c LEFT JOIN
      (SELECT o.k, count(o.x) AS planopt_aggregate_0 FROM o WHERE (o.y > 1) GROUP BY o.k) AS o
    ON c.k = o.k AND true GROUP BY c.k

A row of the other side met all rows of a group or none of them, so each aggregate is made of those of the groups:

| aggregate | of the groups | why |
|---|---|---|
| `count(x)` | `coalesce(sum(…), 0)` | it is 0, and not NULL, where no row or no value is there |
| `count(*)` | `coalesce(sum(coalesce(…, 1)), 0)` | a LEFT JOIN counts a row without a match as one |
| `min(x)`, `max(x)` | the same of each group's | |
| `sum(x)` | `sum(…)`, cast to the type of `sum(x)` | sums of sums have more digits |

What must hold for that is in `replan/early_aggregation.py`. Other text, comments, hints and parameters stay.
"""

from __future__ import annotations

from sqlglot import exp

from planopt_assets.observe.sql.tokens import NotCanonical
from planopt_assets.replan.column_types import ColumnsOf, no_columns
from planopt_assets.replan.early_aggregation import EarlyAggregation, early_aggregation, has_comment
from planopt_assets.replan.select_tree import condition, conjuncts, parsed

PREFIX = "planopt_aggregate_"  # of the new columns


def rewrite(sql: str, columns_of: ColumnsOf = no_columns) -> str | None:
    """The text with one side grouped first. None if that is not possible, or not certain.

    >>> columns = {"c": {"k": "int"}, "o": {"k": "int", "x": "bigint"}}
    >>> print(rewrite("SELECT c.k, max(x) AS m\\nFROM c JOIN o\\nON c.k = o.k GROUP BY c.k", columns.get))
    SELECT c.k, max(planopt_aggregate_0) AS m
    FROM c JOIN (SELECT o.k, max(x) AS planopt_aggregate_0 FROM o GROUP BY o.k) AS o
    ON c.k = o.k GROUP BY c.k
    >>> rewrite("SELECT c.k, sum(x) AS n FROM c JOIN o ON c.k = o.k GROUP BY c.k", columns.get) is None
    True
    """
    found = early_aggregation(sql, columns_of)
    if found is None or PREFIX in sql.lower() or _has_column(found, columns_of):
        return None
    new = _Written(found)
    if has_comment(new.derived):
        return None
    changed = new.text()
    try:
        return changed if new.undone(parsed(changed)) == parsed(sql) else None
    except (NotCanonical, RecursionError):
        return None


def _has_column(found: EarlyAggregation, columns_of: ColumnsOf) -> bool:
    """Whether a table has a column with a name like those of the new ones."""
    return any(name.startswith(PREFIX) for side in (0, 1) for name in columns_of(found.name(side)) or ())


class _Written:
    """The pieces of the new text. All but a few words of it are pieces of the author's."""

    def __init__(self, found: EarlyAggregation) -> None:
        self._found, self._block = found, found.block
        calls = [self._block.text(call.start, call.end) for call in self._block.calls]
        self._columns = {text: f"{PREFIX}{number}" for number, text in enumerate(dict.fromkeys(calls))}
        self._instead = {text: self._outer(number, self._columns[text]) for number, text in enumerate(calls)}
        self.derived = self._derived()

    def text(self) -> str:
        block, sql = self._block, self._block.sql
        relation = block.relations[self._found.side]
        edits = [(relation.start, relation.end, self.derived)]
        edits += [(c.start, c.end, self._instead[block.text(c.start, c.end)]) for c in block.calls]
        edits += [(c.start, c.end, "true") for c in self._found.moved]
        for first, last, text in sorted(edits, reverse=True):  # from the end, so earlier positions stay valid
            start, end = block.tokens[first].start, block.tokens[last - 1].end + 1
            sql = f"{sql[:start]}{text}{sql[end:]}"
        return sql

    def undone(self, tree: exp.Expr) -> exp.Expr:
        """sqlglot's tree of the new text with all of it taken back: it must be that of the old text."""
        (derived,) = [d for d in tree.find_all(exp.Subquery) if _holds_groups(d)]
        select = derived.find_ancestor(exp.Select)
        assert select is not None
        derived.replace(derived.this.args["from_"].this)
        for old, new in self._instead.items():
            wanted = condition(new)
            for node in [n for n in select.find_all(type(wanted)) if n == wanted]:
                node.replace(condition(old))
        nodes = conjuncts(select)
        for conjunct in self._found.moved:
            node = nodes[self._block.conjuncts.index(conjunct)]
            if isinstance(node, exp.Boolean):
                node.replace(condition(self._block.text(conjunct.start, conjunct.end)))
        return tree

    def _derived(self) -> str:
        """The side as a derived table under its old name: keys and aggregates of each group."""
        block, relation = self._block, self._block.relations[self._found.side]
        keys = ", ".join(block.text(key.start, key.end) for key in self._found.keys)
        groups = ", ".join(f"{text} AS {name}" for text, name in self._columns.items())
        tests = " AND ".join(f"({block.text(c.start, c.end)})" for c in self._found.moved)
        where = f" WHERE {tests}" if tests else ""
        source, name = block.text(relation.start, relation.end), block.text(relation.end - 1, relation.end)
        return f"(SELECT {keys}, {groups} FROM {source}{where} GROUP BY {keys}) AS {name}"

    def _outer(self, number: int, column: str) -> str:
        """An aggregate made of those of the groups, of exactly the same type."""
        call, sum_type = self._block.calls[number], self._found.sums[number]
        if call.function == "count":
            value = column if call.argument else f"coalesce({column}, 1)"
            return f"coalesce(sum({value}), 0)"
        of_groups = f"{call.function}({column})"
        return f"cast({of_groups} AS {sum_type})" if sum_type else of_groups


def _holds_groups(derived: exp.Subquery) -> bool:
    query = derived.this
    return isinstance(query, exp.Select) and any(item.alias.startswith(PREFIX) for item in query.expressions)
