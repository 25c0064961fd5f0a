"""Golden and damaged tables, all in one workload and one look: each has its own finding, and the good one goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.loop.table_standing import table_standings
from planopt_assets.model.table_readiness import TableReadiness
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.conftest import workload_of
from planopt_tests.engine.logs import commit_file, protocol, table_of
from planopt_tests.no_spark import no_spark

pytestmark = pytest.mark.fast


def good(table: Path) -> None:
    for start in range(3):
        write_deltalake(table, pa.table({"id": pa.array([start], pa.int64())}), mode="append")


def gap(table: Path) -> None:
    good(table)
    commit_file(table, 1).unlink()


def no_first_commit(table: Path) -> None:
    good(table)
    commit_file(table, 0).unlink()


def empty_commit(table: Path) -> None:
    good(table)
    commit_file(table, 2).write_bytes(b"")


def cut_within_a_line(table: Path) -> None:
    good(table)
    content = commit_file(table, 2).read_bytes()
    commit_file(table, 2).write_bytes(content[: len(content) - 40])


def data_file_gone(table: Path) -> None:
    good(table)
    next(table.glob("*.parquet")).unlink()


def flipped_bits(table: Path) -> None:
    good(table)
    file = next(table.glob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[4:20] = bytes(16)
    file.write_bytes(bytes(content))


def without_rows(table: Path) -> None:
    table_of(table)


def unknown_reader_feature(table: Path) -> None:
    table_of(table, protocol=protocol("aether"))


def unknown_writer_feature(table: Path) -> None:
    table_of(table, protocol=protocol("aether", readers=[]))


def future_version(table: Path) -> None:
    table_of(table, protocol={"minReaderVersion": 9, "minWriterVersion": 9})


def no_table(table: Path) -> None:
    table.mkdir()


SHAPES: dict[str, tuple[Callable[[Path], None], bool, str]] = {  # how it is made, ready, its first finding
    "good": (good, True, "no_checksum"),
    "gap": (gap, False, "commit 1 is missing in its log"),
    "no_first_commit": (no_first_commit, False, "its log does not begin at version 0"),
    "empty_commit": (empty_commit, False, "commit 2 in its log is empty"),
    "cut_within_a_line": (cut_within_a_line, False, "holds a line that is no JSON"),
    "data_file_gone": (data_file_gone, False, "a data file is gone"),
    "flipped_bits": (flipped_bits, False, "a data file is not what was written"),
    "without_rows": (without_rows, True, "no_checksum"),
    "unknown_reader_feature": (unknown_reader_feature, False, "it needs aether of its reader"),
    "unknown_writer_feature": (unknown_writer_feature, True, "it needs aether of its writer: planopt never changes it"),
    "future_version": (future_version, False, "it needs reader version 9 of its reader"),
    "no_table": (no_table, False, "holds no Delta table"),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workload, dict[str, TableReadiness]]:
    folder = tmp_path_factory.mktemp("shapes")
    (folder / "data").mkdir()
    for name, (make, _, _) in SHAPES.items():
        make(folder / "data" / name)
    workload = workload_of(folder, [Query("q", sql="SELECT id FROM good")])
    return workload, look(workload, "run-1")


def look(workload: Workload, run_id: str) -> dict[str, TableReadiness]:
    readiness(Run(Workspace(workload, no_spark), run_id), [t.name for t in workload.tables])
    found = table_standings(workload, Snapshot(workload.store, workload.name), Pins())
    return {name: standing.readiness for name, standing in found.items() if standing.readiness is not None}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_has_its_finding(seen: tuple[Workload, dict[str, TableReadiness]], shape: str) -> None:
    found, (_, ready, words) = seen[1][shape], SHAPES[shape]
    assert found.ready is ready
    assert any(words in f.consequence or words == f.cause for f in found.findings), found.findings


def test_a_table_that_was_replaced_between_two_looks_is_found(tmp_path: Path) -> None:
    place = tmp_path / "data" / "orders"
    good(place)
    workload = workload_of(tmp_path, [Query("q", sql="SELECT id FROM orders")])
    look(workload, "run-1")
    shutil.rmtree(place)
    good(place)
    assert "replaced" in {f.cause for f in look(workload, "run-2")["orders"].findings}
