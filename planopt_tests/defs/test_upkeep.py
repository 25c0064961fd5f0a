"""Upkeep: small files of the store become few, dead partitions go, no Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_assets.defs import names
from planopt_assets.defs.project import planopt_definitions
from planopt_assets.defs.upkeep import SMALL_FILES
from planopt_assets.delta.place import data_files
from planopt_assets.model.records import Edge
from planopt_assets.store.codecs.deciding import EDGES
from planopt_assets.store.opened import opened
from planopt_assets.store.store import Store
from planopt_assets.workload import load_workload
from planopt_tests.conftest import write_workload_file
from planopt_tests.defs.fresh_instance import fresh_instance
from planopt_tests.no_spark import no_spark

pytestmark = pytest.mark.fast


def files(store: str) -> int:
    table = opened(store, "lineage")
    assert table is not None
    return len(data_files(table))


def test_upkeep_compacts_the_store_and_removes_partitions_of_removed_queries_and_tables(tmp_path: Path) -> None:
    (tmp_path / "data" / "sales").mkdir(parents=True)
    file = write_workload_file(tmp_path, '  - {id: a, sql: "SELECT 1"}')
    workload = load_workload(file)
    store = Store(workload.store, workload.name, no_spark)
    for number in range(SMALL_FILES + 2):
        store.append(f"run-{number}", "decide", {EDGES: [Edge("a", "decide", f"child-{number}", "parent")]})
    assert files(workload.store) > SMALL_FILES
    with fresh_instance() as instance:
        instance.add_dynamic_partitions(names.PARTITIONS, ["a", "removed"])
        instance.add_dynamic_partitions(names.TABLE_PARTITIONS, ["renamed"])
        result = planopt_definitions(file).resolve_job_def(names.UPKEEP_JOB).execute_in_process(instance=instance)
        assert result.success
        assert set(instance.get_dynamic_partitions(names.PARTITIONS)) == {"a"}
        assert set(instance.get_dynamic_partitions(names.TABLE_PARTITIONS)) == {"sales"}
    assert files(workload.store) == 1
    (output,) = (e.step_output_data for e in result.all_events if e.is_successful_output)
    said = {name: value.value for name, value in output.metadata.items()}
    assert (said["tables"], said["partitions of removed queries"]) == (1, "removed")
    assert said["partitions of removed tables"] == "renamed"
    assert "| lineage | " in str(said["compacted"])
