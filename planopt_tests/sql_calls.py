"""Finds calls that hand text to a SQL parser: text that was built, fragments, and variables that may hold one.

Texts that nobody runs are none: a table's metadata as `CREATE TABLE`, an export for a user, what sqlglot takes apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

ALWAYS_TEXT = frozenset({"sql", "expr", "selectExpr", "parsePlan", "parseExpression", "parseQuery"})
"""What they take is SQL, whatever it is called."""

MAYBE_TEXT = frozenset(
    {
        *("filter", "where", "having", "execute", "executemany", "delete", "merge", "updateAll", "whenMatchedUpdate"),
        *("whenMatchedDelete", "whenNotMatchedInsert", "replaceWhere", "update"),
    }
)
"""They take SQL or something else: a column, a table, a policy. Only text counts."""

NAMED = frozenset({"sqlQuery", "condition", "predicate", "query", "str"})
"""Parameters by which SQL is handed over by name."""

Kind = Literal["built", "fragment", "variable"]


@dataclass(frozen=True, slots=True)
class SqlCall:
    """One argument of one call; `argument` is how it is written."""

    function: str
    kind: Kind
    argument: str


def sql_calls(source: str) -> list[SqlCall]:
    """Every argument that is SQL text or may hold it, in the order of the file."""
    return list(_in_scope(ast.parse(source), {}))


def _in_scope(scope: ast.AST, outer: dict[str, Kind]) -> Iterator[SqlCall]:
    """Calls of a module, class or function, which sees the texts that those around it hold in variables."""
    inner = [node for node in _own(scope) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    here = dict(outer)
    for node in _own(scope):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AugAssign(target=ast.Name(id=name), value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                if text := _text(value, here):
                    here[name] = "built" if isinstance(node, ast.AugAssign) or here.get(name) == "built" else text
    for node in _own(scope):
        if isinstance(node, ast.Call):
            yield from _handed_over(node, here)
    for node in inner:
        yield from _in_scope(node, here)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a scope down to the functions and classes in it, but not inside them."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _own(node)


def _handed_over(call: ast.Call, known: dict[str, Kind]) -> Iterator[SqlCall]:
    match call.func:
        case ast.Attribute(attr=name) if name in ALWAYS_TEXT | MAYBE_TEXT:
            pass
        case ast.Name(id="expr" as name):  # of pyspark's functions; a `sql` by itself is a function of the package
            pass
        case _:
            return
    given = call.args if name == "selectExpr" else call.args[:1]
    for argument in [*given, *(k.value for k in call.keywords if k.arg in NAMED)]:
        kind = _text(argument, known) or ("variable" if name in ALWAYS_TEXT else None)
        if kind:
            yield SqlCall(name, kind, ast.unparse(argument))


def _text(node: ast.expr, known: dict[str, Kind]) -> Kind | None:
    """Whether an expression is text: put together (`built`), written out (`fragment`), or neither."""
    match node:
        case ast.JoinedStr():
            return "built"
        case ast.Constant(value=str()):
            return "fragment"
        case ast.Name(id=name):
            return known.get(name)
        case ast.Starred(value=value) | ast.NamedExpr(value=value):
            return _text(value, known)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
            return "built" if _text(left, known) or _text(right, known) else None
        case ast.Call(func=ast.Attribute(value=owner, attr="format" | "join" | "replace" | "format_map" | "strip")):
            return "built" if _text(owner, known) else None
        case ast.IfExp(body=body, orelse=other):
            return _text(body, known) or _text(other, known)
        case ast.BoolOp(values=values) | ast.List(elts=values) | ast.Tuple(elts=values):
            return next((kind for value in values if (kind := _text(value, known))), None)
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
            return _text(element, known)
    return None
