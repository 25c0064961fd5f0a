"""Rewrite `cnf`: adds to an OR that cannot be pushed to Parquet a clause that can.

The conjunctive normal form of `(a = 1 AND f(x)) OR (a = 3 AND g(y))` has one clause with plain comparisons only:
`a = 1 OR a = 3`. The predicate implies it, so adding it changes no result, also with NULL. And it can be pushed. The
other clauses would only repeat work, so they are not added. The original predicate stays.

Not rewritten: predicates that Spark already pushes, and normal forms with a distance above 128. Functions, sub-queries,
arithmetic and casts are never repeated in a clause: they could fail where the author's order of conditions protected
them. One risk remains: Spark itself casts a text column that is compared with a number, and this cast can fail.
"""

from __future__ import annotations

from itertools import product

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize import normalization_distance

from planopt_assets.observe.sql.tokens import SPARK, NotCanonical
from planopt_assets.replan.column_types import ColumnsOf, no_columns
from planopt_assets.replan.where_clauses import Condition, Leaf, Where, where_clauses

MAX_DISTANCE = 128
MAX_CLAUSES = 3  # of one predicate; each is evaluated for every row that is read


def rewrite(sql: str, _: ColumnsOf = no_columns) -> str | None:
    """The text with the new clauses added to its WHERE predicates. None if there is none to add. No type matters.

    >>> rewrite("SELECT * FROM t WHERE (a = 1 AND f(x) > 2) OR (a = 3 AND g(y) > 2)")
    'SELECT * FROM t WHERE ((a = 1 AND f(x) > 2) OR (a = 3 AND g(y) > 2)) AND (a = 1 OR a = 3)'
    >>> rewrite("SELECT * FROM t WHERE a = 1 OR b = 2") is None
    True
    """
    changed, added = sql, []
    try:
        for where in reversed(where_clauses(sql)):  # from the end, so earlier positions stay valid
            if (clauses := _new_clauses(where)) and _agrees(where):
                changed = _written(changed, where, clauses)
                added += clauses
        return changed if added and _adds_only(sql, changed, added) else None
    except (NotCanonical, SqlglotError, RecursionError):
        return None


def _new_clauses(where: Where) -> list[str]:
    """New clauses for its parts, without those that the author already wrote."""
    parts = _conjuncts(where.condition)
    own = {frozenset(part.leaves) for part in parts}
    clauses = [clause for part in parts for clause in _companions(part) if frozenset(clause) not in own]
    return [" OR ".join(leaf.text for leaf in clause) for clause in dict.fromkeys(clauses)]


def _written(sql: str, where: Where, clauses: list[str]) -> str:
    own = f"({where.text})" if where.condition.op == "or" else where.text
    return f"{sql[: where.start]}{own}{''.join(f' AND ({c})' for c in clauses)}{sql[where.end :]}"


def _companions(predicate: Condition | Leaf) -> list[tuple[Leaf, ...]]:
    """Clauses of its normal form with plain comparisons only. Those on one column come first, then shorter ones."""
    if isinstance(predicate, Leaf) or predicate.op != "or" or all(leaf.column for leaf in predicate.leaves):
        return []
    legs = [[leaf for leaf in _conjuncts(part) if isinstance(leaf, Leaf) and leaf.column] for part in predicate.parts]
    if len(legs) > MAX_DISTANCE or _too_many(legs):
        return []
    clauses = [tuple(dict.fromkeys(clause)) for clause in product(*legs)]
    by_use = sorted(clauses, key=lambda c: (len({leaf.column for leaf in c}), len(c)))
    return list(dict.fromkeys(by_use))[:MAX_CLAUSES]


def _too_many(legs: list[list[Leaf]]) -> bool:
    count = 1
    for leg in legs:
        count *= len(leg)
        if count > MAX_DISTANCE:
            return True
    return False


def _conjuncts(condition: Condition | Leaf) -> tuple[Condition | Leaf, ...]:
    return condition.parts if isinstance(condition, Condition) and condition.op == "and" else (condition,)


def _agrees(where: Where) -> bool:
    """Whether sqlglot reads the same structure, and the normal form is within the distance."""
    tree = _condition(where.text)
    return _shape(tree) == where.condition.shape and normalization_distance(tree, max_=MAX_DISTANCE) <= MAX_DISTANCE


def _shape(tree: exp.Expr) -> object:
    tree = tree.unnest()
    if not isinstance(tree, exp.And | exp.Or):
        return "leaf"
    op = "and" if isinstance(tree, exp.And) else "or"
    parts: list[object] = []
    for side in (tree.left, tree.right):
        shape = _shape(side)
        parts += shape[1] if isinstance(shape, tuple) and shape[0] == op else [shape]
    return (op, parts)


def _adds_only(before: str, after: str, added: list[str]) -> bool:
    """Whether sqlglot gets the old query back when the added clauses are removed."""
    clauses = {_condition(text) for text in added}
    old, new = _parsed(before), _parsed(after)
    for node in list(new.find_all(exp.And)):
        if node.right.unnest() in clauses:
            node.replace(node.left)
    for where in [*old.find_all(exp.Where), *new.find_all(exp.Where)]:
        where.set("this", where.this.unnest())
    return old == new


def _condition(text: str) -> exp.Expr:
    found = _parsed(f"SELECT 1 FROM t WHERE {text}").find(exp.Where)
    if found is None:
        raise NotCanonical("a condition cannot be parsed as one")
    condition: exp.Expr = found.this
    return condition


def _parsed(sql: str) -> exp.Expr:
    statements = SPARK.parse(sql)
    if len(statements) != 1 or statements[0] is None:
        raise NotCanonical("it is not one statement")
    return statements[0]
