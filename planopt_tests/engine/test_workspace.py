"""The workspace: pinned versions, isolated policies, counters of exactly one execution."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planopt_assets.engine.sessions.session import open_session
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import (
    KnobUnknown,
    PolicyVetoed,
    QueryFailed,
    QueryTimedOut,
    SessionMismatch,
    SqlRefused,
    TableUnreadable,
)
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query, Table
from planopt_assets.observe.plans.fingerprint import plan_fingerprint, topology_hash
from planopt_assets.observe.signals.scans import scans
from planopt_assets.observe.signals.shuffles import resizable_exchanges
from planopt_assets.observe.signals.tree import Tree
from planopt_tests.conftest import make_tables, workload_of

pytestmark = pytest.mark.spark

BY_SHOP = Query("by_shop", sql="SELECT shop, count(*) AS n, max(id) AS newest FROM sales GROUP BY shop")
SMALL = Policy.of({"spark.sql.shuffle.partitions": "2"})


@pytest.fixture
def workspace(spark, tables: Path) -> Workspace:
    return Workspace(workload_of(tables, [BY_SHOP]))


def test_a_policy_is_set_in_its_own_session_and_leaks_nowhere(spark, workspace: Workspace) -> None:
    assert workspace.isolated(workspace.arm(SMALL)).conf.get("spark.sql.shuffle.partitions") == "2"
    assert workspace.isolated(workspace.baseline).conf.get("spark.sql.shuffle.partitions") == "200"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "200"


def test_a_view_made_in_one_isolated_session_is_not_seen_in_another(workspace: Workspace) -> None:
    workspace.isolated(workspace.arm(SMALL)).range(1).createOrReplaceTempView("mine")
    assert not workspace.isolated(workspace.baseline).catalog.tableExists("mine")


def test_every_stage_reads_the_version_that_was_pinned_first(workspace: Workspace, tables: Path) -> None:
    before = workspace.execute(BY_SHOP, 0, workspace.baseline, timeout_s=60)
    make_tables(tables, files=1)
    after = workspace.execute(BY_SHOP, 0, workspace.arm(SMALL), timeout_s=60)
    assert after.digest == before.digest
    assert after.counters.scan_files == before.counters.scan_files == 6


def test_counters_are_those_of_one_execution(workspace: Workspace) -> None:
    first = workspace.execute(BY_SHOP, 0, workspace.baseline, timeout_s=60).counters
    second = workspace.execute(BY_SHOP, 0, workspace.baseline, timeout_s=60).counters
    steady = ("tasks", "stages", "scan_files", "scan_bytes", "shuffle_write_rows", "result_rows", "input_rows")
    assert {n: getattr(first, n) for n in steady} == {n: getattr(second, n) for n in steady}
    assert (first.result_rows, first.input_rows, first.failed_tasks) == (17, 1800, 0)
    assert first.cpu_ns >= first.executor_cpu_ns > 0
    assert 0 < first.planning_wall_ns < first.wall_ns


def test_memory_is_that_of_the_largest_task_and_not_the_sum_of_all(workspace: Workspace) -> None:
    spread = "SELECT shop, count(*) AS n FROM (SELECT /*+ REPARTITION(4, shop) */ * FROM sales) GROUP BY shop"
    done = workspace.execute(Query("spread", sql=spread), 0, workspace.baseline, timeout_s=60, tier="debug")
    held = [task["taskMetrics"]["peakExecutionMemory"] for stage in done.tasks for task in stage]
    assert done.counters.task_memory_bytes == max(held) > 0
    assert done.counters.peak_memory_bytes == max(
        sum(task["taskMetrics"]["peakExecutionMemory"] for task in stage) for stage in done.tasks
    )
    assert done.counters.peak_memory_bytes > done.counters.task_memory_bytes


def test_a_plan_under_another_policy_differs_only_in_its_shape(workspace: Workspace) -> None:
    original, _ = workspace.plan(BY_SHOP, 0, workspace.baseline)
    again, _ = workspace.plan(BY_SHOP, 0, workspace.baseline)
    small, _ = workspace.plan(BY_SHOP, 0, workspace.arm(SMALL))
    assert plan_fingerprint(original) == plan_fingerprint(again)
    assert topology_hash(original) != topology_hash(small)


def test_the_same_query_as_sql_and_as_a_dataframe_has_the_same_topology(spark, tables: Path) -> None:
    (tables / "frames.py").write_text(
        "from pyspark.sql import functions as F\n"
        "def build(spark):\n"
        "    return spark.table('sales').groupBy('shop').agg(F.count('*').alias('n'), F.max('id').alias('newest'))\n"
    )
    frame = Query("frame", python="frames:build")
    workspace = Workspace(workload_of(tables, [BY_SHOP, frame], allow_python=True))
    hashes = {topology_hash(workspace.plan(query, 0, workspace.baseline)[0]) for query in (BY_SHOP, frame)}
    assert len(hashes) == 1


def test_signals_name_the_shuffle_and_the_scan(workspace: Workspace) -> None:
    done = workspace.execute(BY_SHOP, 0, workspace.baseline, timeout_s=60, tier="always_on")
    (exchange,) = resizable_exchanges(Tree(done.final))
    (scan,) = scans(Tree(done.final), done.splits)
    assert exchange.partitions == 200
    assert exchange.bytes_written == done.counters.shuffle_write_bytes > 0
    assert (scan.table, scan.files, scan.bytes) == ("sales", 6, done.counters.scan_bytes)
    assert scan.splits >= 1


def test_a_policy_holds_while_the_query_runs_and_not_only_while_it_is_planned(spark, tables: Path) -> None:
    query = Query("some", sql="SELECT amount FROM sales WHERE id < 900")
    workspace = Workspace(workload_of(tables, [query]))
    everything = Policy.of({"spark.databricks.delta.stats.skipping": "false"})
    arms = [workspace.baseline, workspace.arm(everything)]
    assert [workspace.execute(query, 0, arm, timeout_s=60).counters.scan_files for arm in arms] == [3, 6]
    assert workspace.execute(query, 0, workspace.baseline, timeout_s=60).counters.scan_files == 3


def test_a_parameterised_query_is_bound_per_binding(spark, tables: Path) -> None:
    query = Query("one_shop", sql="SELECT id FROM sales WHERE shop = :shop", bindings=((("shop", 1),), (("shop", 99),)))
    workspace = Workspace(workload_of(tables, [query]))
    rows = [workspace.execute(query, b, workspace.baseline, timeout_s=60).digest.rows for b in (0, 1)]
    assert rows == [106, 0]


def test_a_query_over_its_time_is_cancelled_and_the_session_lives_on(spark, tables: Path) -> None:
    slow = Query("slow", sql="SELECT sum(a.id * b.id % 7) AS s FROM range(10000) a CROSS JOIN range(1000000) b")
    workspace = Workspace(workload_of(tables, [slow, BY_SHOP]))
    with pytest.raises(QueryTimedOut, match="PLN-208"):
        workspace.execute(slow, 0, workspace.baseline, timeout_s=2)
    # Killed tasks keep their cores until they notice, which takes them a minute where cores are slow.
    assert workspace.execute(BY_SHOP, 0, workspace.baseline, timeout_s=600).digest.rows == 17


@pytest.mark.parametrize(
    ("sql", "error", "words"),
    [
        ("SELECT nowhere FROM sales", QueryFailed, "UNRESOLVED_COLUMN"),
        ("SELECT 1 / (id - id) FROM sales", QueryFailed, "DIVIDE_BY_ZERO"),
        (
            "SELECT 1 FROM sales WHERE shop = :shop",
            QueryFailed,
            "parameter :shop has no value. Fix: give it one in",
        ),
        ("SELECT id FROM unheard_of", SqlRefused, "PLN-101 query bad_one: `unheard_of` is not a registered table"),
        ("DROP TABLE sales", SqlRefused, "PLN-101"),
        ("SELECT * FROM csv.`/etc/hostname`", SqlRefused, "not a registered table"),
    ],
)
def test_what_cannot_run_is_one_typed_error_that_names_the_query(spark, tables: Path, sql, error, words) -> None:
    query = Query("bad_one", sql=sql)
    workspace = Workspace(workload_of(tables, [query]))
    with pytest.raises(error, match="bad_one") as raised:
        workspace.execute(query, 0, workspace.baseline, timeout_s=60)
    assert words in str(raised.value)


def test_a_setting_this_spark_does_not_know_is_refused(workspace: Workspace) -> None:
    with pytest.raises(KnobUnknown, match="no session setting"):
        workspace.isolated(workspace.arm(Policy.of({"spark.sql.shuffle.partitoins": "2"})))
    with pytest.raises(KnobUnknown, match=r"spark\.master"):
        workspace.effective_settings(["spark.master"])


def test_a_session_does_not_get_a_setting_that_may_change_results(workspace: Workspace) -> None:
    with pytest.raises(PolicyVetoed, match="may change results"):
        workspace.isolated(workspace.arm(Policy.of({"spark.sql.ansi.enabled": "false"})))
    with pytest.raises(PolicyVetoed, match=r"is outside 1\.\.20000"):
        workspace.isolated(workspace.arm(Policy.of({"spark.sql.shuffle.partitions": "0"})))


def test_a_session_with_other_settings_is_not_taken_over(spark, tables: Path) -> None:
    asked = workload_of(tables, [BY_SHOP])
    assert open_session(asked) is not None
    with pytest.raises(SessionMismatch, match=r"spark\.master is 'local\[2\]', asked for 'local\[3\]'"):
        open_session(replace(asked, master="local[3]"))
    other = replace(asked, spark_settings=(("spark.sql.shuffle.partitions", "41"),))
    with pytest.raises(SessionMismatch, match=r"shuffle\.partitions"):
        open_session(other)


def test_a_missing_table_is_named(spark, tables: Path) -> None:
    workload = workload_of(tables, [BY_SHOP], tables=(Table("sales", str(tables / "nowhere")),))
    workspace = Workspace(workload)
    assert workspace.tables == ()
    with pytest.raises(TableUnreadable, match=r"table sales: .*holds no Delta table: it has no log"):
        workspace.frame(BY_SHOP, 0, workspace.baseline)


def test_a_catalog_table_is_resolved_through_spark_and_pinned(spark, tables: Path) -> None:
    spark.sql("DROP TABLE IF EXISTS catalog_sales")
    spark.read.format("delta").load(str(tables / "data" / "sales")).write.format("delta").saveAsTable("catalog_sales")
    query = Query("all_rows", sql="SELECT id FROM sales_by_name")
    workload = workload_of(tables, [query], tables=(Table("sales_by_name", catalog="default.catalog_sales"),))
    workspace = Workspace(workload)
    assert workspace.tables[0].version == 0
    assert workspace.execute(query, 0, workspace.baseline, timeout_s=60).digest.rows == 1800
