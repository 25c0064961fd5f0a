"""One observation with real Spark and Delta: what lands in the store, and how it differs by tier and extractor."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import QueryFailed
from planopt_assets.loop.gates import CHECKS
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.observe import observe
from planopt_assets.model.workload import Workload
from planopt_assets.observe.plans.stored_plan import unpack
from planopt_assets.store.codecs.forms import signals_from_json
from planopt_assets.store.lineage import tree
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.observe.observed import QUERIES, gates, observed, one
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def done(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Workload:
    folder = make_tables(tmp_path_factory.mktemp("observed"))
    workload = workload_of(folder, QUERIES, capture="debug")
    observed(workload)
    return workload


def test_both_readers_of_the_plan_agree(done: Workload) -> None:
    rows = StoredRows(done.store, done.name).rows("plan_artifacts")
    assert [r["extractors_disagree"] for r in rows] == [[]] * 4


def test_logical_plans_are_stored_whole_and_without_paths_or_ids_of_this_process(done: Workload) -> None:
    row = one(done, "plan_artifacts", query_id="by_shop")
    for plan in ("analyzed_plan", "optimized_plan"):
        text = json.dumps(unpack(row[plan]))
        assert '"class": "org.apache.spark.sql.catalyst.plans.logical.Aggregate"' in text
        assert "jvmId" not in text
        assert "100000" not in text  # expression ids start at a billion
        assert str(done.file.parent) not in text
    assert {kept["stored"] for kept in json.loads(row["plan_hashes"]).values()} == {True}


def test_estimates_stand_beside_what_happened(done: Workload) -> None:
    reader = StoredRows(done.store, done.name)
    nodes = [n for n in reader.rows("plan_nodes", query_id="by_shop") if n["phase"] == "final"]
    scan = next(n for n in nodes if n["kind"].startswith("Scan parquet"))
    assert (scan["statistics_source"], scan["estimated_rows"], scan["actual_rows"]) == ("delta_log", 900, 900)
    assert scan["error_factor"] == 1.0
    top = next(n for n in nodes if n["kind"] == "HashAggregate")
    assert (top["actual_rows"], top["statistics_source"], top["error_by"]) == (17, "plan", "bytes")
    exchange = next(n for n in nodes if n["kind"] == "Exchange")
    sizes = [exchange[f"{which}_partition_bytes"] for which in ("smallest", "median", "largest")]
    assert None not in sizes
    assert sizes == sorted(sizes)


def test_scans_go_from_the_whole_table_to_what_matched(done: Workload) -> None:
    scan = one(done, "scan_outcomes", query_id="by_shop")
    funnel = [scan[f"{stage}_files"] for stage in ("total", "partition", "scanned", "read")]
    assert funnel == [6, 6, 3, 3]
    assert (scan["outcome"], scan["finding"], scan["matched_rows"]) == ("full_pushdown", None, 900)
    counters = one(done, "runtime_counters", query_id="by_shop")
    assert (counters["table_files"], counters["scan_files"], counters["matched_rows"]) == (6, 3, 900)


def test_what_rules_look_at_is_stored_with_the_names_a_hint_would_use(done: Workload) -> None:
    signals = signals_from_json(one(done, "plan_artifacts", query_id="joined")["signals"])
    (join,) = signals.joins
    assert (join.strategy, join.build, join.rows) == ("BroadcastHashJoin", "right", 1800)
    assert (join.left.target, join.right.target) == ("join0.left s", "join0.right c")
    assert (join.left.rows, join.right.rows, join.right.tables) == (1800, 17, ("shops",))
    assert (join.right.bytes, join.left.shuffled) == (17 * (8 + 20 + 8), False)
    (grouping,) = signals.aggregations
    assert (grouping.rows_in, grouping.groups, grouping.keys) == (1800, 4, 1)
    (scan,) = [s for s in signals.scans if s.table == "sales"]
    assert (scan.files, scan.read_rows, scan.matched_rows, scan.native) == (6, 1800, 1800, True)
    (exchange,) = signals.exchanges
    last = signals.stages[-1]
    assert (exchange.feeds_join, exchange.rows, last.rows, last.tasks) == (
        False,
        grouping.rows_partial,
        grouping.rows_partial,
        exchange.read_partitions,
    )


def test_predicates_of_a_scan_are_among_what_rules_look_at(done: Workload) -> None:
    (scan,) = signals_from_json(one(done, "plan_artifacts", query_id="by_shop")["signals"]).scans
    stored = one(done, "scan_outcomes", query_id="by_shop")
    assert (scan.table_bytes, scan.matched_rows) == (stored["total_bytes"], 900)
    assert (list(scan.families), scan.causes, scan.runtime_filters) == (stored["families"], (), 0)


def test_the_query_is_understood(done: Workload) -> None:
    row = one(done, "plan_artifacts", query_id="joined")
    lineage = json.loads(row["column_lineage"])
    assert lineage["required"] == {"sales": ["shop"], "shops": ["city", "shop"]}
    assert {o["name"]: o["from"] for o in lineage["outputs"]}["city"] == ["shops.city"]
    assert (row["canonical_form"], row["udf_rung"]) == ("sqlglot", "builtin")
    assert row["effective_rules"]
    assert {"analysis", "optimization", "planning"} <= json.loads(row["phases"]).keys()


def test_lineage_names_every_column_that_is_needed_at_its_version(done: Workload) -> None:
    observation = one(done, "plan_artifacts", query_id="joined")["observation_id"]
    tables = tree(Snapshot(done.store, done.name), observation).parents
    assert {t.id.partition("@")[0]: t.columns for t in tables} == {"sales": ("shop",), "shops": ("city", "shop")}


def test_tasks_add_up_to_the_counters_of_the_execution(done: Workload) -> None:
    counters = one(done, "runtime_counters", query_id="by_shop")
    tasks = StoredRows(done.store, done.name).rows("task_counters", query_id="by_shop")
    assert len(tasks) == counters["tasks"]
    assert {t["status"] for t in tasks} == {"SUCCESS"}
    sums = {
        "cpu_ns": "executor_cpu_ns",
        "input_rows": "input_rows",
        "shuffle_write_bytes": "shuffle_write_bytes",
        "shuffle_read_bytes": "shuffle_read_bytes",
    }
    assert {task: sum(t[task] for t in tasks) for task in sums} == {
        task: counters[whole] for task, whole in sums.items()
    }


def test_one_query_with_several_bindings_is_one_history(done: Workload) -> None:
    rows = StoredRows(done.store, done.name).rows("plan_artifacts", query_id="bound")
    assert [json.loads(r["parameters"]) for r in rows] == [{"least": 10}, {"least": 1700}]
    assert len({r["canonical_fingerprint"] for r in rows}) == 1
    assert len({r["run_id"] for r in rows}) == 1


def test_environment_and_rules_are_stored_once_for_all(done: Workload) -> None:
    reader = StoredRows(done.store, done.name)
    stored = {r["hash"]: r["kind"] for r in reader.rows("provenance")}
    used = {r[c] for r in reader.rows("plan_artifacts") for c in ("planning_env_hash", "rulepack_hash")}
    assert stored.keys() == used
    assert sorted(stored.values()).count("planning_env") == 1
    rules = next(json.loads(r["content"]) for r in reader.rows("provenance") if r["kind"] == "rulepack")
    assert any("delta" in rule.lower() for _, batch in rules for rule in batch)


def test_every_gate_of_a_sound_workload_passes(done: Workload) -> None:
    for name in (name for name, check in CHECKS.items() if check.of_history):
        assert {q: (g.passed, g.words) for q, g in gates(done, name).items() if not g.passed} == {}, name


def test_the_same_inputs_give_the_same_bundle_in_another_run_and_another_place(
    done: Workload, spark: SparkSession, tmp_path: Path
) -> None:
    elsewhere = workload_of(done.file.parent, QUERIES, capture="debug", store=str(tmp_path / "store"))
    observed(elsewhere)
    columns = ["bundle_hash", "bundle_parts", "plan_hashes", "snapshot_hash", "contract_hash", "canonical_fingerprint"]
    both = [StoredRows(w.store, w.name).table("plan_artifacts", columns).to_pylist() for w in (done, elsewhere)]
    for here, there in zip(*both, strict=True):
        assert here == there


def test_only_debug_keeps_texts_and_reads_the_plan_twice(done: Workload, spark: SparkSession, tables: Path) -> None:
    quiet = workload_of(tables, [QUERIES[0]], debug_sample=0.0)
    observed(quiet)
    row = one(quiet, "plan_artifacts")
    assert (row["capture_tier"], row["extractors_disagree"]) == ("always_on", None)
    assert StoredRows(quiet.store, quiet.name).rows("explains") == []
    assert StoredRows(quiet.store, quiet.name).rows("task_counters") == []
    assert one(done, "plan_artifacts", query_id="by_shop")["capture_tier"] == "debug"
    modes = {r["mode"] for r in StoredRows(done.store, done.name).rows("explains", query_id="by_shop")}
    assert modes == {"formatted", "formatted_final", "cost", "codegen"}
    sampled = workload_of(tables, [replace(QUERIES[0], debug_sample=1.0)], store=str(tables / "sampled"))
    observed(sampled)
    assert one(sampled, "plan_artifacts")["capture_tier"] == "debug"


class _NoTree:
    """A Spark that does not hand out its plans."""

    def fromSparkPlan(self, plan: object) -> None:  # noqa: N802  # Spark's name
        raise Py4JError("no such class")


def test_where_spark_hands_out_no_tree_the_text_is_read_and_the_row_says_so(done: Workload, tables: Path) -> None:
    workload = workload_of(tables, QUERIES[:2], store=str(tables / "text"))
    run = Run(Workspace(workload), str(uuid.uuid4()))
    run.workspace.capture._plan_info = _NoTree()
    observe(run, ["by_shop", "joined"])
    for query_id in ("by_shop", "joined"):
        read, usual = (one(w, "plan_artifacts", query_id=query_id) for w in (workload, done))
        assert (read["status"], read["extractor"]) == ("captured", "explain-formatted@1")
        assert (read["topology_hash"], read["final_topology_hash"]) == (
            usual["topology_hash"],
            usual["final_topology_hash"],
        )
        assert read["statistics_source"] == "delta_log"
        counted, before = (one(w, "runtime_counters", query_id=query_id) for w in (workload, done))
        assert [counted[c] for c in ("scan_files", "scan_bytes", "tasks")] == [
            before[c] for c in ("scan_files", "scan_bytes", "tasks")
        ]
        assert counted["broadcast_bytes"] is None


def test_what_cannot_be_counted_is_not_tried(tables: Path, spark: SparkSession) -> None:
    workspace = Workspace(workload_of(tables, QUERIES[:1]))
    workspace.capture._plan_info = _NoTree()
    with pytest.raises(QueryFailed, match="mode: observe"):
        workspace.execute(QUERIES[0], 0, workspace.baseline, timeout_s=60)
