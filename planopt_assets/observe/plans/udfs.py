"""UDF audit: the user-defined functions that an analysed plan calls, each with its rung."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from planopt_assets.model.udf import Rung, Udf, UdfAudit
from planopt_assets.observe.plans.plan_json import Flat, Json, after_subtree, kind_of

_Kind = Literal["python", "pandas", "arrow", "scala", "hive"]

# PySpark's `PythonEvalType`: name, kind, rung. The numbers are part of its protocol.
EVALUATIONS: dict[int, tuple[str, _Kind, Rung]] = {
    100: ("batched", "python", "row_wise"),
    101: ("arrow_batched", "python", "arrow_optimised"),
    200: ("scalar_pandas", "pandas", "vectorised"),
    201: ("grouped_map_pandas", "pandas", "vectorised"),
    202: ("grouped_agg_pandas", "pandas", "vectorised"),
    203: ("window_agg_pandas", "pandas", "vectorised"),
    204: ("scalar_pandas_iter", "pandas", "vectorised"),
    205: ("map_pandas_iter", "pandas", "vectorised"),
    206: ("cogrouped_map_pandas", "pandas", "vectorised"),
    207: ("map_arrow_iter", "arrow", "vectorised"),
    208: ("grouped_map_pandas_with_state", "pandas", "vectorised"),
    209: ("grouped_map_arrow", "arrow", "vectorised"),
    210: ("cogrouped_map_arrow", "arrow", "vectorised"),
    211: ("transform_with_state_pandas", "pandas", "vectorised"),
    212: ("transform_with_state_pandas_init_state", "pandas", "vectorised"),
    213: ("transform_with_state_python_row", "python", "row_wise"),
    214: ("transform_with_state_python_row_init_state", "python", "row_wise"),
    215: ("grouped_map_arrow_iter", "arrow", "vectorised"),
    216: ("grouped_map_pandas_iter", "pandas", "vectorised"),
    217: ("grouped_agg_pandas_iter", "pandas", "vectorised"),
    250: ("scalar_arrow", "arrow", "vectorised"),
    251: ("scalar_arrow_iter", "arrow", "vectorised"),
    252: ("grouped_agg_arrow", "arrow", "vectorised"),
    253: ("window_agg_arrow", "arrow", "vectorised"),
    254: ("grouped_agg_arrow_iter", "arrow", "vectorised"),
    300: ("table", "python", "row_wise"),
    301: ("arrow_table", "python", "arrow_optimised"),
    302: ("arrow_udtf", "arrow", "vectorised"),
}

UDF_SETTINGS = (
    "spark.python.daemon.killWorkerOnFlushFailure",
    "spark.python.worker.faulthandler.enabled",
    "spark.python.worker.idleTimeoutSeconds",
    "spark.python.worker.killOnIdleTimeout",
    "spark.python.worker.reuse",
    "spark.python.worker.tracebackDumpIntervalSeconds",
    "spark.sql.execution.arrow.compression.codec",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled",
    "spark.sql.execution.arrow.useLargeVarTypes",
    "spark.sql.execution.pyspark.udf.daemonKillWorkerOnFlushFailure",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled",
    "spark.sql.execution.pyspark.udf.idleTimeoutSeconds",
    "spark.sql.execution.pyspark.udf.killOnIdleTimeout",
    "spark.sql.execution.pyspark.udf.tracebackDumpIntervalSeconds",
    "spark.sql.execution.python.udf.buffer.size",
    "spark.sql.execution.python.udf.maxRecordsPerBatch",
    "spark.sql.execution.pythonUDF.arrow.concurrency.level",
    "spark.sql.execution.pythonUDF.arrow.enabled",
    "spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled",
    "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype",
    "spark.sql.execution.pythonUDTF.arrow.enabled",
    "spark.sql.planner.pythonExecution.memory",
)
"""Settings for how rows reach Python and when a worker times out. None of them can hold a secret."""

_PYTHON = frozenset({"PythonUDF", "PythonUDAF", "PythonUDTF"})
_SCALA = frozenset(
    {
        *("ScalaUDF", "ScalaUDAF", "ScalaAggregator", "UserDefinedGenerator", "TypedAggregateExpression"),
        *("SimpleTypedAggregateExpression", "ComplexTypedAggregateExpression"),
        *("ApplyFunctionExpression", "V2Aggregator"),
    }
)
_HIVE = frozenset({"HiveSimpleUDF", "HiveGenericUDF", "HiveGenericUDTF", "HiveUDAFFunction"})
_SQL_TYPES = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def udf_audit(plan: Flat, source: str = "") -> UdfAudit:
    """Every user-defined function in an analysed plan as JSON, sub-queries included, in a fixed order.

    A plan does not say where a function was written, so `source` names who built the plan.
    """
    uses = Counter(_calls(plan))
    functions = [replace(udf, uses=uses[udf], source=source) for udf in uses]
    return UdfAudit(tuple(sorted(functions, key=lambda f: (f.name, f.evaluation, f.arguments, f.returns))))


def _calls(plan: Flat) -> Iterator[Udf]:
    stack: list[object] = [plan]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            stack.extend(reversed(here.values()))
        elif isinstance(here, list):
            for at, node in enumerate(here):
                if isinstance(node, dict) and "num-children" in node and (udf := _udf(here, at)):
                    yield udf
            stack.extend(reversed(here))


def _udf(flat: Flat, at: int) -> Udf | None:
    node = flat[at]
    simple = kind_of(node)
    if simple in _PYTHON:
        number = int(node["evalType"])
        evaluation, kind, rung = EVALUATIONS.get(number, (f"eval_type_{number}", "python", "row_wise"))
        returns = _type(node.get("dataType") or node.get("elementSchema"))
        return Udf(node["name"], kind, evaluation, node["udfDeterministic"], returns, _arguments(flat, at), rung)
    if simple in _SCALA | _HIVE:
        family: _Kind = "scala" if simple in _SCALA else "hive"
        name = str(node.get("udfName") or node.get("name") or simple)
        returns = _type(node.get("dataType"))
        return Udf(name, family, simple, node.get("udfDeterministic"), returns, _arguments(flat, at), "jvm")
    return None


def _arguments(flat: Flat, at: int) -> tuple[str, ...]:
    """The arguments of an expression: a column by its name, anything else by its operators and columns.

    >>> add = {"class": "x.Add", "num-children": 2}
    >>> a, b = ({"class": "x.AttributeReference", "num-children": 0, "name": n} for n in "ab")
    >>> _arguments([{"class": "x.PythonUDF", "num-children": 2}, add, a, b, b], 0)
    ('add(a, b)', 'b')
    """
    arguments = []
    start = at + 1
    for _ in range(flat[at]["num-children"]):
        end = after_subtree(flat, start)
        arguments.append(_described(flat[start:end]))
        start = end
    return tuple(arguments)


def _described(flat: Flat) -> str:
    node = flat[0]
    match kind_of(node):
        case "AttributeReference":
            return str(node["name"])
        case "OuterReference":
            return _described(node["e"])
        case "Cast" | "Alias":
            return _described(flat[1:])
        case "Literal":
            return "literal"  # its value may be private
        case "PythonUDF" | "PythonUDAF" as simple:
            name = str(node.get("name", simple))
        case simple:
            name = simple.lower()
    return f"{name}({', '.join(_arguments(flat, 0))})"


def _type(value: object) -> str:
    """A type as SQL writes it.

    >>> _type({"type": "array", "elementType": "long", "containsNull": True})
    'array<bigint>'
    """
    if not isinstance(value, dict):
        return _SQL_TYPES.get(str(value), str(value)) if value is not None else "unknown"
    match value["type"]:
        case "array":
            return f"array<{_type(value['elementType'])}>"
        case "map":
            return f"map<{_type(value['keyType'])},{_type(value['valueType'])}>"
        case "struct":
            return f"struct<{','.join(_field(field) for field in value['fields'])}>"
    return str(value.get("class", value["type"]))


def _field(field: Json) -> str:
    return f"{field['name']}:{_type(field['type'])}"
