"""The lists themselves: closed, and blind to spelling where two spellings mean one table."""

from __future__ import annotations

import pytest

from planopt_assets.engine.gate.registered_relations import RegisteredRelations
from planopt_assets.engine.gate.sql_allowlist import ANALYSED, ANALYSED_WITH_PYTHON, CATALYST, PARSED, function_of, walk

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("stage", [PARSED, ANALYSED, ANALYSED_WITH_PYTHON], ids=["parsed", "analysed", "python"])
@pytest.mark.parametrize(
    "name",
    [
        f"{CATALYST}plans.logical.SomethingNew",
        f"{CATALYST}analysis.UnresolvedSomethingNew",
        f"{CATALYST}expressions.objects.Invoke",
        f"{CATALYST}expressions.codegen.Anything",
        f"{CATALYST}expressions.ScalaUDF",
        "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation",
        "org.apache.spark.sql.hive.HiveSimpleUDF",
        "com.example.expressions.Upper",
        "",
    ],
)
def test_what_is_not_listed_is_refused(stage, name):
    assert stage.offence({"class": name})


def test_a_static_call_passes_only_into_spark_itself():
    call = {"class": f"{CATALYST}expressions.objects.StaticInvoke"}
    assert ANALYSED.offence(call | {"staticObject": f"{CATALYST}util.CharVarcharCodegenUtils"}) is None
    assert ANALYSED.offence(call | {"staticObject": "java.lang.Runtime"})
    assert ANALYSED.offence(call)


def test_python_is_refused_without_the_opt_in_only():
    udf = {"class": f"{CATALYST}expressions.PythonUDF"}
    assert ANALYSED_WITH_PYTHON.offence(udf) is None
    assert ANALYSED.offence(udf)


def test_a_walk_sees_trees_inside_expressions_tuples_and_options():
    leaf = {"class": "leaf", "num-children": 0}
    tree = [
        {
            "class": "root",
            "num-children": 1,
            "ctes": [{"product-class": "scala.Tuple2", "_2": [leaf]}],
            "plan": [[leaf]],
        },
        {"class": "child", "num-children": 0, "metadata": {"class": "a column comment"}},
    ]
    assert [node["class"] for node in walk(tree)] == ["root", "leaf", "leaf", "child"]


def test_a_walk_is_not_limited_by_depth():
    tree: object = []
    for _ in range(10_000):
        tree = [{"class": "x", "num-children": 0, "plan": tree}]
    assert sum(1 for _ in walk(tree)) == 10_000


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("[upper]", True),
        ("[System, BuiltIn, UPPER]", True),
        ("[builtin, upper]", True),
        ("[session, upper]", False),
        ("[spark_catalog, default, upper]", False),
    ],
)
def test_only_some_prefixes_name_a_builtin(name, builtin):
    function = function_of({"class": f"{CATALYST}analysis.UnresolvedFunction", "nameParts": name})
    assert function is not None
    assert (function.simple, function.may_be_builtin) == ("upper", builtin)


@pytest.mark.parametrize(
    ("declared", "read"),
    [
        ("/data/orders", "file:/data/orders"),
        ("file:///data//orders/", "/data/orders"),
        ("/data/./x/../orders", "file:/data/orders"),
        ("s3a://lake/orders/", "s3a://lake/orders"),
        ("s3a://lake//a/orders", "s3a://lake/a/orders"),
    ],
)
def test_two_spellings_of_one_path_are_one_table(declared, read):
    assert RegisteredRelations.of({"orders": declared}).has_path(read)


@pytest.mark.parametrize(
    "read",
    ["/data", "/data/orders/part=1", "/data/orders2", "/data/Orders", "s3a://lake/orders", "hdfs://n/data/orders", ""],
)
def test_a_path_beside_above_or_below_is_another(read):
    assert not RegisteredRelations.of({"orders": "/data/orders"}).has_path(read)


def test_a_link_to_a_registered_table_is_that_table(tmp_path):
    (tmp_path / "orders").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "orders")
    assert RegisteredRelations.of({"orders": str(tmp_path / "orders")}).has_path(f"file:{tmp_path}/link")
