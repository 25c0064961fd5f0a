"""Python functions with the rows that went through them."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.model.signals import PythonFunction
from planopt_assets.model.udf import Udf, UdfAudit
from planopt_assets.observe.signals.functions import functions
from planopt_tests.observe.signals.plans import tree

pytestmark = pytest.mark.fast

CALLED = """
Project
  BatchEvalPython | BatchEvalPython [tax(price#1)#3, tax(fee#2)#4], [pythonUDF0#5, pythonUDF1#6] | rows=90
    Filter | Filter (price#1 > 3) | rows=90
      ArrowEvalPython | ArrowEvalPython [surtax(price#1)#7], [pythonUDF0#8], 101 | rows=400
        Scan parquet | table sales | rows=400
"""


def udf(name: str = "tax", **changes: Any) -> Udf:
    known = {"kind": "python", "evaluation": "batched", "deterministic": True, "returns": "double", "rung": "row_wise"}
    return Udf(name, arguments=("price",), **{**known, **changes})


def of(outline: str, *udfs: Udf) -> tuple[PythonFunction, ...]:
    return functions(tree(outline), UdfAudit(udfs))


def test_a_function_has_its_rung_and_the_rows_its_operator_got() -> None:
    assert of(CALLED, udf("tax", uses=2), udf("surtax", rung="arrow_optimised")) == (
        PythonFunction("surtax", "arrow_optimised", 1, 400, ("double",)),
        PythonFunction("tax", "row_wise", 2, 90, ("double",)),
    )


def test_calls_with_other_arguments_are_uses_of_the_same_function() -> None:
    (found,) = of(CALLED, udf(uses=2), udf())
    assert found.uses == 3


def test_rows_are_unknown_where_no_operator_names_it() -> None:
    assert of("Project\n  Scan parquet | table sales | rows=400", udf()) == (
        PythonFunction("tax", "row_wise", 1, None, ("double",)),
    )


def test_rows_are_unknown_where_one_of_its_operators_does_not_tell() -> None:
    called = "ArrowEvalPython | ArrowEvalPython [tax(a#1)#3], [pythonUDF0#5]"
    outline = f"Union\n  {called}\n    Scan parquet | table sales | rows=4\n  {called}\n    LocalTableScan"
    assert of(outline, udf())[0].rows is None


def test_functions_of_the_jvm_are_not_python() -> None:
    assert of(CALLED, udf(kind="scala", rung="jvm")) == ()
