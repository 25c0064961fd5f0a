"""A layout of several commits taken back while others write: no row is lost, and a mark says that it was taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Rust

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.own_commits import changes_rows, marks_after
from planopt_assets.engine.delta import rewriting, undoing
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.rewriting import rewrite
from planopt_assets.engine.delta.undoing import restore
from planopt_assets.errors import MaintenanceFailed, UndoRefused
from planopt_assets.model.inputs import PinnedTable
from planopt_tests.engine.test_layouts_in_spark import LAYOUTS, append, files_of, head, layout, pinned, rows, sales

__all__ = ["pinned", "sales"]
pytestmark = pytest.mark.spark


def after(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, then: Any) -> None:
    """Let somebody write right after a step of planopt's, the first time."""
    step, left = getattr(module, name), [then]

    def overtaken(*arguments: Any, **named: Any) -> Any:
        result = step(*arguments, **named)
        if left:
            left.pop()()
        return result

    monkeypatch.setattr(module, name, overtaken)


def test_rows_written_between_two_commits_of_an_action_are_not_taken_back(
    spark, sales: Path, pinned: PinnedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    after(monkeypatch, rewriting, "set_properties", lambda: append(sales))
    done, _ = rewrite(spark, str(sales), LAYOUTS["statistics"](pinned), "mnt-1")
    assert done is not None
    assert (done.first, done.last) == (6, 8)  # version 7 is the append
    with pytest.raises(UndoRefused, match="version 7 was written after it began"):
        restore(spark, "sales", str(sales), to=5, action_id="mnt-2")
    assert len(rows(spark, sales)) == 1803
    assert marks_after(str(sales), 8) == []


def test_an_append_between_the_check_and_the_commit_stays(
    spark, sales: Path, pinned: PinnedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite(spark, str(sales), LAYOUTS["compact"](pinned), "mnt-1")
    after(monkeypatch, undoing, "check_only_layout", lambda: append(sales))
    done = restore(spark, "sales", str(sales), to=5, action_id="mnt-2")
    assert (done.first, done.last, done.changes_rows) == (8, 8, False)  # version 7 is the append
    assert (len(rows(spark, sales)), files_of(sales)) == (1803, 7)


def test_an_update_between_the_check_and_the_commit_stays_and_the_undo_is_refused(
    spark, sales: Path, pinned: PinnedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite(spark, str(sales), LAYOUTS["compact"](pinned), "mnt-1")
    after(
        monkeypatch,
        undoing,
        "check_only_layout",
        lambda: Rust(str(sales)).update({"note": "'new'"}, predicate="id = 7"),
    )
    with pytest.raises(UndoRefused, match="version 7 was written after it began"):
        restore(spark, "sales", str(sales), to=5, action_id="mnt-2")
    found = rows(spark, sales)
    assert (len(found), [r["note"] for r in found if r["id"] == 7]) == (1800, ["new"])
    assert marks_after(str(sales), 6) == []  # so the next --undo does not take it for done


def test_an_undo_changes_no_rows_for_a_stream_and_keeps_the_schema(spark, sales: Path, pinned: PinnedTable) -> None:
    first = head(sales)
    rewrite(spark, str(sales), LAYOUTS["zorder"](pinned), "mnt-1")
    restore(spark, "sales", str(sales), to=5, action_id="mnt-2")
    assert not changes_rows(LogFiles("sales", str(sales)).commit_actions(7))
    assert head(sales) == first


def test_clustering_by_other_columns_rewrites_every_file_and_can_be_taken_back(
    spark, sales: Path, pinned: PinnedTable
) -> None:
    expected = rows(spark, sales)
    small = {"target_file_bytes": 12_000}
    rewrite(spark, str(sales), layout(pinned, "cluster", columns=("shop",), **small), "mnt-1")
    by_shop = set(Rust(str(sales)).file_uris())
    version = LogFiles("sales", str(sales)).newest()
    done, _ = rewrite(spark, str(sales), layout(pinned, "cluster", columns=("id",), **small), "mnt-2")
    assert done is not None
    assert done.files_removed == len(by_shop)
    assert not by_shop & set(Rust(str(sales)).file_uris())
    assert read_table_facts("sales", str(sales)).clustering_columns == ("id",)
    restore(spark, "sales", str(sales), to=version, action_id="mnt-3")
    assert read_table_facts("sales", str(sales)).clustering_columns == ("shop",)
    assert set(Rust(str(sales)).file_uris()) == by_shop
    restore(spark, "sales", str(sales), to=5, action_id="mnt-4")
    assert read_table_facts("sales", str(sales)).clustering_columns == ()
    assert (files_of(sales), rows(spark, sales)) == (6, expected)


def test_a_job_that_fails_is_a_typed_error_and_no_row_is_lost(spark, sales: Path, pinned: PinnedTable) -> None:
    file = sales / pa.table(Rust(str(sales)).get_add_actions(flatten=True)).to_pylist()[0]["path"]
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(MaintenanceFailed, match="compact sales") as told:
        rewrite(spark, str(sales), LAYOUTS["compact"](pinned), "mnt-1")
    assert "An error occurred while calling" not in str(told.value)
    file.write_bytes(whole)
    assert (LogFiles("sales", str(sales)).newest(), len(rows(spark, sales))) == (5, 1800)
