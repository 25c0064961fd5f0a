"""A store in object storage, on a real S3 server: written, read and compacted without Spark, by several at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.errors import StoreUnreachable, StoreUnreadable
from planopt_assets.store import writer
from planopt_assets.store.compaction import Compacted, compact_store
from planopt_assets.store.crash_points import EXIT_CODE, VARIABLE
from planopt_assets.store.promotions import chains
from planopt_assets.store.repair import repair
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.store.store import Store
from planopt_tests.fresh_python import findable
from planopt_tests.no_spark import no_spark
from planopt_tests.promoted import chain
from planopt_tests.rows import FEWER, OTHER
from planopt_tests.s3_server import KEY, S3, SECRET
from planopt_tests.stored_objects import objects_with
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast

COUNTERS = "runtime_counters"


def append(root: str, number: int) -> None:
    rows = {COUNTERS: [{"query_id": "q", "execution_id": f"exe-{number}", "purpose": "production"}]}
    writer.append(no_spark, root, workload="tests", run_id=f"r{number}", stage="production", rows=rows)


def executions(root: str) -> list[Any]:
    return StoredRows(root, "tests").table(COUNTERS, ["execution_id"])["execution_id"].to_pylist()


def promote(root: str, generation: int = 1, run_id: str = "r1") -> None:
    made = chain("q", FEWER, OTHER)[generation - 1]
    Store(root, "tests", no_spark).commit(made, run_id)


def start(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """A process of its own, in which this module is imported."""
    return subprocess.Popen(
        [sys.executable, "-c", f"import sys\nfrom planopt_tests.store.test_object_store import *\n{code}", *arguments],
        env={**os.environ, "PYTHONPATH": findable(), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def root(s3: S3) -> str:
    return f"{s3.bucket()}/store"


# Written and read


def test_rows_are_read_back_in_their_order_and_a_repeated_append_adds_nothing(root: str) -> None:
    for number in (0, 1, 2, 1):
        append(root, number)
    assert executions(root) == ["exe-0", "exe-1", "exe-2"]
    assert StoredRows(root, "tests").version(COUNTERS) == 2


def test_a_store_that_was_never_written_is_empty(root: str) -> None:
    assert executions(root) == []
    assert chains(Snapshot(root, "tests")).of("q") == ()


def test_the_other_spellings_of_s3_are_the_same_store(root: str) -> None:
    append(root, 0)
    assert executions(root.replace("s3://", "s3a://")) == ["exe-0"]


def test_a_promotion_is_read_with_its_head_and_the_head_before_is_gone(root: str, s3: S3) -> None:
    promote(root, 1)
    promote(root, 2)
    assert [p.policy for p in chains(Snapshot(root, "tests")).of("q")] == [FEWER, OTHER]
    (head,) = s3.keys(f"{root}/_heads/queries")
    assert "/tests/q.2.chn_" in head


def test_no_object_holds_a_credential(root: str, s3: S3) -> None:
    append(root, 0)
    promote(root)
    assert any(key.endswith(".parquet") for key in objects_with(s3, root, "exe-0"))  # what is in a row is found
    assert objects_with(s3, root, KEY, SECRET) == []


# Compacted


def test_small_files_become_one_and_no_row_changes(root: str) -> None:
    for number in range(7):
        append(root, number)
    assert compact_store(root, most=5) == [Compacted(COUNTERS, 7, 1, deleted=0)]
    assert executions(root) == [f"exe-{n}" for n in range(7)]
    assert compact_store(root, most=5) == []
    append(root, 7)
    assert len(executions(root)) == 8


def test_unused_files_are_deleted(root: str, s3: S3) -> None:
    for number in range(7):
        append(root, number)
    (done,) = compact_store(root, most=5, kept_hours=0)
    assert done.deleted == 7
    assert len(s3.keys(f"{root}/{COUNTERS}/part")) == 1
    assert len(executions(root)) == 7


# Damaged


def test_a_lost_end_of_a_log_is_found(root: str, s3: S3) -> None:
    append(root, 0)
    append(root, 1)
    s3.delete(f"{root}/{COUNTERS}/_delta_log/{1:020d}.json")
    with pytest.raises(StoreUnreadable, match="1 rows are lost") as error:
        executions(root)
    assert error.value.code == "PLN-301"
    assert "copy the whole store to a folder" in error.value.fix


def test_a_lost_data_file_is_found(root: str, s3: S3) -> None:
    append(root, 0)
    (file,) = s3.keys(f"{root}/{COUNTERS}/part")
    s3.delete(f"{root.removesuffix('store')}{file}")
    with pytest.raises(StoreUnreadable, match="is gone: 1 rows are lost"):
        executions(root)


def test_a_damaged_commit_is_no_matter_of_access(root: str, s3: S3) -> None:
    append(root, 0)
    s3.put(f"{root}/{COUNTERS}/_delta_log/{0:020d}.json", b"{no json\n")
    with pytest.raises(StoreUnreadable) as error:
        executions(root)
    assert error.value.code == "PLN-301"


def test_repair_says_what_to_do_instead(root: str) -> None:
    with pytest.raises(StoreUnreadable, match="not in a folder") as error:
        repair(root, stamp="now", run_id="r1")
    assert error.value.fix.startswith("copy the whole store to a folder")


# Killed


def test_a_writer_that_is_killed_after_its_commit_has_written_once(root: str) -> None:
    killed = start("promote(sys.argv[1])", root, **{VARIABLE: "after_promotion_commit"})
    killed.communicate()
    assert killed.returncode == EXIT_CODE
    assert len(chains(Snapshot(root, "tests")).of("q")) == 1  # its head is behind, which is no damage
    promote(root, 1)  # the same run again
    promote(root, 2)
    assert len(chains(Snapshot(root, "tests")).of("q")) == 2


# Credentials


def test_a_profile_of_the_aws_tools_is_as_good_as_the_environment(
    root: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "credentials"
    file.write_text(f"[night]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_PROFILE", "night")
    append(root, 0)
    assert executions(root) == ["exe-0"]


def test_without_any_credentials_the_error_is_one_of_access(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "night")
    monkeypatch.setitem(sys.modules, "boto3", None)  # not installed
    monkeypatch.delitem(sys.modules, "obstore.auth.boto3", raising=False)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(StoreUnreachable, match="boto3 is not installed"):
        executions(root)
