"""Applies the rewrites of a policy to a query's text, by name. Each is one file in `replan/rewrites`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from planopt_assets.replan.column_types import ColumnsOf, no_columns


def rewritten_sql(sql: str, names: Sequence[str], columns_of: ColumnsOf = no_columns) -> tuple[str, tuple[str, ...]]:
    """The text with all rewrites applied in order, and the names of those that found nothing to change.

    >>> rewritten_sql("SELECT 1", ["no_such_rewrite"])
    ('SELECT 1', ('no_such_rewrite',))
    """
    idle = []
    for name in names:
        module = f"planopt_assets.replan.rewrites.{name}"
        known = name.isidentifier() and find_spec(module) is not None
        changed: str | None = import_module(module).rewrite(sql, columns_of) if known else None
        if changed is None or changed == sql:
            idle.append(name)
        else:
            sql = changed
    return sql, tuple(idle)
