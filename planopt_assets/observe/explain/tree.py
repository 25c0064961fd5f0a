"""The tree at the top of a formatted plan: lines with `:-` and `+-` arms, read by a strict grammar.

Indentation alone is not enough: Spark draws the sections of an adaptive plan inside a cached table too far to the left.
So every child's arm must start exactly at its parent's name, `:-` must be followed by a sibling, `+-` must be the last,
and no line may be left over. A line that could belong to two parents fails one of these rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from planopt_assets.errors import ExplainUnreadable

FINAL, INITIAL = "Final Plan", "Initial Plan"
_LINE = re.compile(
    r"(?P<indent>(?: |:(?!-))*)(?P<arm>:- |\+- )?(?:\* )?(?P<label>\w.*?) ?\((?P<id>\d+|unknown)\)"
    r"(?:, [^\n]*| \(columnarIn=\w+, columnarOut=\w+\))?"
)
_SECTION = re.compile(r" *\+- == (Final Plan|Current Plan|Initial Plan) ==")
_STEP = 3  # columns from a parent to its child; a held plan (`_HOLDERS`) is one step further in
_DEEPEST = 200  # safe for Python's stack; the deepest plan of TPC-DS has 51
_HOLDERS = re.compile(r"InMemory(?:TableScan|Relation)|Scan In-memory table .*|CommandResult|Execute .*|\w+Command")


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One line. `label` is the name with a join's type and side. `id` is None if Spark gave no number."""

    label: str
    id: int | None
    children: tuple[TreeNode, ...] = ()
    inner: tuple[TreeNode, ...] = ()  # a cached plan, or what a command runs
    initial: TreeNode | None = None  # the other section of an adaptive plan that was executed


@dataclass(frozen=True, slots=True)
class _Line:
    column: int  # where the name starts
    arm: str
    label: str
    id: int | None


def read_tree(text: str) -> TreeNode:
    """The tree in these lines.

    >>> read_tree("Project (2)\\n+- Scan parquet  (1)").children[0].label
    'Scan parquet'
    """
    lines = text.split("\n")
    if max(len(line) - len(line.lstrip(" :+-")) for line in lines) > _STEP * _DEEPEST:
        raise ExplainUnreadable(f"the tree is deeper than {_DEEPEST} operators")
    node, end = _node(lines, 0)
    if _line(lines[0]).column or end < len(lines):
        raise ExplainUnreadable(
            f"line {end + 1} of the tree belongs to no operator: {lines[min(end, len(lines) - 1)]!r}"
        )
    return node


def _node(lines: list[str], at: int) -> tuple[TreeNode, int]:
    """The operator in line `at` with everything below it, and the number of the line after that."""
    line = _line(lines[at])
    at += 1
    section = _SECTION.fullmatch(lines[at]) if at < len(lines) else None
    if section and section[1] != INITIAL:
        if line.label != "AdaptiveSparkPlan":
            raise ExplainUnreadable(f"a section {section[1]!r} under {line.label}")
        executed, at = _section_root(lines, at + 1)
        if at >= len(lines) or not (second := _SECTION.fullmatch(lines[at])) or second[1] != INITIAL:
            raise ExplainUnreadable("an adaptive plan without its initial plan")
        initial, at = _section_root(lines, at + 1)
        return TreeNode(line.label, line.id, (executed,), (), initial), at
    inner: tuple[TreeNode, ...] = ()
    if _HOLDERS.fullmatch(line.label):
        inner, at = _children(lines, at, line.column + _STEP)
    children, at = _children(lines, at, line.column)
    return TreeNode(line.label, line.id, children, inner), at


def _section_root(lines: list[str], at: int) -> tuple[TreeNode, int]:
    if at >= len(lines) or _line(lines[at]).arm:
        raise ExplainUnreadable("a section of an adaptive plan without a plan")
    return _node(lines, at)


def _children(lines: list[str], at: int, arm_column: int) -> tuple[tuple[TreeNode, ...], int]:
    """The siblings with their arms at `arm_column`: any number of `:-`, then one `+-`."""
    found: list[TreeNode] = []
    closed = True
    while at < len(lines) and not _SECTION.fullmatch(lines[at]):
        line = _line(lines[at])
        if not line.arm or line.column - len(line.arm) != arm_column or (found and closed):
            break
        closed = line.arm == "+- "
        child, at = _node(lines, at)
        found.append(child)
    if not closed:
        raise ExplainUnreadable(f"the last operator under column {arm_column} is missing")
    return tuple(found), at


def _line(text: str) -> _Line:
    found = _LINE.fullmatch(text)
    if not found:
        raise ExplainUnreadable(f"no line of a plan's tree: {text[:120]!r}")
    arm = found["arm"] or ""
    number = None if found["id"] == "unknown" else int(found["id"])
    return _Line(len(found["indent"]) + len(arm), arm, found["label"].strip(), number)
