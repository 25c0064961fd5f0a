"""Rewrite `cnf`: give an OR that Parquet cannot see a companion that it can.

Of the conjunctive normal form of `(a = 1 AND f(x)) OR (a = 3 AND g(y))` one clause has plain comparisons only:
`a = 1 OR a = 3`. It follows from the predicate, so adding it changes no result, also not where something is NULL; and
it can be pushed. The other clauses would only repeat work: they are not written, and the predicate stays as it is.

Left alone: predicates that Spark pushes as they are, and normal forms more than 128 predicates away. Functions,
sub-queries, arithmetic and casts are never repeated in a clause: they could fail where the author's order of conditions
protected them. A text column that is compared with a number is cast by Spark itself, and can still fail so.
"""

from __future__ import annotations

from itertools import product

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize import normalization_distance

from planopt_assets.observe.sql.tokens import SPARK, NotCanonical
from planopt_assets.replan.where_clauses import Condition, Leaf, Where, where_clauses

MAX_DISTANCE = 128
MAX_CLAUSES = 3  # of one predicate; each is evaluated for every row that is read


def rewrite(sql: str) -> str | None:
    """The text with companions added behind its WHERE predicates, or None where there is none to add.

    >>> rewrite("SELECT * FROM t WHERE (a = 1 AND f(x) > 2) OR (a = 3 AND g(y) > 2)")
    'SELECT * FROM t WHERE ((a = 1 AND f(x) > 2) OR (a = 3 AND g(y) > 2)) AND (a = 1 OR a = 3)'
    >>> rewrite("SELECT * FROM t WHERE a = 1 OR b = 2") is None
    True
    """
    changed, added = sql, []
    try:
        for where in reversed(where_clauses(sql)):  # from the end, so that positions before it hold
            if (clauses := _new_clauses(where)) and _agrees(where):
                changed = _written(changed, where, clauses)
                added += clauses
        return changed if added and _adds_only(sql, changed, added) else None
    except (NotCanonical, SqlglotError, RecursionError):
        return None


def _new_clauses(where: Where) -> list[str]:
    """Companions of its parts that the author has not written already."""
    parts = _conjuncts(where.condition)
    own = {frozenset(part.leaves) for part in parts}
    clauses = [clause for part in parts for clause in _companions(part) if frozenset(clause) not in own]
    return [" OR ".join(leaf.text for leaf in clause) for clause in dict.fromkeys(clauses)]


def _written(sql: str, where: Where, clauses: list[str]) -> str:
    own = f"({where.text})" if where.condition.op == "or" else where.text
    return f"{sql[: where.start]}{own}{''.join(f' AND ({c})' for c in clauses)}{sql[where.end :]}"


def _companions(predicate: Condition | Leaf) -> list[tuple[Leaf, ...]]:
    """Clauses of its normal form that are plain throughout; those on one column first, then the shorter ones."""
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
    """sqlglot reads the same structure from the predicate, and its normal form is near."""
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
    """sqlglot, too, finds the old query again when the added clauses are taken out."""
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
        raise NotCanonical("a condition is not read as one")
    condition: exp.Expr = found.this
    return condition


def _parsed(sql: str) -> exp.Expr:
    statements = SPARK.parse(sql)
    if len(statements) != 1 or statements[0] is None:
        raise NotCanonical("it is not one statement")
    return statements[0]
