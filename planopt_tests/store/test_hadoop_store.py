"""A store on a file system that only Hadoop knows, here `viewfs` over a folder: Spark writes it, planopt reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.place import place
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import StoreUnreachable, TableUnreachable
from planopt_assets.loop.run import Run
from planopt_assets.store import writer
from planopt_assets.store.opened import opened
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.one_pass import BY_SHOP, run_all
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark

SITE = """<configuration>
<property><name>fs.viewfs.mounttable.lake.link./lake</name><value>{folder}</value></property>
</configuration>
"""


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that Spark and Hadoop's client know as `viewfs://lake/lake`."""
    folder, configuration = tmp_path_factory.mktemp("lake"), tmp_path_factory.mktemp("hadoop")
    (configuration / "core-site.xml").write_text(SITE.format(folder=folder.as_uri()))
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[union-attr]
    hadoop.set("fs.viewfs.mounttable.lake.link./lake", folder.as_uri())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_CONF_DIR", str(configuration))
        yield folder


def append(spark: SparkSession, root: str, run_id: str, child: str) -> None:
    rows: dict[str, list[dict[str, Any]]] = {"lineage": [{"query_id": "q", "child_id": child, "parent_id": "p"}]}
    writer.append(lambda: spark, root, workload="w", run_id=run_id, stage="decide", rows=rows)


def children(root: str) -> list[str]:
    return sorted(row["child_id"] for row in StoredRows(root, "w").rows("lineage"))


def test_rows_are_written_once_and_read_back(spark: SparkSession, lake: Path) -> None:
    root = "viewfs://lake/lake/store"
    assert opened(root, "lineage") is None
    for run_id, child in (("r1", "c1"), ("r1", "again"), ("r2", "c2")):
        append(spark, root, run_id, child)
        assert children(root)[-1] in ("c1", "c2")  # what was read before does not hide what is new
    assert children(root) == ["c1", "c2"]
    assert (lake / "store" / "lineage" / "_delta_log").is_dir()


def test_a_table_that_was_replaced_is_read_anew(spark: SparkSession, lake: Path) -> None:
    import shutil

    root = "viewfs://lake/lake/replaced"
    append(spark, root, "r1", "old")
    append(spark, root, "r2", "older")
    assert children(root) == ["old", "older"]
    shutil.rmtree(lake / "replaced" / "lineage")
    append(spark, root, "r3", "new")
    assert children(root) == ["new"]


def test_a_pass_of_the_loop_keeps_everything_there(spark: SparkSession, lake: Path, tmp_path: Path) -> None:
    make_tables(tmp_path)
    workload = workload_of(tmp_path, [BY_SHOP], mode="auto", store="viewfs://lake/lake/loop")
    run_all(workload)
    standing = Run(Workspace(workload), "later").standings()[BY_SHOP.id]
    assert [v.outcome for v in standing.verdicts] == ["accept"]
    assert len(standing.chain) == 1


def test_the_log_of_a_users_table_is_read_there(lake: Path) -> None:
    make_tables(lake / "tables", files=2)
    log = LogFiles("sales", "viewfs://lake/lake/tables/data/sales")
    assert log.newest() == 1
    assert log.folder.get_file_info("no/such/file").type.name == "NotFound"
    assert place("viewfs://lake/lake/tables/data/none").has_table() is False


def test_storage_that_does_not_answer_is_no_damage() -> None:
    with pytest.raises(TableUnreachable, match="PLN-220"):
        LogFiles("sales", "viewfs://nowhere/sales")
    with pytest.raises(StoreUnreachable, match="PLN-309"):
        opened("viewfs://nowhere/store", "lineage")
