"""Source tables in object storage, on a real S3 server: what is read without Spark is the same as of a folder."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from planopt_assets.delta import object_files, object_storage
from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.log_size import log_size
from planopt_assets.delta.table_log import read_table_log
from planopt_assets.delta.table_sample import table_sample
from planopt_assets.engine.delta.delta_log import newest_version, read_table_facts
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import TableUnreachable, TableUnreadable
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.model.stamp import NOT_STORED
from planopt_assets.model.workload import Table, Workload
from planopt_assets.store.codecs.maintaining import READINESS
from planopt_tests.no_spark import no_spark
from planopt_tests.s3_server import S3, SECRET, Fault

pytestmark = pytest.mark.fast

VALUES = ("plain", "a b", "50%", "x/y", "ü:=")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Partitioned by values that a path cannot hold as they are; a checkpoint, and commits after it."""
    for part in range(5):
        ids = list(range(part * 40, part * 40 + 40))
        rows = pa.table({"id": pa.array(ids, pa.int64()), "kind": [VALUES[i % 5] for i in ids]})
        write_deltalake(tmp_path / "sales", rows, mode="append", partition_by=["kind"])
        if part == 2:
            DeltaTable(tmp_path / "sales").create_checkpoint()
    return tmp_path / "sales"


@pytest.fixture
def location(s3: S3, folder: Path) -> str:
    """The same files in a bucket."""
    root = f"{s3.bucket()}/warehouse/sales"
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            s3.put(f"{root}/{file.relative_to(folder)}", file.read_bytes())
    return root


def test_version_facts_and_size_are_those_of_the_folder(folder: Path, location: str) -> None:
    here, there = read_table_facts("sales", str(folder)), read_table_facts("sales", location)
    assert there == replace(here, location=location)
    assert newest_version(location) == 4
    assert log_size("sales", location, 4) == log_size("sales", str(folder), 4)
    assert read_table_facts("sales", location, 1) == replace(
        read_table_facts("sales", str(folder), 1), location=location
    )


def test_a_pinned_table_stays_at_its_version(location: str) -> None:
    pins = Pins()
    pinned = pins.pin("sales", location)
    write_deltalake(location, pa.table({"id": pa.array([1], pa.int64()), "kind": ["new"]}), mode="append")
    assert (pins.pin("sales", location), newest_version(location)) == (pinned, 5)
    assert pinned.version == 4


@pytest.mark.parametrize("listed", [1, 100], ids=["listed", "one by one"])
def test_files_and_samples_are_those_of_the_folder(
    folder: Path, location: str, monkeypatch: pytest.MonkeyPatch, listed: int
) -> None:
    monkeypatch.setattr(object_files, "LISTED_FILES", listed)
    facts = read_table_facts("sales", str(folder))
    here, there = read_table_log(facts), read_table_log(replace(facts, location=location))
    assert there.damages == ()
    assert (len(there.files), there) == (25, here)
    samples = [table_sample(LogFiles("sales", at).folder, facts, here.files, ["id"]) for at in (str(folder), location)]
    assert samples[0] == samples[1]


def test_the_stage_that_looks_at_tables_finds_the_same(folder: Path, location: str, tmp_path: Path) -> None:
    noon = datetime(2030, 1, 1, tzinfo=UTC)

    def seen(at: str) -> str:
        workload = Workload(
            *("tests", tmp_path / "planopt.yaml", str(tmp_path / f"store-{Path(at).parent.name}")),
            *((Table("sales", at),), ()),
        )
        run = Run(Workspace(workload, no_spark), "run-1", now=lambda: noon)
        (result,) = readiness(run, ["sales"])
        (found,) = run.snapshot.read(READINESS)
        assert (result.changed, found.version) == (True, 4)
        told = replace(found, location="", input_fingerprint="", stamp=NOT_STORED)
        return f"{told} {result.summary} {result.markdown}".replace(at, "")

    assert seen(location) == seen(str(folder))


def test_a_large_file_is_read_in_parts(folder: Path, location: str, s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_files, "WHOLE_BYTES", 100)
    here, there = read_table_facts("sales", str(folder)), read_table_facts("sales", location)
    assert there == replace(here, location=location)
    assert read_table_log(there).files == read_table_log(here).files
    assert read_table_log(there).damages == ()


# Damaged


def test_a_missing_commit_is_damage(location: str, s3: S3) -> None:
    s3.delete(f"{location}/_delta_log/{3:020d}.json")
    with pytest.raises(TableUnreadable, match="commit 3 is missing") as error:
        read_table_facts("sales", location)
    assert error.value.code == "PLN-206"


def test_a_data_file_that_is_gone_is_damage(folder: Path, location: str, s3: S3) -> None:
    facts = replace(read_table_facts("sales", str(folder)), location=location)
    gone = sorted(file for file in folder.rglob("*.parquet") if "kind=plain" in str(file))[0]
    s3.delete(f"{location}/{gone.relative_to(folder)}")
    (damage,) = read_table_log(facts).damages
    assert damage.what.startswith("a data file is gone")


def test_a_place_without_a_table_is_told_as_such(s3: S3) -> None:
    with pytest.raises(TableUnreadable, match="holds no Delta table") as error:
        newest_version(f"{s3.bucket()}/nothing")
    assert error.value.code == "PLN-206"


# Out of reach


@pytest.mark.parametrize(
    "fault",
    [Fault(500, "InternalError"), Fault(503, "SlowDown"), Fault(403, "AccessDenied"), Fault(delay_s=600)],
    ids=["an internal error", "too many requests", "no access", "silence"],
)
def test_storage_that_does_not_answer_is_not_called_damage(
    location: str, s3: S3, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    limits = {"connect_timeout": 1, "timeout": 1, "max_retries": 1, "retry_timeout": 1}
    monkeypatch.setattr(object_storage, "LIMITS", limits)
    with s3.faulty(fault), pytest.raises(TableUnreachable) as error:
        Pins().pin("sales", location)
    assert error.value.code == "PLN-220"
    assert "credentials in the environment" in error.value.fix
    assert SECRET not in str(error.value)
    assert newest_version(location) == 4


def test_a_log_that_stops_being_readable_halfway_is_not_called_damage(
    location: str, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        object_storage, "LIMITS", {"connect_timeout": 1, "timeout": 1, "max_retries": 0, "retry_timeout": 1}
    )
    for part in (".checkpoint.parquet", f"{4:020d}.json"):
        with s3.faulty(Fault(503, "SlowDown", part=part)), pytest.raises(TableUnreachable):
            read_table_facts("sales", location)


def test_data_files_out_of_reach_are_not_called_damage(
    folder: Path, location: str, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"connect_timeout": 1, "timeout": 1, "max_retries": 0, "retry_timeout": 1}
    monkeypatch.setattr(object_storage, "LIMITS", limits)
    facts = replace(read_table_facts("sales", str(folder)), location=location)
    files = read_table_log(facts).files
    with s3.faulty(Fault(503, "SlowDown", part="/part-")):
        with pytest.raises(TableUnreachable):
            read_table_log(facts)
        with pytest.raises(TableUnreachable):
            table_sample(LogFiles("sales", location).folder, facts, files, ["id"])
