"""One observation with real Spark and Delta: what lands in the store, what must never, and what one bad table does."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from planopt_assets import redaction
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import QueryFailed
from planopt_assets.gates import CHECKS, evaluate
from planopt_assets.model.gate import Gate
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query, Workload
from planopt_assets.observe.estimates import misled_joins
from planopt_assets.observe.evidence import signals_from_json
from planopt_assets.observe.stage import observe
from planopt_assets.observe.stored_plan import unpack
from planopt_assets.run import Run
from planopt_assets.store.lineage import tree
from planopt_assets.store.reader import StoreReader
from planopt_assets.store.schemas import TABLES
from planopt_assets.workload.secrets import learn_secrets
from planopt_tests.conftest import make_tables, workload_of

pytestmark = pytest.mark.spark

QUERIES = [
    Query("by_shop", sql="SELECT shop, sum(amount) AS total FROM sales WHERE id < 900 GROUP BY shop"),
    Query("joined", sql="SELECT c.city, count(*) AS n FROM sales s JOIN shops c ON s.shop = c.shop GROUP BY c.city"),
    Query(
        "bound",
        sql="SELECT count(*) AS n FROM sales WHERE id >= :least",
        bindings=((("least", 10),), (("least", 1700),)),
    ),
]


def observed(workload: Workload, ids: list[str] | None = None) -> Run:
    run = Run(Workspace(workload), str(uuid.uuid4()))
    observe(run, ids or [q.id for q in workload.queries])
    return run


def gates(workload: Workload, name: str) -> dict[str, Gate]:
    reader = StoreReader(workload.store, workload.name)
    return evaluate([q.id for q in workload.queries], reader, {}, [name])[name]


def one(workload: Workload, table: str, **equals: str) -> dict[str, Any]:
    (row,) = StoreReader(workload.store, workload.name).rows(table, **equals)
    return row


@pytest.fixture(scope="module")
def done(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Workload:
    folder = make_tables(tmp_path_factory.mktemp("observed"))
    workload = workload_of(folder, QUERIES, capture="debug")
    observed(workload)
    return workload


def test_both_readers_of_the_plan_agree(done: Workload) -> None:
    rows = StoreReader(done.store, done.name).rows("plan_artifacts")
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
    reader = StoreReader(done.store, done.name)
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
    tables = tree(StoreReader(done.store, done.name), observation).parents
    assert {t.id.partition("@")[0]: t.columns for t in tables} == {"sales": ("shop",), "shops": ("city", "shop")}


def test_tasks_add_up_to_the_counters_of_the_execution(done: Workload) -> None:
    counters = one(done, "runtime_counters", query_id="by_shop")
    tasks = StoreReader(done.store, done.name).rows("task_counters", query_id="by_shop")
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
    rows = StoreReader(done.store, done.name).rows("plan_artifacts", query_id="bound")
    assert [json.loads(r["parameters"]) for r in rows] == [{"least": 10}, {"least": 1700}]
    assert len({r["canonical_fingerprint"] for r in rows}) == 1
    assert len({r["run_id"] for r in rows}) == 1


def test_environment_and_rules_are_stored_once_for_all(done: Workload) -> None:
    reader = StoreReader(done.store, done.name)
    stored = {r["hash"]: r["kind"] for r in reader.rows("provenance")}
    used = {r[c] for r in reader.rows("plan_artifacts") for c in ("planning_env_hash", "rulepack_hash")}
    assert stored.keys() == used
    assert sorted(stored.values()).count("planning_env") == 1
    rules = next(json.loads(r["content"]) for r in reader.rows("provenance") if r["kind"] == "rulepack")
    assert any("delta" in rule.lower() for _, batch in rules for rule in batch)


def test_every_gate_of_a_sound_workload_passes(done: Workload) -> None:
    for name in (name for name, check in CHECKS.items() if check.of_history):
        assert {q: (g.passed, g.words) for q, g in gates(done, name).items() if not g.passed} == {}, name


# What a change brings to light


def test_the_same_inputs_give_the_same_bundle_in_another_run_and_another_place(
    done: Workload, spark: SparkSession, tmp_path: Path
) -> None:
    elsewhere = workload_of(done.file.parent, QUERIES, capture="debug", store=str(tmp_path / "store"))
    observed(elsewhere)
    columns = ["bundle_hash", "bundle_parts", "plan_hashes", "snapshot_hash", "contract_hash", "canonical_fingerprint"]
    both = [StoreReader(w.store, w.name).table("plan_artifacts", columns).to_pylist() for w in (done, elsewhere)]
    for here, there in zip(*both, strict=True):
        assert here == there


def test_a_query_by_path_reads_another_version_than_the_pinned_one(spark: SparkSession, tables: Path) -> None:
    sales = tables / "data" / "sales"
    query = Query("by_path", sql=f"SELECT count(id) AS n FROM delta.`{sales}` WHERE amount > 1")
    workload = workload_of(tables, [query])
    workspace = Workspace(workload)
    assert workspace.tables  # pinned now
    write_deltalake(
        sales, __import__("pyarrow").table({"id": [1], "shop": [1], "amount": [2.0], "note": ["x"]}), mode="append"
    )
    observe(Run(workspace, str(uuid.uuid4())), ["by_path"])
    gate = gates(workload, "native_scan")["by_path"]
    assert (gate.passed, gate.severe) == (False, True)
    assert "read at version 6, pinned is 5" in gate.words


def test_a_cast_on_the_column_is_a_finding_with_its_rewrite(spark: SparkSession, tables: Path) -> None:
    query = Query("cast_away", sql="SELECT count(*) AS n FROM sales WHERE cast(id AS string) = '17'")
    workload = workload_of(tables, [query])
    observed(workload)
    gate = gates(workload, "pushdown_effective")["cast_away"]
    assert (gate.passed, gate.severe) == (False, False)
    assert "cast" in gate.words.lower()


def test_a_dropped_column_breaks_the_contract_and_a_new_one_does_not(spark: SparkSession, tables: Path) -> None:
    workload = workload_of(tables, [Query("cities", sql="SELECT city FROM shops WHERE shop = 3")])
    observed(workload)
    shops = tables / "data" / "shops"
    write_deltalake(shops, pa.table({"shop": [3], "city": ["c1"], "zip": ["9"]}), mode="append", schema_mode="merge")
    observed(workload)
    gate = gates(workload, "contract_kept")["cities"]
    assert gate.passed
    assert "zip" in gate.details
    write_deltalake(shops, pa.table({"city": ["c1"], "shop": ["3"]}), mode="overwrite", schema_mode="overwrite")
    observed(workload)
    gate = gates(workload, "contract_kept")["cities"]
    assert (gate.passed, gate.severe) == (False, True)


def test_a_table_with_an_unknown_reader_feature_stops_only_the_queries_that_name_it(
    spark: SparkSession, tables: Path
) -> None:
    log = tables / "data" / "shops" / "_delta_log"
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["fromTheFuture"],
        "writerFeatures": ["fromTheFuture"],
    }
    (log / f"{1:020d}.json").write_text(json.dumps({"protocol": protocol}) + "\n")
    workload = workload_of(tables, [QUERIES[0], QUERIES[1]])
    observed(workload)
    assert one(workload, "plan_artifacts", query_id="by_shop")["status"] == "captured"
    refused = one(workload, "plan_artifacts", query_id="joined")
    assert (refused["status"], refused["error_code"]) == ("refused", "PLN-212")
    assert "fromTheFuture" in refused["error"]
    found = gates(workload, "protocol_compatible")
    assert found["by_shop"].passed
    assert (found["joined"].passed, found["joined"].severe) == (False, True)
    assert (
        observe(Run(Workspace(workload), str(uuid.uuid4())), ["joined"])[0].changed is False
    )  # known, not tried again


def test_a_plan_that_differs_each_time_is_not_deterministic(spark: SparkSession, tables: Path) -> None:
    (tables / "changing.py").write_text(
        "from pathlib import Path\n"
        "def build(spark):\n"
        "    calls = Path(__file__).with_suffix('.calls')\n"
        "    calls.write_text(calls.read_text() + 'x' if calls.exists() else 'x')\n"
        "    frame = spark.table('sales').groupBy('shop').count()\n"
        "    return frame.filter('count > 1') if len(calls.read_text()) % 2 else frame\n"
    )
    workload = workload_of(tables, [Query("changing", python="changing:build")], allow_python=True)
    observed(workload)
    gate = gates(workload, "deterministic")["changing"]
    assert (gate.passed, gate.severe) == (False, True)
    assert "analyzed" in gate.words
    assert "topology" in gate.words


# Secrets


def test_a_secret_reaches_no_table_no_progress_and_no_error(spark: SparkSession, tables: Path) -> None:
    query = Query("keyed", sql="SELECT count(*) AS n FROM sales WHERE note = /* secret */ 'hunter2-in-sql'")
    refused = Query("jdbc", sql="SELECT * FROM jdbc.`jdbc:postgresql://db/x?user=me&password=hunter2-in-url`")
    bound = Query(
        "bound",
        sql="SELECT count(*) AS n FROM sales WHERE note = :api_key",
        bindings=((("api_key", "hunter2-bound"),),),
    )
    workload = workload_of(tables, [query, refused, bound], capture="debug")
    before = set(redaction._known)
    try:
        learn_secrets(replace(workload, spark_settings=(("spark.hadoop.fs.s3a.secret.key", "hunter2-in-conf"),)))
        told: list[str] = []
        run = Run(Workspace(workload), str(uuid.uuid4()), progress=lambda *words: told.append(" ".join(words)))
        told += [f"{r.summary} {r.markdown}" for r in observe(run, [q.id for q in workload.queries])]
    finally:
        redaction._known.clear()
        redaction._known.update(before)
    assert "hunter2" not in "\n".join(told)
    reader = StoreReader(workload.store, workload.name)
    assert one(workload, "plan_artifacts", query_id="jdbc")["status"] == "refused"
    for name in TABLES:
        for row in reader.rows(name):
            for column, value in row.items():
                text = str(unpack(value)) if isinstance(value, bytes) else str(value)
                assert "hunter2" not in text, (name, column)
    assert "***" in one(workload, "plan_artifacts", query_id="keyed")["canonical_sql"]


# Estimates


def test_an_estimate_on_the_wrong_side_of_the_threshold_is_found_and_a_right_one_is_not(
    spark: SparkSession, tables: Path
) -> None:
    grouped = (
        "SELECT a.id FROM sales a JOIN (SELECT shop, max(amount) AS m FROM sales GROUP BY shop) g ON a.amount = g.m"
    )
    query = Query("few", sql=grouped)
    workspace = Workspace(workload_of(tables, [query]))
    for threshold, misled in ((2000, True), (-1, False), (200, False)):
        policy = Policy((("spark.sql.autoBroadcastJoinThreshold", str(threshold)),))
        done = workspace.execute(query, 0, policy, timeout_s=60, tier="always_on")
        assert done.initial is not None
        found = misled_joins(done.initial, done.final, threshold)
        assert bool(found) == misled, (threshold, found)
        assert all(m.actual < threshold < m.estimated for m in found)


# Text and tiers


def test_a_changed_predicate_is_named_and_another_spelling_is_no_change(spark: SparkSession, tables: Path) -> None:
    texts = (
        "SELECT shop, amount FROM sales WHERE amount > 10",
        "select s.shop, S.amount -- the same\n  from sales s where s.amount > 10",
        "SELECT shop, amount FROM sales WHERE amount > 11",
    )
    for sql in texts:
        workload = workload_of(tables, [Query("written", sql=sql)], debug_sample=0.0)
        observed(workload)
    rows = StoreReader(workload.store, workload.name).rows("plan_artifacts")
    # The second spelling stands on what is known of the first.
    assert [r["edits"] for r in rows] == [[], ["predicate: amount > 10 -> amount > 11"]]
    assert rows[0]["canonical_fingerprint"] != rows[1]["canonical_fingerprint"]


def test_only_debug_keeps_texts_and_reads_the_plan_twice(done: Workload, spark: SparkSession, tables: Path) -> None:
    quiet = workload_of(tables, [QUERIES[0]], debug_sample=0.0)
    observed(quiet)
    row = one(quiet, "plan_artifacts")
    assert (row["capture_tier"], row["extractors_disagree"]) == ("always_on", None)
    assert StoreReader(quiet.store, quiet.name).rows("explains") == []
    assert StoreReader(quiet.store, quiet.name).rows("task_counters") == []
    assert one(done, "plan_artifacts", query_id="by_shop")["capture_tier"] == "debug"
    modes = {r["mode"] for r in StoreReader(done.store, done.name).rows("explains", query_id="by_shop")}
    assert modes == {"formatted", "formatted_final", "cost", "codegen"}
    sampled = workload_of(tables, [replace(QUERIES[0], debug_sample=1.0)], store=str(tables / "sampled"))
    observed(sampled)
    assert one(sampled, "plan_artifacts")["capture_tier"] == "debug"


def test_what_is_read_beside_tables_is_an_input_with_its_source(spark: SparkSession, tables: Path) -> None:
    sql = "SELECT v.n FROM VALUES (1), (2) AS v(n) JOIN range(3) r ON v.n = r.id WHERE v.n IN (SELECT shop FROM shops)"
    workload = workload_of(tables, [Query("inline", sql=sql)], debug_sample=0.0)
    observed(workload)
    schemas = json.loads(one(workload, "plan_artifacts")["output_schema"])
    inputs = {(r["relation"], r["source"], r["column"]) for r in schemas if r["side"] == "input"}
    assert inputs >= {("inline 1", "inferred", "n"), ("inline 2", "declared", "id"), ("shops", "table", "shop")}


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
        workspace.execute(QUERIES[0], 0, ORIGINAL, timeout_s=60)
