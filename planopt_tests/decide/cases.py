"""Evidence made from a few facts: what a fixture file says, on top of a quiet query on two cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from planopt_assets.model.cost_model import GIVEN
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.signals import (
    Aggregation,
    Exchange,
    Join,
    JoinInput,
    PythonFunction,
    Scan,
    Spill,
    Stage,
)
from planopt_assets.model.workload import Knobs
from planopt_tests.measured import counters

FIXTURES = Path(__file__).parent / "fixtures"
SHUFFLE = "spark.sql.shuffle.partitions"
OPEN_COST = "spark.sql.files.openCostInBytes"
MAX_BYTES = "spark.sql.files.maxPartitionBytes"
DEFAULTS = {  # as Spark 4.2 shows them
    SHUFFLE: "200",
    OPEN_COST: "4194304b",
    MAX_BYTES: "134217728b",
    "driver_memory": "1g",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "67108864b",
    "spark.sql.adaptive.coalescePartitions.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "<undefined>",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1048576b",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "true",
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "0b",
    "spark.sql.adaptive.skewJoin.enabled": "true",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "5.0",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "268435456b",
    "spark.sql.autoBroadcastJoinThreshold": "10485760b",
    "spark.sql.codegen.aggregate.fastHashMap.capacityBit": "16",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "128",
    "spark.sql.files.minPartitionNum": "<undefined>",
    "spark.sql.parquet.filterPushdown": "true",
    "parquet.filter.stats.enabled": "true",
    "parquet.filter.dictionary.enabled": "true",
    "parquet.filter.columnindex.enabled": "true",
    "parquet.filter.bloom.enabled": "true",
    "spark.sql.parquet.columnarReaderBatchSize": "4096",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
    "spark.sql.optimizer.runtime.bloomFilter.creationSideThreshold": "10485760b",
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "10737418240b",
    "spark.sql.optimizer.excludedRules": "<undefined>",
    "spark.sql.execution.pythonUDF.arrow.enabled": "true",
    "spark.databricks.delta.stats.skipping": "true",
    "spark.databricks.delta.generatedColumn.partitionFilterOptimization.enabled": "true",
    "spark.databricks.delta.deletionVectors.useMetadataRowIndex": "true",
}


def evidence_of(facts: dict[str, Any]) -> Evidence:
    """`facts` as in a fixture: cores, runs_per_day, objective, settings, and one entry per binding in `executions`."""
    given = DEFAULTS | facts.get("settings", {})
    settings = {name: str(value) for name, value in given.items() if value is not None}  # null: it was not looked at
    return Evidence(
        query_id="q",
        query_fingerprint="qry_1",
        input_fingerprint="inp_1",
        plan_fingerprint="pln_1",
        policy=ORIGINAL,
        settings=tuple(sorted({**settings, "cores": str(facts.get("cores", 2))}.items())),
        executions=tuple(_execution(number, e) for number, e in enumerate(facts["executions"])),
        runs_per_day=float(facts.get("runs_per_day", 24)),
        objective=facts.get("objective", "cpu"),
    )


def limits_of(facts: dict[str, Any]) -> Knobs:
    return Knobs(
        allow=tuple(facts.get("allow", ())), deny=tuple(facts.get("deny", ())), pin=tuple(facts.get("pin", {}).items())
    )


def load(file: Path) -> dict[str, Any]:
    return YAML(typ="safe").load(file.read_text(encoding="utf-8"))


def _execution(number: int, facts: dict[str, Any]) -> ObservedExecution:
    return ObservedExecution(
        observation_id=f"obs-run-q-b{number}",
        # As much work as the model prices at `cpu_s`; nobody measured it unless told.
        counters=counters(
            cpu_ns=round(facts["measured_cpu_s"] * 1e9) if "measured_cpu_s" in facts else None,
            shuffle_write_tasks=facts.get("shuffle_write_tasks", 0),
            input_rows=round((facts.get("cpu_s", 3.0) * 1e9 - GIVEN.query_ns) / GIVEN.row_ns),
            scan_files=0,
            tasks=0,
            disk_spill_bytes=facts.get("disk_spill_bytes", 0),
            peak_memory_bytes=facts.get("peak_memory_bytes", 0),
        ),
        exchanges=tuple(Exchange(**{"node": node, **x}) for node, x in enumerate(facts.get("exchanges", ()))),
        scans=tuple(
            Scan(**{"node": node, "table": "t", **_tuples(s)}) for node, s in enumerate(facts.get("scans", ()))
        ),
        joins=tuple(_join(node, j) for node, j in enumerate(facts.get("joins", ()))),
        aggregations=tuple(Aggregation(**{"node": n, **a}) for n, a in enumerate(facts.get("aggregations", ()))),
        spills=tuple(Spill(**s) for s in facts.get("spills", ())),
        stages=tuple(_stage(index, s) for index, s in enumerate(facts.get("stages", ()))),
        functions=tuple(PythonFunction(**{"uses": 1, **_tuples(f)}) for f in facts.get("functions", ())),
        effective_rules=tuple(facts["effective_rules"]) if "effective_rules" in facts else None,
    )


def _tuples(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}


def _join(node: int, facts: dict[str, Any]) -> Join:
    """An inner sort-merge join of two shuffled inputs, unless told otherwise; the plan ends as it began."""
    plain = {"node": node, "kind": "Inner", "strategy": "SortMergeJoin", "build": None, "rows": None}
    stated = plain | {"planned_strategy": facts.get("strategy", "SortMergeJoin")} | facts
    return Join(**(stated | {side: _join_input(facts[side]) for side in ("left", "right")}))


def _join_input(facts: dict[str, Any]) -> JoinInput:
    plain = {"rows": None, "bytes": None, "estimated_bytes": None, "shuffled": True}
    return JoinInput(**(plain | facts | {"tables": tuple(facts.get("tables", ()))}))


def _stage(index: int, facts: dict[str, Any]) -> Stage:
    plain = {"index": index, "rows": 0, "files": 0, "shuffle_partitions": 0}
    return Stage(**(plain | facts | {"feeds": tuple(facts.get("feeds", ())), "nodes": tuple(facts.get("nodes", ()))}))


WORKED = evidence_of(load(FIXTURES / "right_size_shuffle" / "proposes_what_the_docstring_works_out.yaml")["evidence"])


def scanned(cpu_s: float, tasks: int = 8) -> int:
    """Rows of a scan that the given prices put at so many seconds, with its tasks and one block that each writes."""
    return round((cpu_s * 1e9 - tasks * (GIVEN.task_ns + GIVEN.block_ns)) / GIVEN.row_ns)


def shuffled(cpu_s: float, tasks: int = 8) -> int:
    """The same of rows that come out of a shuffle."""
    return round((cpu_s * 1e9 - tasks * GIVEN.task_ns) / GIVEN.shuffled_row_ns)
