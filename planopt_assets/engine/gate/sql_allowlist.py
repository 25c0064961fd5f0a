"""What may stand in a query plan: one table for the parser's tree, one for the analyzer's, both closed.

A class that is in neither table is refused: what a newer Spark brings has to be added here first.
The trees come from Spark's `toJSON`, which writes every node and expression with its `class`, sub-queries included:

    {"class": "org.apache.spark.sql.catalyst.plans.logical.Filter", "num-children": 1, "condition": [{…}], "child": 0}

It leaves out what is not a tree. Among the classes below only `WithWindowDefinition.windowDefinitions`,
`UnresolvedRelation.options` and `LogicalRelation.relation` matter; the gate asks the JVM for those three.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Node = dict[str, Any]

CATALYST = "org.apache.spark.sql.catalyst."
LOGICAL_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
UNRESOLVED_RELATION = f"{CATALYST}analysis.UnresolvedRelation"
TIME_TRAVEL = f"{CATALYST}analysis.RelationTimeTravel"
WINDOW_CLAUSE = f"{CATALYST}plans.logical.WithWindowDefinition"

# Spark's own expressions. Not `objects` (calls into Java classes) and not `codegen`.
_BUILTIN = re.compile(re.escape(CATALYST) + r"expressions\.((aggregate|json|st|url|variant|xml)\.)?[A-Z]\w*\$?")
_STATIC_INVOKE = f"{CATALYST}expressions.objects.StaticInvoke"


def _classes(package: str, names: str) -> frozenset[str]:
    return frozenset(f"{CATALYST}{package}.{name}" for name in names.split())


# In the parser's tree as in the analyzer's.
_QUERY_NODES = _classes(
    "plans.logical",
    "Project Filter Aggregate Join LateralJoin Union Except Intersect Distinct Sort GlobalLimit LocalLimit LimitAll "
    "Offset SubqueryAlias Generate Sample Repartition RepartitionByExpression RebalancePartitions "
    "OneRowRelation LocalRelation Range",
) | _classes("expressions", "PipeOperator")

_PARSED_NODES = (
    _QUERY_NODES
    | _classes("plans.logical", "UnresolvedWith UnresolvedHint WithWindowDefinition Pivot Unpivot")
    | _classes(
        "analysis",
        "UnresolvedRelation RelationTimeTravel UnresolvedInlineTable UnresolvedTableValuedFunction "
        "UnresolvedTVFAliases UnresolvedSubqueryColumnAliases UnresolvedHaving UnresolvedQualify",
    )
)

_PARSED_EXPRESSIONS = _classes(
    "analysis",
    "UnresolvedAttribute UnresolvedAlias MultiAlias UnresolvedStar UnresolvedStarExceptOrReplace UnresolvedRegex "
    "UnresolvedExtractValue UnresolvedOrdinal UnresolvedPipeAggregateOrdinal UnresolvedFunction UnresolvedGenerator "
    "NamedParameter PosParameter",
)

# What may say the time of a version: the same one on every day.
FIXED_TIMES = _classes("expressions", "Literal Cast") | _classes("analysis", "NamedParameter PosParameter")

_ANALYSED_NODES = (
    _QUERY_NODES
    | {LOGICAL_RELATION}
    | _classes(
        "plans.logical",
        "View WithCTE CTERelationDef CTERelationRef UnionLoop UnionLoopRef Window Expand Deduplicate ResolvedHint "
        "CollectMetrics",
    )
    | _classes("analysis", "ResolvedInlineTable")
)

_PYTHON_NODES = _classes(
    "plans.logical",
    "MapInPandas MapInArrow FlatMapGroupsInPandas FlatMapGroupsInArrow FlatMapCoGroupsInPandas FlatMapCoGroupsInArrow",
)

_PYTHON_EXPRESSIONS = _classes("expressions", "PythonUDF PythonUDAF PythonUDTF")

_REFLECTION = "reflection calls Java"
_SCHEMA_FILE = "a parser that may read its schema from any file"
_V2_FUNCTION = "a function of a catalog plugin runs Java"
_PYTHON = "runs Python, which the workload does not allow"

# Expressions of Spark that reach out of the query.
_DENIED = {
    "CallMethodViaReflection": _REFLECTION,
    "TryReflect": _REFLECTION,
    "ScalaUDF": "a user-defined function runs Java",
    "UserDefinedGenerator": "a user-defined function runs Java",
    "ApplyFunctionExpression": _V2_FUNCTION,
    "TransformExpression": _V2_FUNCTION,
    "V2Aggregator": _V2_FUNCTION,
    "FromAvro": _SCHEMA_FILE,
    "ToAvro": _SCHEMA_FILE,
    "SchemaOfAvro": _SCHEMA_FILE,
    "FromProtobuf": _SCHEMA_FILE,
    "ToProtobuf": _SCHEMA_FILE,
    "XmlToStructs": _SCHEMA_FILE,
    "SchemaOfXml": _SCHEMA_FILE,
    "PythonWorkerLogs": "it reads logs, not a table",
    "VariableReference": "a session variable changes the query from outside",
    "CursorReference": "a cursor belongs to a script",
    "PythonUDF": f"a user-defined function {_PYTHON}",
    "PythonUDAF": f"a user-defined aggregate {_PYTHON}",
    "PythonUDTF": f"a user-defined table function {_PYTHON}",
    "UnresolvedPolymorphicPythonUDTF": "a Python table function runs during analysis",
}

# What people meet most, in their words; anything else is named by its class.
_NOT_A_QUERY = {
    "ScriptTransformation": "`TRANSFORM … USING` runs a program",
    "CompoundBody": "`BEGIN … END` is a script",
    "UnresolvedExecuteImmediate": "`EXECUTE IMMEDIATE` runs its text during analysis",
    "PlanWithUnresolvedIdentifier": "`IDENTIFIER(…)` hides which table is read",
    "ExpressionWithUnresolvedIdentifier": "`IDENTIFIER(…)` hides which column or function is used",
    "NamedStreamingRelation": "`STREAM` reads a stream",
    "RelationChanges": "`CHANGES` reads a change feed",
    "InsertIntoStatement": "`INSERT` writes",
    "LogicalRDD": "its rows come from an RDD, not from a table",
    "StreamingRelation": "it reads a stream",
    "StreamingRelationV2": "it reads a stream",
    "SQLScalarFunction": "a user-defined SQL function hides what it does",
    "SQLFunctionNode": "a user-defined SQL function hides what it does",
}


@dataclass(frozen=True, slots=True)
class Allowlist:
    """The classes of one stage; Spark's built-in expressions come on top, less those that reach out of the query."""

    nodes: frozenset[str]
    expressions: frozenset[str] = frozenset()

    def offence(self, node: Node) -> str | None:
        """Why this node or expression is refused, or None.

        >>> PARSED.offence({"class": "org.apache.spark.sql.catalyst.plans.logical.ScriptTransformation"})
        '`TRANSFORM … USING` runs a program'
        """
        name = node["class"]
        if name in self.nodes or name in self.expressions:
            return None
        # Spark pads CHAR columns this way; the class it calls is its own.
        if name == _STATIC_INVOKE and str(node.get("staticObject")).startswith(CATALYST):
            return None
        return class_offence(name)


PARSED = Allowlist(_PARSED_NODES, _PARSED_EXPRESSIONS)
ANALYSED = Allowlist(_ANALYSED_NODES)
ANALYSED_WITH_PYTHON = Allowlist(_ANALYSED_NODES | _PYTHON_NODES, _PYTHON_EXPRESSIONS)


def class_offence(name: str) -> str | None:
    """Why an expression class is refused wherever it stands, or None for one of Spark's harmless ones."""
    simple = simple_name(name)
    if simple in _DENIED:
        return _DENIED[simple]
    if _BUILTIN.fullmatch(name):
        return None
    return _NOT_A_QUERY.get(simple, f"`{simple}` is not part of a plain query")


def simple_name(name: str) -> str:
    """A class without its package.

    >>> simple_name("org.apache.spark.sql.catalyst.plans.logical.OneRowRelation$")
    'OneRowRelation'
    """
    return name.rpartition(".")[2].rstrip("$")


CASE_WHEN = "org.apache.spark.sql.catalyst.expressions.CaseWhen"


def walk(tree: object) -> Iterator[Node]:
    """Every node and expression of a `toJSON` tree, a parent before its children; a loop, since trees can be deep."""
    stack = [tree]
    while stack:
        here = stack.pop()
        if isinstance(here, list):
            stack.extend(reversed(here))
        elif isinstance(here, dict):
            if "class" in here and "num-children" in here:
                yield here
            # The parts of a CASE are its children as well: shown twice, they would be counted twice.
            again = ("branches", "elseValue") if here.get("class") == CASE_WHEN else ()
            stack.extend(value for name, value in reversed(here.items()) if name not in again)


def relation_ids(nodes: Iterable[Node]) -> Iterator[frozenset[int]]:
    """Ids of the columns of every table in an analysed tree."""
    for node in nodes:
        if node["class"] == LOGICAL_RELATION:
            yield frozenset(column[0]["exprId"]["id"] for column in node["output"])


@dataclass(frozen=True, slots=True, order=True)
class Function:
    """A function as the text calls it: `system.builtin.range` makes a table, `upper` a value."""

    makes_table: bool
    parts: tuple[str, ...]

    @property
    def simple(self) -> str:
        return self.parts[-1].lower()

    @property
    def may_be_builtin(self) -> bool:
        return tuple(part.lower() for part in self.parts[:-1]) in ((), ("builtin",), ("system", "builtin"))

    def __str__(self) -> str:
        return ".".join(self.parts)


def function_of(node: Node) -> Function | None:
    """The function a node of the parser's tree calls; `toJSON` writes a name as `[system, builtin, range]`."""
    match simple_name(node["class"]):
        case "UnresolvedFunction":
            return Function(False, tuple(node["nameParts"][1:-1].split(", ")))
        case "UnresolvedTableValuedFunction":
            return Function(True, tuple(node["name"][1:-1].split(", ")))
        case "UnresolvedGenerator":  # LATERAL VIEW
            name = node["name"]
            return Function(False, tuple(name[key] for key in ("catalog", "database", "funcName") if name.get(key)))
    return None
