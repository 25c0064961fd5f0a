"""The log reader on logs written by hand: every way to find a table's newest words, and every way to lose them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from planopt_assets.engine.delta.delta_log import newest_version, read_table_facts
from planopt_assets.errors import TableUnreadable
from planopt_assets.model.table_facts import Column, Constraint, Protocol, TableFacts
from planopt_tests.engine.logs import (
    ID,
    PROTOCOL,
    Json,
    add,
    commit,
    commit_file,
    log_of,
    metadata,
    protocol,
    table_of,
    write_checkpoint,
)
from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast

NOTE: Json = {"name": "note", "type": "string", "nullable": True, "metadata": {}}


def read(table: Path, version: int | None = None) -> TableFacts:
    return read_table_facts("t", str(table), version)


def names(facts: TableFacts) -> list[str]:
    return [column.name for column in facts.columns]


# What it finds


def test_a_table_of_one_commit(tmp_path: Path) -> None:
    assert read(table_of(tmp_path)) == TableFacts(
        name="t",
        location=str(tmp_path),
        table_id="a-table",
        version=0,
        protocol=Protocol(1, 2, (), ("appendOnly", "invariants")),
        columns=(Column("id", "long"),),
        statistics_columns=("id",),
        committed_at_ms=1000,
        head=read(tmp_path).head,
        rows_head=read(tmp_path).head,  # the only commit is the newest that changed rows
    )


def test_the_last_words_count_and_older_versions_keep_theirs(tmp_path: Path) -> None:
    table = table_of(tmp_path, commits=2)
    commit(table, 2, {"metaData": metadata(ID, NOTE)}, at=3000)
    commit(table, 3, {"protocol": protocol("deletionVectors")}, at=4000)
    assert (newest_version(str(table)), read(table).version) == (3, 3)
    assert names(read(table)) == ["id", "note"]
    assert read(table).protocol.reader_features == ("deletionVectors",)
    assert (names(read(table, 1)), read(table, 1).committed_at_ms) == (["id"], 1001)
    assert read(table, 2).protocol == Protocol.of(1, 2)


@pytest.mark.parametrize("unknown", [protocol("fromTheFuture"), {"minReaderVersion": 9, "minWriterVersion": 9}])
def test_a_table_that_nobody_can_read_still_says_what_it_needs(tmp_path: Path, unknown: Json) -> None:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    table = table_of(tmp_path, protocol=unknown)
    assert read(table).protocol.min_reader == unknown["minReaderVersion"]
    assert read(table).protocol.reader_features == tuple(unknown.get("readerFeatures", ()))
    with pytest.raises(DeltaError):  # the reason why planopt reads the log itself
        DeltaTable(str(table))


def test_commits_before_a_checkpoint_are_not_needed(tmp_path: Path) -> None:
    from deltalake import DeltaTable, write_deltalake

    for part in range(3):
        rows = pa.table({"id": pa.array([part], pa.int64())})
        write_deltalake(tmp_path, rows, mode="append", configuration={"delta.appendOnly": "true"} if not part else None)
    DeltaTable(tmp_path).create_checkpoint()
    write_deltalake(tmp_path, rows, mode="append")
    whole = read(tmp_path)
    for version in range(3):
        commit_file(tmp_path, version).unlink()
    (log_of(tmp_path) / "_last_checkpoint").unlink()
    assert read(tmp_path) == whole
    assert (whole.version, whole.table_id) == (3, str(DeltaTable(tmp_path).metadata().id))
    assert whole.properties == (("delta.appendOnly", "true"),)


def test_a_checkpoint_in_parts_counts_only_when_it_is_complete(tmp_path: Path) -> None:
    table = table_of(tmp_path, commits=4)
    parts = [log_of(table) / f"{2:020d}.checkpoint.{part:010d}.{2:010d}.parquet" for part in (1, 2)]
    write_checkpoint(parts[0], [add("1.parquet")])
    write_checkpoint(parts[1], [{"protocol": protocol("v2Checkpoint")}, {"metaData": metadata(ID, NOTE)}])
    assert names(read(table)) == ["id", "note"]
    assert read(table).protocol.reader_features == ("v2Checkpoint",)
    parts[0].unlink()
    assert names(read(table)) == ["id"]


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_a_v2_checkpoint_is_found_by_its_unique_name(tmp_path: Path, kind: str) -> None:
    table = table_of(tmp_path, commits=4)
    file = log_of(table) / f"{2:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.{kind}"
    actions = [{"protocol": protocol("v2Checkpoint")}, {"metaData": metadata(NOTE, configuration={"delta.x": "1"})}]
    if kind == "json":
        file.write_text("\n".join(map(json.dumps, actions)))
    else:
        write_checkpoint(file, actions)
    for version in range(3):
        commit_file(table, version).unlink()
    assert names(read(table)) == ["note"]


def test_a_checkpoint_without_its_commit_is_a_version_without_a_time(tmp_path: Path) -> None:
    table = table_of(tmp_path, commits=3)
    write_checkpoint(
        log_of(table) / f"{2:020d}.checkpoint.parquet", [{"protocol": PROTOCOL}, {"metaData": metadata(NOTE)}]
    )
    assert (read(table).version, read(table).committed_at_ms) == (2, 1002)
    for version in range(3):
        commit_file(table, version).unlink()
    assert (read(table).version, read(table).committed_at_ms, names(read(table))) == (2, None, ["note"])


def test_the_newest_checkpoint_up_to_the_version_counts(tmp_path: Path) -> None:
    table = table_of(tmp_path, commits=6)
    for version, name in ((1, "one"), (3, "three"), (5, "five")):
        write_checkpoint(
            log_of(table) / f"{version:020d}.checkpoint.parquet",
            [{"protocol": PROTOCOL}, {"metaData": metadata({**ID, "name": name})}],
        )
    assert [names(read(table, version)) for version in (2, 3, 4, 5)] == [["one"], ["three"], ["three"], ["five"]]


def test_an_empty_checkpoint_file_is_none(tmp_path: Path) -> None:
    table = table_of(tmp_path, commits=3)
    (log_of(table) / f"{1:020d}.checkpoint.parquet").touch()
    assert read(table).version == 2


def test_the_time_inside_a_commit_comes_before_the_writers_note(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    commit(table, 1, {"commitInfo": {"timestamp": 5, "inCommitTimestamp": 7}})
    assert read(table).committed_at_ms == 7
    commit(table, 2, add("x"))
    assert read(table).committed_at_ms is None


def test_a_removed_domain_is_gone(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    domain = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["id"]]}', "removed": False}
    commit(table, 1, {"domainMetadata": domain})
    commit(table, 2, {"domainMetadata": domain | {"removed": True}})
    assert (read(table, 1).clustering_columns, read(table, 2).clustering_columns) == (("id",), ())


def test_other_files_in_the_log_do_not_matter(tmp_path: Path) -> None:
    table = table_of(tmp_path, commits=2)
    before = read(table)
    for name in (
        *("_last_checkpoint", ".00000000000000000009.json.crc", "00000000000000000009.json.tmp"),
        *("00000000000000000000.00000000000000000009.compacted.json", "9.json", "note.txt"),
    ):
        (log_of(table) / name).write_text("?")
    (log_of(table) / "_staged_commits").mkdir()
    assert read(table) == before


def test_a_uri_is_read_through_delta_rs_with_the_same_answer(tmp_path: Path) -> None:
    code = (
        "from planopt_assets.engine.delta.delta_log import newest_version, read_table_facts\n"
        f"print(read_table_facts('t', {tmp_path.as_uri()!r}).columns, newest_version({tmp_path.as_uri()!r}))"
    )
    table = table_of(tmp_path, commits=4)
    write_checkpoint(
        log_of(table) / f"{2:020d}.checkpoint.parquet", [{"protocol": PROTOCOL}, {"metaData": metadata(NOTE)}]
    )
    assert output_of(code) == f"{read(table).columns} 3\n"  # a process of its own: it must also end in peace


def test_the_checksum_file_tells_files_and_bytes(tmp_path: Path) -> None:
    table = table_of(tmp_path, commits=3)
    (log_of(table) / f"{1:020d}.crc").write_text(json.dumps({"numFiles": 7, "tableSizeBytes": 70}))
    assert [(read(table, v).files, read(table, v).bytes) for v in (0, 1, 2)] == [(None, None), (7, 70), (None, None)]
    (log_of(table) / f"{1:020d}.crc").write_text("{")
    assert read(table, 1).files is None


def test_only_known_settings_leave_the_log(tmp_path: Path) -> None:
    configuration = {
        "delta.enableDeletionVectors": "true",
        "delta.coordinatedCommits.commitCoordinatorConf-preview": '{"token":"hunter2"}',
        "delta.made.up": "hunter2",
        "jdbc.password": "hunter2",
        "delta.constraints.positive": "id > 0",
    }
    facts = read(table_of(tmp_path, metadata=metadata(configuration=configuration)))
    assert facts.properties == (("delta.enableDeletionVectors", "true"),)
    assert facts.constraints == (Constraint("check", "positive", "id > 0"),)
    assert "hunter2" not in repr(facts)


# What it refuses


def cut_in_a_line(table: Path) -> None:
    commit_file(table, 2).write_text(commit_file(table, 2).read_text().rstrip()[:-5])


def checksum_beyond_the_end(table: Path) -> None:
    (log_of(table) / f"{3:020d}.crc").write_text("{}")


def checksum_of_another_schema(table: Path) -> None:
    (log_of(table) / f"{2:020d}.crc").write_text(json.dumps({"metadata": metadata(ID, NOTE), "protocol": PROTOCOL}))


def checksum_of_another_protocol(table: Path) -> None:
    noted = {"metadata": metadata(), "protocol": protocol("deletionVectors")}
    (log_of(table) / f"{2:020d}.crc").write_text(json.dumps(noted))


def checkpoint_of_noise(table: Path) -> None:
    (log_of(table) / f"{1:020d}.checkpoint.parquet").write_bytes(b"PAR1 noise")


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "has no log"),
    "no log": (lambda t: shutil.rmtree(log_of(t)), "has no log"),
    "empty log": (lambda t: [f.unlink() for f in log_of(t).iterdir()], "has no log"),
    "first commit missing": (lambda t: commit_file(t, 0).unlink(), "does not begin at version 0"),
    "middle commit missing": (lambda t: commit_file(t, 1).unlink(), "commit 1 is missing"),
    "empty middle commit": (lambda t: commit_file(t, 1).write_text(""), "commit 1 in its log is empty"),
    "empty last commit": (lambda t: commit_file(t, 2).write_text(""), "commit 2 in its log is empty"),
    "an empty commit more": (lambda t: commit_file(t, 3).touch(), "commit 3 in its log is empty"),
    "last commit missing": (checksum_beyond_the_end, "newest commit is missing"),
    "cut in a line": (cut_in_a_line, "no JSON"),
    "a line that is a list": (lambda t: commit_file(t, 2).write_text("[1]"), "no action"),
    "no metadata": (lambda t: commit(t, 0, {"protocol": PROTOCOL}), "no metadata"),
    "no protocol": (lambda t: commit(t, 0, {"metaData": metadata()}), "no protocol"),
    "metadata of another kind": (lambda t: commit(t, 2, {"metaData": ["x"]}), "malformed"),
    "schema that is no schema": (lambda t: commit(t, 2, {"metaData": metadata(schemaString="[]")}), "malformed"),
    "field without a type": (lambda t: commit(t, 2, {"metaData": metadata({"name": "id"})}), "malformed"),
    "protocol without numbers": (lambda t: commit(t, 2, {"protocol": {"x": 1}}), "malformed"),
    "another schema in the checksum": (checksum_of_another_schema, "differ in schema or protocol"),
    "another protocol in the checksum": (checksum_of_another_protocol, "differ in schema or protocol"),
    "checkpoint of noise": (checkpoint_of_noise, "cannot be read"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_log_is_an_error_that_says_what_is_wrong(tmp_path: Path, damage: str) -> None:
    table = table_of(tmp_path / "t", commits=3)
    assert read(table).version == 2
    harm, words = DAMAGE[damage]
    harm(table)
    with pytest.raises(TableUnreadable, match=words) as error:
        read(table)
    assert error.value.where == "table t"


@pytest.mark.parametrize("damage", ["no log", "first commit missing", "empty middle commit", "last commit missing"])
def test_the_newest_version_alone_notices_what_a_listing_shows(tmp_path: Path, damage: str) -> None:
    table = table_of(tmp_path / "t", commits=3)
    assert newest_version(str(table)) == 2
    DAMAGE[damage][0](table)
    with pytest.raises(TableUnreadable, match=DAMAGE[damage][1]):
        newest_version(str(table))


def test_damage_before_a_checkpoint_harms_nobody(tmp_path: Path) -> None:
    table = table_of(tmp_path, commits=4)
    write_checkpoint(log_of(table) / f"{2:020d}.checkpoint.parquet", [{"protocol": PROTOCOL}, {"metaData": metadata()}])
    commit_file(table, 0).unlink()
    commit_file(table, 1).write_text("")
    commit_file(table, 2).write_text("")
    assert (read(table).version, newest_version(str(table))) == (3, 3)
    with pytest.raises(TableUnreadable, match="does not begin"):
        read(table, 1)


@pytest.mark.parametrize("version", [-1, 3])
def test_a_version_that_never_was_is_an_error(tmp_path: Path, version: int) -> None:
    with pytest.raises(TableUnreadable, match=f"no version {version}") as error:
        read(table_of(tmp_path, commits=3), version)
    assert "up to 2" in error.value.fix
