"""Records `joins/`: one real run of every query of `join_shapes`, with what planopt reads of it."""

from __future__ import annotations

import json
import tempfile
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt_assets.observe.plans import metrics
from planopt_tests.observe.explain_shapes import make_shape_tables, register
from planopt_tests.observe.join_shapes import DATA, JOINS, SHAPES, SWITCHED, JoinShape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from planopt_assets.engine.capture.capture import Capture

_KEPT = tuple(v for k, v in vars(metrics).items() if k.isupper())
# Of analysed plans: what no reader of joins looks at, and most of the text.
_DROPPED = (
    "dataType",
    "nullable",
    "metadata",
    "qualifier",
    "product-class",
    "jvmId",
    "properties",
    "schema",
    "storage",
)


def main() -> None:
    from planopt_assets.engine.capture.capture import Capture
    from planopt_assets.engine.sessions.session import open_session
    from planopt_assets.model.workload import Workload

    spark = open_session(Workload("record", Path("planopt.yaml"), "store", (), (), "local[2]"))
    JOINS.mkdir(exist_ok=True)
    for old in JOINS.glob("*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        tables = make_shape_tables(Path(folder))
        register(spark, tables)
        capture = Capture(spark, tables)
        for shape in SHAPES:
            text = json.dumps(_run(spark, capture, shape)).replace(folder, DATA)
            (JOINS / f"{shape.name}.json").write_text(text + "\n", encoding="utf-8")
    spark.stop()


def _run(spark: SparkSession, capture: Capture, shape: JoinShape) -> dict[str, Any]:
    from planopt_assets.engine.results.digest import with_digest

    for name in SWITCHED:
        spark.conf.unset(name)
    for name, value in shape.settings.items():
        spark.conf.set(name, value)
    frame: Any = spark.sql(shape.query) if isinstance(shape.query, str) else shape.query(spark)
    measured: Any = with_digest(frame)
    execution = measured._jdf.queryExecution()
    found: dict[str, Any] = {"analyzed": _lean(capture.jvm.tree(frame._jdf.queryExecution().analyzed()))}
    for phase in ("initial", "final"):
        if phase == "final":
            execution.toRdd().count()
        plan = execution.executedPlan()
        read = capture.read(plan, phase)
        found[phase] = _lean_physical(read.tree)
        found[f"{phase}_operators"] = [
            [o.metric_ids, *astuple(o.estimate), o.row_bytes, o.partition_bytes]
            for o in capture._walk.walk(plan).operators
        ]
        found["values"] = read.metrics
    return found


def _lean(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _lean(v) for k, v in value.items() if k not in _DROPPED and v is not None}
    return [_lean(v) for v in value] if isinstance(value, list) else value


def _lean_physical(node: dict[str, Any]) -> dict[str, Any]:
    own = [m for m in node["metrics"] if m["name"] in _KEPT]
    children = [_lean_physical(child) for child in node["children"]]
    return {
        "nodeName": node["nodeName"],
        "simpleString": node["simpleString"],
        "children": children,
        "metrics": [{"name": m["name"], "accumulatorId": m["accumulatorId"]} for m in own],
    }


if __name__ == "__main__":
    main()
