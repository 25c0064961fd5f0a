"""The head of a table: which commit made its version. Diverged copies have the same id and version, and two heads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_tests.engine.logs import PROTOCOL, add, commit, commit_file, log_of, metadata, table_of, write_checkpoint

pytestmark = pytest.mark.fast


def head(table: Path, version: int | None = None) -> str:
    found = read_table_facts("t", str(table), version).head
    assert found is not None
    return found


def test_a_true_copy_has_the_same_head_and_a_diverged_one_another(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    shutil.copytree(table_of(one, commits=2), other)
    assert head(one) == head(other)
    commit(one, 2, add("here.parquet"))
    commit(other, 2, add("there.parquet"))
    facts = [read_table_facts("t", str(table)) for table in (one, other)]
    assert len({(f.table_id, f.version) for f in facts}) == 1
    assert head(one) != head(other)
    assert head(one, 1) == head(other, 1)


def test_every_spelling_of_a_place_gives_one_head(tmp_path: Path) -> None:
    table = table_of(tmp_path / "table")
    (tmp_path / "link").symlink_to(table)
    spellings = (f"{table}/", f"{tmp_path}/./table", f"{tmp_path}/link", f"file://{table}")
    assert {read_table_facts("t", spelled).head for spelled in spellings} == {head(table)}


def test_the_head_stays_when_a_checkpoint_comes_and_older_commits_go(tmp_path: Path) -> None:
    table = table_of(tmp_path, commits=3)
    before = head(table)
    assert before.startswith("commit ")
    write_checkpoint(log_of(table) / f"{2:020d}.checkpoint.parquet", _checkpoint("1.parquet"))
    for version in range(2):
        commit_file(table, version).unlink()
    assert head(table) == before


@pytest.mark.parametrize("kind", ["json", "parquet"])
@pytest.mark.parametrize("gone", [Path.unlink, lambda file: file.write_bytes(b"")], ids=["deleted", "emptied"])
def test_a_checkpoint_stands_in_for_a_head_that_is_gone(tmp_path: Path, kind: str, gone) -> None:
    def made(place: str, file: str) -> str:
        table = table_of(tmp_path / place, commits=3)
        checkpoint = log_of(table) / f"{2:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.{kind}"
        if kind == "json":
            checkpoint.write_text("\n".join(map(json.dumps, _checkpoint(file))))
        else:
            write_checkpoint(checkpoint, _checkpoint(file))
        gone(commit_file(table, 2))
        return head(table)

    one, same, other = made("one", "a.parquet"), made("same", "a.parquet"), made("other", "b.parquet")
    assert one.startswith("checkpoint ")
    assert one == same
    assert one != other


def test_all_parts_of_a_checkpoint_count(tmp_path: Path) -> None:
    table = table_of(tmp_path, commits=3)
    parts = [log_of(table) / f"{2:020d}.checkpoint.{part:010d}.{2:010d}.parquet" for part in (1, 2)]
    write_checkpoint(parts[0], _checkpoint("a.parquet"))
    heads = set()
    commit_file(table, 2).unlink()
    for last in ("b.parquet", "c.parquet"):
        write_checkpoint(parts[1], [add(last)])
        heads.add(head(table))
    assert len(heads) == 2


def _checkpoint(file: str) -> list[dict]:
    return [{"protocol": PROTOCOL}, {"metaData": metadata()}, add(file)]
