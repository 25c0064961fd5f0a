"""Records `explains/`, the same plans in both forms as Spark makes them.

Again after a change of Spark or of the shapes: `python -m planopt_tests.observe.record_explains`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt_tests.observe.explain_shapes import SHAPES, Shape, make_shape_tables, register

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

EXPLAINS = Path(__file__).parent / "explains"
DATA = "/data"  # stands in for the folder the tables were in
RECORDED = (
    "broadcast_condition",
    "broadcast_inner_left",
    "sort_merge_full",
    "shuffled_hash_left",
    "nested_loop",
    "cartesian",
    "aggregate",
    "window_limit",
    "rollup",
    "union",
    "top_offset",
    "explode",
    "scalar_nested",
    "scalar_reused",
    "reused_exchange",
    "reused_twice",
    "pruned_twice",
    "static_pruned",
    "empty_at_run_time",
    "cached",
    "arrow_udf",
    "one_row",
    "trap_newline",
    "trap_sections",
    "trap_fields",
)


def both_forms(spark: SparkSession, shape: Shape) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The phase, the formatted text and Spark's plan tree of a shape, before it runs and afterwards."""
    from planopt_assets.engine.jvm.bridge import Jvm

    jvm = Jvm(spark)
    plan_info = jvm.scala_object("org.apache.spark.sql.execution.SparkPlanInfo")
    execution = shape.frame(spark)._jdf.queryExecution()
    for phase in ("initial", "final") if shape.runs else ("initial",):
        if phase == "final":
            execution.toRdd().count()
        tree = jvm.to_python(plan_info.fromSparkPlan(execution.executedPlan()))
        yield phase, jvm.explained(execution, "formatted"), tree


def main() -> None:
    from planopt_assets.engine.sessions.session import open_session
    from planopt_assets.model.workload import Workload

    spark = open_session(Workload("record", Path("planopt.yaml"), "store", (), (), "local[2]"))
    for old in EXPLAINS.glob("*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        register(spark, make_shape_tables(Path(folder)))
        for shape in (s for s in SHAPES if s.name in RECORDED):
            for phase, text, tree in both_forms(spark, shape):
                stem = EXPLAINS / f"{shape.name}.{phase}"
                stem.with_suffix(f".{phase}.txt").write_text(text.replace(folder, DATA), encoding="utf-8", newline="")
                lean = json.dumps(_without_metrics(tree), indent=1).replace(folder, DATA)
                stem.with_suffix(f".{phase}.json").write_text(lean + "\n", encoding="utf-8")
    spark.stop()


def _without_metrics(node: dict[str, Any]) -> dict[str, Any]:
    """Metrics and scan metadata are most of a tree, and no extractor compares them."""
    children = [_without_metrics(child) for child in node["children"]]
    return {"nodeName": node["nodeName"], "simpleString": node["simpleString"], "children": children, "metrics": []}


if __name__ == "__main__":
    main()
