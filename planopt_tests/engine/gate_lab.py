"""A session with everything a query might abuse, and a way to see whether anything was touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from planopt_assets.engine.gate.sql_gate import RegisteredRelations, analysis_gate, parse_gate

TPCH = {
    "lineitem": "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT, l_quantity DECIMAL(15,2), "
    "l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), l_returnflag STRING, "
    "l_linestatus STRING, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipmode STRING",
    "orders": "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus STRING, o_totalprice DECIMAL(15,2), "
    "o_orderdate DATE, o_orderpriority STRING, o_clerk STRING, o_shippriority INT, o_comment STRING",
    "customer": "c_custkey BIGINT, c_name STRING, c_nationkey INT, c_acctbal DECIMAL(15,2), c_mktsegment STRING, "
    "c_comment STRING",
    "nation": "n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING",
    "region": "r_regionkey INT, r_name STRING",
    "part": "p_partkey BIGINT, p_name STRING, p_brand STRING",
    "partsupp": "ps_partkey BIGINT, ps_suppkey BIGINT, ps_supplycost DECIMAL(15,2)",
    "supplier": "s_suppkey BIGINT, s_name STRING, s_nationkey INT",
}
REFLECT = "reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings')"


@dataclass(frozen=True, slots=True)
class Lab:
    spark: SparkSession
    folder: Path
    registered: RegisteredRelations

    @property
    def places(self) -> dict[str, str]:
        names = {"canary": "canary", "outside": "outside", "csv": "secrets.csv", "orders": "tables/orders"}
        names |= {"link": "link_to_orders"}
        return {name: str(self.folder / path) for name, path in names.items()}

    def run(self, sql: str, args: Mapping[str, object] | None = None, *, allow_python: bool = False) -> DataFrame:
        """Both gates in their order, as the engine does it."""
        parse_gate(self.spark, "q", sql, self.registered)
        frame = self.spark.sql(sql, dict(args or {}))
        analysis_gate(self.spark, "q", frame, self.registered, allow_python)
        return frame

    def world(self) -> dict[str, object]:
        """Everything a statement could change: files, catalog, settings, a system property."""
        catalog = self.spark._jsparkSession.sessionState().catalog()
        return {
            "files": sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*")),
            "catalog": catalog.listTables("default").mkString(" "),
            "database": catalog.getCurrentDatabase(),
            "functions": catalog.listTemporaryFunctions().mkString(" "),
            "settings": dict(self.spark.conf.getAll),
            "cached": self.spark.catalog.isCached("orders"),
            "property": self.spark._jvm.java.lang.System.getProperty("planopt.canary"),
        }

    def jobs(self) -> int:
        return self.spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs()


@contextmanager
def open_lab(spark: SparkSession, folder: Path) -> Iterator[Lab]:
    session = spark.newSession()  # own views, functions, variables and settings
    paths = {name: str(folder / "tables" / name) for name in TPCH}
    for name, columns in TPCH.items():
        session.sql(f"CREATE TABLE delta.`{paths[name]}` ({columns}) USING delta")
        # As a workspace makes them: pinned.
        session.read.format("delta").option("versionAsOf", 0).load(paths[name]).createOrReplaceTempView(name)
    session.sql(f"CREATE TABLE delta.`{folder}/outside` (x BIGINT) USING delta")
    (folder / "secrets.csv").write_text("secret\n")
    (folder / "link_to_orders").symlink_to(paths["orders"])
    session.sql(f"CREATE TABLE gate_catalog_orders (x INT, c CHAR(3)) USING delta LOCATION '{folder}/catalog'")
    session.sql(f"CREATE TABLE gate_catalog_csv (x STRING) USING csv LOCATION '{folder}/secrets.csv'")
    _add_functions(session, folder / "canary")
    _add_views(session, folder)
    yield Lab(session, folder, RegisteredRelations.of(paths))
    # The catalog and global views outlive the session.
    for view in ("gate_view", "global_temp.gate_sees_outside", "global_temp.gate_sees_orders"):
        session.sql(f"DROP VIEW {view}")
    for table in ("gate_catalog_orders", "gate_catalog_csv"):
        session.sql(f"DROP TABLE {table}")


def _add_functions(session: SparkSession, canary: Path) -> None:
    from pyspark.sql.functions import udtf
    from pyspark.sql.types import IntegerType, StructType
    from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

    class Sings:
        @staticmethod
        def analyze(x: AnalyzeArgument) -> AnalyzeResult:
            canary.touch()
            return AnalyzeResult(StructType().add("x", IntegerType()))

        def eval(self, x: int) -> Iterator[tuple[int]]:
            yield (x,)

    session.udf.register("py_double", lambda n: 2 * n, "int")
    session.udtf.register("py_table", udtf(Sings, useArrow=False))
    session.sql("CREATE TEMPORARY FUNCTION java_upper AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper'")
    session.sql("CREATE TEMPORARY FUNCTION sql_plus(x INT) RETURNS INT RETURN x + 1")
    session.sql("DECLARE VARIABLE cutoff INT DEFAULT 3")


def _add_views(session: SparkSession, folder: Path) -> None:
    bodies = {
        "sees_orders": "SELECT * FROM orders",
        "sees_newest": f"SELECT * FROM delta.`{folder}/tables/orders`",
        "sees_reflect": f"SELECT {REFLECT} AS r",
        "sees_transform": f"SELECT TRANSFORM(o_custkey) USING 'touch {folder}/canary' AS (x) FROM orders",
        "sees_csv": f"SELECT * FROM csv.`{folder}/secrets.csv`",
        "sees_outside": f"SELECT * FROM delta.`{folder}/outside`",
        "sees_outside_twice": "SELECT * FROM orders JOIN sees_outside ON x = o_custkey",
        "sees_sql_function": "SELECT sql_plus(1) AS x",
        "sees_variable": "SELECT cutoff AS x",
    }
    for name, body in bodies.items():
        session.sql(f"CREATE TEMPORARY VIEW {name} AS {body}")
    session.sql("CREATE GLOBAL TEMPORARY VIEW gate_sees_outside AS SELECT * FROM sees_outside")
    session.sql("CREATE GLOBAL TEMPORARY VIEW gate_sees_orders AS SELECT * FROM orders")
    session.sql("CREATE VIEW gate_view AS SELECT * FROM gate_catalog_orders")
