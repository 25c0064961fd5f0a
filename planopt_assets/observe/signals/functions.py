"""Python functions of a query, and the rows that each one processed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from planopt_assets.model.signals import PythonFunction
from planopt_assets.model.udf import UdfAudit
from planopt_assets.observe.signals.tree import Tree

_PYTHON = ("python", "pandas", "arrow")
_RUNS_PYTHON = ("Python", "Pandas", "InArrow")


def functions(tree: Tree, udfs: UdfAudit) -> tuple[PythonFunction, ...]:
    """One entry per name and rung, sorted. Rows are the input rows of the operators that call it."""
    uses: Counter[tuple[str, str]] = Counter()
    returns: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for udf in udfs.functions:
        if udf.kind in _PYTHON:
            uses[udf.name, udf.rung] += udf.uses
            returns[udf.name, udf.rung].add(udf.returns)
    return tuple(
        PythonFunction(*one, uses[one], _rows(tree, one[0]), tuple(sorted(returns[one]))) for one in sorted(uses)
    )


def _rows(tree: Tree, name: str) -> int | None:
    """None: no operator names it, or one of them has no row count."""
    called = re.compile(rf"(?<!\w){re.escape(name)}\(")
    callers = [n for n in tree.plan.nodes if any(k in n.kind for k in _RUNS_PYTHON) and called.search(n.detail)]
    known = [rows for n in callers if (rows := tree.rows_in(n)) is not None]
    return sum(known) if callers and len(known) == len(callers) else None
