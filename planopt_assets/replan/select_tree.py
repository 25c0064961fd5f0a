"""The same SELECT as sqlglot reads it: a second reader, which must agree with the first. It never writes SQL."""

from __future__ import annotations

from sqlglot import exp

from planopt_assets.observe.sql.select_list import filled
from planopt_assets.observe.sql.tokens import SPARK, NotCanonical
from planopt_assets.replan.select_block import SelectBlock

_CLAUSES = {"hint", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "with_"}


def parsed(sql: str) -> exp.Expr:
    try:
        statements = SPARK.parse(sql)
    except Exception as error:  # sqlglot fails on some texts in ways of its own; then nothing is certain
        raise NotCanonical(f"sqlglot fails on it: {type(error).__name__}") from error
    if len(statements) != 1 or statements[0] is None:
        raise NotCanonical("it is not one statement")
    return statements[0]


def condition(text: str) -> exp.Expr:
    """A condition, parsed alone."""
    where = parsed(f"SELECT 1 FROM t WHERE {text}").args.get("where")
    if not isinstance(where, exp.Where):
        raise NotCanonical("a condition cannot be parsed as one")
    found: exp.Expr = where.this
    return found


def conjuncts(select: exp.Select) -> list[exp.Expr]:
    """The conditions of ON and then of WHERE that must hold one by one."""
    joins, where = select.args.get("joins") or [], select.args.get("where")
    stack = [join.args["on"] for join in joins if join.args.get("on")] + ([where.this] if where else [])
    found = []
    while stack:
        node = stack.pop(0)
        if isinstance(node, exp.And):
            stack = [node.left, node.right, *stack]
        else:
            found.append(node)
    return found


def agrees(block: SelectBlock, tree: exp.Expr) -> bool:
    """Whether sqlglot reads the same clauses, join, conditions and aggregates at this place."""
    start = block.tokens[block.relations[0].name_end - 1].start
    for select in tree.find_all(exp.Select):
        source = select.args["from_"].this if select.args.get("from_") else None
        if isinstance(source, exp.Table) and source.this.meta.get("start") == start:
            return _is_same(select, block)
    return False


def _is_same(select: exp.Select, block: SelectBlock) -> bool:
    joins, group = select.args.get("joins") or [], select.args.get("group")
    if not filled(select) <= _CLAUSES or len(joins) != 1 or (group is not None and filled(group) != {"expressions"}):
        return False
    (join,) = joins
    tables = (select.args["from_"].this, join.this)
    plain = all(isinstance(t, exp.Table) and filled(t) <= {"this", "db", "catalog", "alias"} for t in tables)
    return (
        plain
        and filled(join) <= {"this", "side", "kind", "on"}
        and (join.side or "").upper() == ("LEFT" if block.is_left else "")
        and (join.kind or "").upper() in ("", "INNER", "OUTER", "CROSS")
        and len(_own(select, exp.AggFunc)) == len(block.calls)
        and not _own(select, exp.Select, exp.SetOperation, exp.Subquery)
        and conjuncts(select) == [condition(block.text(c.start, c.end)) for c in block.conjuncts]
    )


def _own(select: exp.Select, *kinds: type[exp.Expr]) -> list[exp.Expr]:
    """The nodes of a SELECT of these kinds, without those of the WITH before it."""
    return [node for part in select.iter_expressions() if part.arg_key != "with_" for node in part.find_all(*kinds)]
