"""The conjunctive normal form (CNF) of an OR that Spark could not push to Parquet.

Spark pushes an OR as a whole or not at all: one function on one side prevents it. Written as an AND of ORs, the clauses
without that function can be pushed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from planopt_assets.model.scan import Expression, ScanFacts
from planopt_assets.observe.pushdown.eligibility import COMPARISONS, sides
from planopt_assets.observe.pushdown.pushed import was_pushed

_ON_ONE_COLUMN = ("In", "InSet", "IsNull", "IsNotNull", "StartsWith")


@dataclass(frozen=True, slots=True)
class NormalForm:
    """Counts only: the form itself can be exponentially larger than the predicate."""

    leaves: int  # of the predicate as written
    clauses: int
    predicates: int  # in all clauses together
    pushable: int  # clauses with plain comparisons only

    @property
    def distance(self) -> int:
        """Additional predicates. sqlglot's `normalization_distance` counts the same."""
        return self.predicates - self.leaves


def unpushed_normal_form(scan: ScanFacts) -> tuple[int, int] | None:
    """Distance and pushable clauses of the best normal form among the ORs that were not pushed. None: all were."""
    forms = [
        normal_form(c.expression)
        for c in scan.conjuncts
        if c.expression.op == "Or" and not c.inferred and not was_pushed(c.expression, scan.pushed_filters)
    ]
    found = sorted((not f.pushable, f.distance, f.pushable) for f in forms)
    return found[0][1:] if found else None


def normal_form(predicate: Expression) -> NormalForm:
    """Worked: (a = 1 AND f(x)) OR (a = 3 AND g(y)) has 4 leaves, and 2 x 2 clauses of two predicates: distance 4.

    One clause is pushable: a = 1 OR a = 3.
    """
    parts = [normal_form(arg) for arg in predicate.args] if predicate.op in ("And", "Or") else []
    leaves = sum(p.leaves for p in parts)
    if predicate.op == "And":
        return NormalForm(
            leaves,
            sum(p.clauses for p in parts),
            sum(p.predicates for p in parts),
            sum(p.pushable for p in parts),
        )
    if predicate.op == "Or":
        clauses = prod(p.clauses for p in parts)
        in_all = sum(p.predicates * (clauses // p.clauses) for p in parts)
        return NormalForm(leaves, clauses, in_all, prod(p.pushable for p in parts))
    return NormalForm(1, 1, 1, int(_is_plain(predicate)))


def _is_plain(leaf: Expression) -> bool:
    if leaf.op in _ON_ONE_COLUMN:
        return leaf.args[0].op == "Column"
    return leaf.op in COMPARISONS and None not in sides(leaf)
