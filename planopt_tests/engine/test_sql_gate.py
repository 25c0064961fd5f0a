"""No statement gets through the gate that does more than read registered tables; no plain query is kept out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from planopt_assets.engine.gate import sql_allowlist
from planopt_assets.engine.gate.sql_gate import RegisteredRelations, analysis_gate, parse_gate
from planopt_assets.errors import SqlRefused, SqlSyntax
from planopt_tests.engine.gate_lab import REFLECT, Lab, open_lab
from planopt_tests.engine.sql_cases import Case, read

pytestmark = pytest.mark.spark

EXAMPLES = Path(__file__).parents[2] / "examples" / "tpch" / "queries"


def each(file: str, name_at: int) -> pytest.MarkDecorator:
    cases = read(file)
    return pytest.mark.parametrize("case", cases, ids=[case.head[name_at] for case in cases])


@pytest.fixture(scope="module")
def lab(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_lab(spark, tmp_path_factory.mktemp("gate")) as lab:
        yield lab


@each("refused.sql", name_at=1)
def test_a_refused_statement_is_named_and_nothing_of_it_ran(lab: Lab, case: Case) -> None:
    stage, _, says = case.at(lab.places).head
    sql = case.at(lab.places).sql
    world, jobs = lab.world(), lab.jobs()
    if stage == "parse":
        with pytest.raises(SqlRefused, match=re.escape(says)) as refusal:
            parse_gate(lab.spark, "q", sql, lab.registered)
        assert lab.jobs() == jobs
    else:
        parse_gate(lab.spark, "q", sql, lab.registered)
        frame = lab.spark.sql(sql)
        with pytest.raises(SqlRefused, match=re.escape(says)) as refusal:
            analysis_gate(lab.spark, "q", frame, lab.registered, allow_python=False)
    assert lab.world() == world
    assert refusal.value.where == "query q"
    assert refusal.value.part


@pytest.mark.parametrize(
    ("sql", "sung"),
    [
        ("SELECT TRANSFORM(id) USING 'touch @canary@; cat' AS (x) FROM range(1)", "files"),
        (f"SELECT {REFLECT}", "property"),
        ("EXECUTE IMMEDIATE 'CREATE VIEW gate_canary AS SELECT 1 AS x'", "catalog"),
        ("SELECT * FROM py_table(1)", "files"),
        ("SET spark.sql.shuffle.partitions = 7", "settings"),
    ],
)
def test_without_the_gate_the_canary_sings(lab: Lab, sql: str, sung: str) -> None:
    before = lab.world()
    shuffles = lab.spark.conf.get("spark.sql.shuffle.partitions")
    try:
        lab.spark.sql(Case((), sql).at(lab.places).sql).collect()
        after = lab.world()
    finally:
        (lab.folder / "canary").unlink(missing_ok=True)
        lab.spark._jvm.java.lang.System.clearProperty("planopt.canary")
        lab.spark.sql("DROP VIEW IF EXISTS gate_canary")
        lab.spark.conf.set("spark.sql.shuffle.partitions", shuffles)
    assert after[sung] != before[sung]


@each("accepted.sql", name_at=0)
def test_a_plain_query_passes(lab: Lab, case: Case) -> None:
    fields = (field.split("=") for field in case.head[1:])
    args = {name: int(value) if value.isdigit() else value for name, value in fields}
    assert lab.run(case.at(lab.places).sql, args).columns


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.sql")), ids=lambda file: file.stem)
def test_the_queries_of_the_demo_pass(lab: Lab, file: Path) -> None:
    sql = file.read_text(encoding="utf-8")
    lab.run(sql, dict.fromkeys(re.findall(r":(\w+)", sql), "1995-01-01"))


def test_the_callable_of_the_demo_passes(lab: Lab) -> None:
    spec = spec_from_file_location("brand_share", EXAMPLES / "brand_share.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    analysis_gate(lab.spark, "brand_share", module.build(lab.spark), lab.registered, allow_python=True)


def test_the_data_frame_interface_passes(lab: Lab) -> None:
    nation, customer = lab.spark.table("nation"), lab.spark.table("customer")
    frame = (
        customer.hint("merge")
        .join(F.broadcast(nation), F.col("c_nationkey") == F.col("n_nationkey"))
        .dropDuplicates(["c_custkey"])
        .fillna("none", ["n_name"])
        .withColumn("seen", F.explode(F.array("c_custkey", "n_nationkey")))
        .where(
            F.col("c_custkey").isin(lab.spark.range(5)) | (F.col("seen") > nation.select(F.max("n_nationkey")).scalar())
        )
        .observe("rows", F.count(F.lit(1)).alias("n"))
        .repartition(4, "c_nationkey")
        .sample(0.5, seed=1)
        .drop("c_comment")
    )
    for each_frame in (frame, frame.exceptAll(frame.limit(3)), nation.unpivot("n_name", ["n_nationkey"], "k", "v")):
        analysis_gate(lab.spark, "q", each_frame, lab.registered, allow_python=False)


def _change_feed(lab: Lab) -> DataFrame:
    feed = {"readChangeFeed": "true", "startingVersion": 0}
    return lab.spark.read.format("delta").options(**feed).load(lab.places["orders"])


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda lab: lab.spark.read.csv(lab.places["csv"]), "which is not a Delta table"),
        (lambda lab: lab.spark.read.format("delta").load(lab.places["outside"]), "which is not a registered table"),
        (lambda lab: lab.spark.read.format("delta").load(lab.places["orders"]), "at the newest version"),
        (lambda lab: lab.spark.createDataFrame([(1,)], "x INT"), "its rows come from an RDD"),
        (lambda lab: lab.spark.range(1).localCheckpoint(), "its rows come from an RDD"),
        (lambda lab: lab.spark.sql("SHOW TABLES"), "`ShowTables` is not part of a plain query"),
        (lambda lab: lab.spark.readStream.format("rate").load(), "it reads a stream"),
        (lambda lab: lab.spark.readStream.format("delta").load(lab.places["orders"]), "it reads a stream"),
        (_change_feed, "which is not a Delta table"),
        (lambda lab: lab.spark.range(1).select(F.expr(REFLECT)), "reflection calls Java"),
        (lambda lab: lab.spark.range(1).select(F.call_function("py_double", "id")), "runs Python"),
    ],
    ids=[
        "csv",
        "path",
        "newest",
        "rows",
        "checkpoint",
        "command",
        "stream",
        "delta_stream",
        "feed",
        "reflect",
        "python",
    ],
)
def test_a_callable_reads_registered_tables_only(lab: Lab, build: Callable[[Lab], DataFrame], says: str) -> None:
    with pytest.raises(SqlRefused, match=re.escape(says)):
        analysis_gate(lab.spark, "q", build(lab), lab.registered, allow_python=False)


def test_a_function_of_java_is_refused_in_a_callable(lab: Lab) -> None:
    from pyspark.ml.functions import array_to_vector

    frame = lab.spark.range(1).select(array_to_vector(F.array(F.lit(1.0))))
    with pytest.raises(SqlRefused, match="a user-defined function runs Java"):
        analysis_gate(lab.spark, "q", frame, lab.registered, allow_python=True)


def test_python_functions_pass_with_the_opt_in(lab: Lab) -> None:
    lab.run("SELECT py_double(o_shippriority) FROM orders", allow_python=True)
    mapped = lab.spark.table("nation").mapInPandas(lambda frames: frames, "n_nationkey INT")
    analysis_gate(lab.spark, "q", mapped, lab.registered, allow_python=True)


def test_the_opt_in_for_python_opens_nothing_else(lab: Lab) -> None:
    with pytest.raises(SqlRefused, match="not a Delta table"):
        lab.run("SELECT py_double(length(_c0)) FROM sees_csv", allow_python=True)


def test_a_frame_may_come_as_the_object_of_the_jvm(lab: Lab) -> None:
    analysis_gate(lab.spark, "q", lab.spark.table("orders")._jdf, lab.registered, allow_python=False)


IN_CATALOG = (
    "gate_catalog_orders{} WHERE c = 'a'",
    "spark_catalog.default.gate_catalog_orders{}",
    "(SELECT x FROM `Default`.gate_catalog_orders{})",
)


@pytest.mark.parametrize("table", IN_CATALOG)
def test_a_registered_table_is_read_by_its_name_in_the_catalog_at_a_fixed_version_only(lab: Lab, table: str) -> None:
    lab = replace(lab, registered=RegisteredRelations.of({"orders_by_name": str(lab.folder / "catalog")}))
    lab.run(f"SELECT x FROM {table.format(' VERSION AS OF 0')}")
    with pytest.raises(SqlRefused, match="at the newest version"):
        lab.run(f"SELECT x FROM {table.format('')}")
    with pytest.raises(SqlRefused, match="at the newest version"):
        lab.run("SELECT x FROM gate_view")


def test_who_reads_the_newest_version_is_told_the_name_of_the_table(lab: Lab) -> None:
    with pytest.raises(SqlRefused) as refusal:
        lab.run(f"SELECT * FROM delta.`{lab.places['orders']}`")
    assert refusal.value.fix == "name the registered table, `orders`, in its place, or add VERSION AS OF"


@pytest.mark.parametrize("time", ["'2030-01-01'", "TIMESTAMP '2030-01-01'", "CAST('2030-01-01' AS TIMESTAMP)", ":at"])
def test_a_time_that_stays_the_same_may_choose_the_version(lab: Lab, time: str) -> None:
    sql = f"SELECT * FROM delta.`{lab.places['orders']}` TIMESTAMP AS OF {time}"
    parse_gate(lab.spark, "q", sql, lab.registered)


def test_a_refusal_reads_well(lab: Lab) -> None:
    with pytest.raises(SqlRefused) as refusal:
        parse_gate(lab.spark, "daily_revenue", "SELECT * FROM csv.`/etc/passwd`")
    assert str(refusal.value) == (
        "PLN-101 query daily_revenue: `csv./etc/passwd` is not a registered table."
        " Fix: write it as one SELECT over registered tables with built-in functions"
    )
    assert refusal.value.facts()["part"] == "csv./etc/passwd"


@pytest.mark.parametrize(
    ("sql", "line", "column", "says"),
    [
        ("SELECT 1; SELECT 2", 1, 11, "Syntax error at or near 'SELECT'"),
        ("SELECT 1\nFROM nation\n  WHERE )", 3, 9, "Syntax error at or near"),
        ("COPY INTO orders FROM '/etc/passwd'", 1, 1, "Syntax error at or near 'COPY'"),
        ("", 1, 1, "unexpected empty statement"),
        ("-- only a comment", 1, 18, "Syntax error at or near end of input"),
        ("SELECT 1\n\0; DROP TABLE x", 2, 1, "NUL"),
        ("SELECT '\ud800'", 0, 0, "surrogate"),
        (f"SELECT '{'x' * (1 << 20)}'", 0, 0, "more than 1,048,576"),
        ("SELECT " + "(" * 3000 + "1" + ")" * 3000, 0, 0, "nested too deep"),
        ("SELECT " + "+".join(["1"] * 5000), 0, 0, "nested too deep"),
    ],
    ids=["two", "lines", "copy", "empty", "comment", "nul", "surrogate", "too_long", "parentheses", "sum"],
)
def test_a_text_spark_cannot_parse_is_a_syntax_error_with_its_place(
    lab: Lab, sql: str, line: int, column: int, says: str
) -> None:
    with pytest.raises(SqlSyntax, match=says) as refusal:
        parse_gate(lab.spark, "q", sql)
    assert (refusal.value.line, refusal.value.column) == (line, column)


def test_large_queries_pass(lab: Lab) -> None:
    lab.run(" UNION ALL ".join(["SELECT n_name FROM nation"] * 60))
    lab.run("SELECT * FROM (" * 40 + "nation" + ")" * 40)
    lab.run("SELECT max(n_nationkey) FROM nation WHERE n_nationkey > (" * 12 + "1" + ")" * 12)


def test_a_text_is_parsed_under_the_settings_of_its_own_session(lab: Lab, spark: SparkSession) -> None:
    lab.spark.conf.set("planopt.part", "reflect")
    spark._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)
    with pytest.raises(SqlRefused, match="changes the text from outside"):
        parse_gate(lab.spark, "q", "SELECT ${planopt.part}('java.lang.Math', 'abs', 1)")


def test_to_json_shows_every_tree_below_the_allowed_nodes_but_window_clauses(lab: Lab) -> None:
    """`toJSON` writes null for a map; a Spark that keeps trees in another one would hide them from the gate."""
    hidden = set()
    for name in sql_allowlist.PARSED.nodes | sql_allowlist.PARSED.expressions | sql_allowlist.ANALYSED.nodes:
        shape = " ".join(c.toGenericString() for c in lab.spark._jvm.java.lang.Class.forName(name).getConstructors())
        if re.search(r"Map<[^>]*(Expression|Plan|WindowSpec|Attribute|Column)", shape):
            hidden.add(sql_allowlist.simple_name(name))
    assert hidden == {"WithWindowDefinition"}
